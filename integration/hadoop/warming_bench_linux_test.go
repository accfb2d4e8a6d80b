package hadoop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
)

// BenchmarkWarming compares jobs of Hadoop's examples over cold files on nodes that read maps' input ahead, and on nodes that don't, in turn: off on on off …, each
// $HEDDLE_WARMING_RUNS (5) times. The DataNode reads 20 MB/s, as of a disk that others use as well.
func BenchmarkWarming(b *testing.B) {
	runs := hadooplab.Runs(b, "HEDDLE_WARMING_RUNS")
	binary, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		b.Fatal(err)
	}
	defer remove()
	site := func(more map[string]string) map[string]string {
		all := map[string]string{
			"yarn.nodemanager.resource.memory-mb": "4096", "mapreduce.map.speculative": "false", "mapreduce.reduce.speculative": "false",
			"yarn.app.mapreduce.am.resource.mb": "1024", "mapreduce.map.memory.mb": "1024", "mapreduce.reduce.memory.mb": "1024",
		}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	o := hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: binary, Site: site(nil)}
	off := hadooplab.Start(b, o)
	o.DataNodes, o.Site = 0, site(map[string]string{"fs.defaultFS": off.URI(), "heddle.nodemanager.warming.enabled": "true"})
	on := hadooplab.Start(b, o)
	disk := hadooplab.NewSlowDisk(b, off, 20<<20)
	const blocks, size = 6, 32 << 20
	name := filepath.Join(b.TempDir(), "text")
	if err := os.WriteFile(name, []byte(words(blocks*size)), 0o644); err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"-mkdir", "-p", "/in"}, {"-D", fmt.Sprintf("dfs.blocksize=%d", size), "-put", name, "/in/text"}} {
		if out, err := off.Run(b.Context(), append([]string{"hdfs", "dfs"}, args...)...); err != nil {
			b.Fatalf("%v: %v, %s", args, err, out)
		}
	}
	examples, err := off.Jar("hadoop-mapreduce-examples")
	if err != nil {
		b.Fatal(err)
	}
	number := 0
	for _, x := range []struct {
		name string
		args []string // after the folder of the output
	}{{"grep", []string{"qqqq[a-z]*"}}, {"wordcount", nil}} {
		b.Run(x.name, func(b *testing.B) {
			for range b.N {
				var of [2][]warmedRun
				for i := -1; i < 2*runs; i++ {
					lab, kind := off, 0
					if i >= 0 && hadooplab.SecondsTurn(i) {
						lab, kind = on, 1
					}
					number++
					disk.Cool(b)
					before := disk.Read(b)
					r := warmed(b, lab, append([]string{"hadoop", "jar", examples, x.name, "/in", fmt.Sprintf("/out/%d", number)}, x.args...)...)
					b.Logf("on %t: run %v, map phase %v, map tasks %v, %d MB from disk", kind == 1, r.run, r.maps, r.tasks, (disk.Read(b)-before)>>20)
					if i >= 0 { // the first one starts what is kept
						of[kind] = append(of[kind], r)
					}
				}
				for what, value := range map[string]func(warmedRun) time.Duration{
					"run": func(r warmedRun) time.Duration { return r.run }, "maps": func(r warmedRun) time.Duration { return r.maps }, "tasks": func(r warmedRun) time.Duration { return r.tasks },
				} {
					for kind, label := range []string{"off", "on"} {
						var sum time.Duration
						for _, r := range of[kind] {
							sum += value(r)
						}
						b.ReportMetric(sum.Seconds()/float64(runs), "s/"+what+"-"+label)
					}
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// words are lines of words drawn by chance.
func words(n int) string {
	draw := rand.New(rand.NewPCG(1, 2))
	var s strings.Builder
	for s.Len() < n {
		for range 10 {
			fmt.Fprintf(&s, "w%05d ", draw.IntN(20_000))
		}
		s.WriteByte('\n')
	}
	return s.String()[:n-1] + "\n"
}

// warmedRun is the time of a client's run, of the map phase of its first job, and of all map tasks of that.
type warmedRun struct{ run, maps, tasks time.Duration }

func warmed(b *testing.B, lab *hadooplab.Lab, args ...string) (r warmedRun) {
	b.Helper()
	began := time.Now()
	c, err := lab.Begin("", args...)
	if err != nil {
		b.Fatal(err)
	}
	var submitted time.Time
	for !c.Ended() {
		switch said := c.Stderr(); {
		case submitted.IsZero() && strings.Contains(said, "Submitted application"):
			submitted = time.Now()
		case r.maps == 0 && strings.Contains(said, "map 100%"):
			r.maps = time.Since(submitted)
		}
		time.Sleep(20 * time.Millisecond)
	}
	done, err := c.Wait(b.Context())
	if err != nil || done.Code != 0 {
		b.Fatalf("%v: %v\n%s", args, err, done.Stderr)
	}
	r.run = time.Since(began)
	for line := range strings.Lines(done.Stderr) {
		if _, ms, ok := strings.Cut(line, "Total time spent by all map tasks (ms)="); ok && r.tasks == 0 {
			n, err := strconv.Atoi(strings.TrimSpace(ms))
			if err != nil {
				b.Fatal(err)
			}
			r.tasks = time.Duration(n) * time.Millisecond
		}
	}
	return r
}
