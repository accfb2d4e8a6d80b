package jobs

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/am/probes"
	"heddle/integration/hadooplab"
)

// readVariable makes the test's program a task that reads its input: a time to work for, and a folder with the configuration.
const readVariable = "HEDDLE_JOBS_READ"

// readInput reads a file, works as long as it is told, and prints whether the file was in memory, its bytes, and the ms that reading has taken.
func readInput(task, name string) int {
	work, dir, _ := strings.Cut(task, ",")
	err := func() error {
		d, err := time.ParseDuration(work)
		if err != nil {
			return err
		}
		began := time.Now()
		a, err := adapter(dir)
		if err != nil {
			return err
		}
		defer a.Close()
		in, staged, err := probes.OpenInput(context.Background(), a.As(""), name)
		if err != nil {
			return err
		}
		defer in.Close()
		n, err := io.Copy(io.Discard, in)
		if err != nil {
			return err
		}
		took := time.Since(began)
		time.Sleep(d) // a slot that works, not a processor
		_, err = fmt.Println(staged, n, took.Milliseconds())
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// source is an HDFS whose DataNodes read their disks slowly, with inputs of one block each.
type source struct {
	*hadooplab.SlowDisk
	lab   *hadooplab.Lab
	names []string
	bytes int64
}

// newSource starts an HDFS with so many disks, and files of so many bytes.
func newSource(b *testing.B, disks, n, size int) *source {
	lab := hadooplab.Start(b, hadooplab.Options{DataNodes: disks})
	s := &source{SlowDisk: hadooplab.NewSlowDisk(b, lab, 60<<20), lab: lab, bytes: int64(n) * int64(size)}
	data := make([]byte, size)
	draw := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(draw.Uint32())
	}
	fs := files(b, s.lab.Conf())
	for i := range n {
		s.names = append(s.names, fmt.Sprintf("/in/%03d", i))
		putBlocks(b, fs, s.names[i], string(data), 64<<20)
	}
	return s
}

// stagedRun is what came of a job.
type stagedRun struct {
	took, task time.Duration // of the job, and of a task in the mean: reading and working
	hits       int
	read       [2]time.Duration // the mean of tasks that have read from HDFS, and from memory
	memory     int64            // bytes that tasks have read from memory
	disk       int64            // bytes that the DataNode has read from the disk
}

// stagedJob runs a task for each file. cold: nothing of it is in memory before.
func (c *cluster) stagedJob(b *testing.B, s *source, work time.Duration, cold, stage bool) (r stagedRun) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if cold {
		s.Cool(b)
	}
	args := []string{"--probes", "-P", strconv.Itoa(len(s.names)), "-n1", "env", fmt.Sprintf("%s=%v,%s", readVariable, work, c.conf), self}
	if stage {
		args = slices.Insert(args, 1, "--stage")
	}
	before, began := s.Read(b), time.Now()
	x := c.xargs(args...)
	if _, err := io.WriteString(x.in, strings.Join(s.names, "\n")+"\n"); err != nil {
		b.Fatal(err)
	}
	x.in.Close()
	if code := x.code(); code != 0 {
		b.Fatalf("%d: %s", code, x.stderr)
	}
	r.took, r.disk = time.Since(began), s.Read(b)-before
	lines := strings.Split(strings.TrimSpace(x.stdout.String()), "\n")
	if len(lines) != len(s.names) {
		b.Fatalf("%d results of %d tasks", len(lines), len(s.names))
	}
	for _, line := range lines {
		var staged bool
		var n, ms int64
		if _, err := fmt.Sscan(line, &staged, &n, &ms); err != nil {
			b.Fatalf("%q: %v", line, err)
		}
		from := 0
		if staged {
			from = 1
			r.hits++
			r.memory += n
		}
		r.read[from] += time.Duration(ms) * time.Millisecond
		r.task += (time.Duration(ms)*time.Millisecond + work) / time.Duration(len(lines))
	}
	r.read[0] /= time.Duration(max(1, len(lines)-r.hits))
	r.read[1] /= time.Duration(max(1, r.hits))
	if cold && r.disk < s.bytes {
		b.Errorf("only %d of %d bytes were cold", r.disk, s.bytes)
	}
	return r
}

// BenchmarkStaging compares jobs with and without --stage in turn, off on on off …, each $HEDDLE_STAGING_RUNS (5) times. The RAM disk has a tenth of the data.
func BenchmarkStaging(b *testing.B) {
	runs := hadooplab.Runs(b, "HEDDLE_STAGING_RUNS")
	type run struct {
		slots int
		work  time.Duration
		cold  bool
	}
	const ms = time.Millisecond
	for _, x := range []struct {
		disks int
		size  int // MB of an input
		runs  []run
	}{
		{1, 4, []run{{1, 75 * ms, true}, {1, 150 * ms, true}, {1, 75 * ms, false}, {2, 75 * ms, true}, {2, 150 * ms, true}, {2, 75 * ms, false}}},
		{1, 16, []run{{1, 270 * ms, true}, {2, 540 * ms, true}, {2, 540 * ms, false}}},
		{2, 16, []run{{2, 400 * ms, true}}},
	} {
		inputs := 40 * x.disks
		b.Run(fmt.Sprintf("disks=%d/input=%dMB", x.disks, x.size), func(b *testing.B) {
			s := newSource(b, x.disks, inputs, x.size<<20)
			for _, r := range x.runs {
				name := "warm"
				if r.cold {
					name = "cold"
				}
				b.Run(fmt.Sprintf("%s/slots=%d/work=%v", name, r.slots, r.work), func(b *testing.B) {
					c := startStaging(b, s.lab, r.slots, inputs*x.size/10)
					for range b.N {
						compareStaging(b, c, s, r.work, r.cold, runs)
					}
					c.stop()
				})
			}
		})
	}
}

// compareStaging runs jobs in turn, and reports their means.
func compareStaging(b *testing.B, c *cluster, s *source, work time.Duration, cold bool, runs int) {
	c.stagedJob(b, s, work, cold, false) // the first one has to start what is kept
	var of [2][]stagedRun
	for i := range 2 * runs {
		on := hadooplab.SecondsTurn(i)
		r := c.stagedJob(b, s, work, cold, on)
		b.Logf("stage %t: job %v, task %v (reading from HDFS %v, from memory %v), %d in memory, %d MB from memory, %d MB from disk", on, r.took, r.task, r.read[0], r.read[1], r.hits, r.memory>>20, r.disk>>20)
		if on {
			of[1] = append(of[1], r)
		} else {
			of[0] = append(of[0], r)
		}
	}
	mean := func(all []stagedRun, of func(stagedRun) float64) (m float64) {
		for _, r := range all {
			m += of(r) / float64(len(all))
		}
		return m
	}
	job := func(r stagedRun) float64 { return r.took.Seconds() }
	task := func(r stagedRun) float64 { return r.task.Seconds() }
	memory := func(r stagedRun) float64 { return float64(r.memory) / float64(s.bytes) }
	b.ReportMetric(mean(of[0], job), "s/job-off")
	b.ReportMetric(mean(of[1], job), "s/job-on")
	b.ReportMetric(100*(1-mean(of[1], job)/mean(of[0], job)), "%-faster-job")
	b.ReportMetric(100*(1-mean(of[1], task)/mean(of[0], task)), "%-faster-task")
	b.ReportMetric(100*mean(of[1], memory), "%-from-memory")
	b.ReportMetric(0, "ns/op")
}
