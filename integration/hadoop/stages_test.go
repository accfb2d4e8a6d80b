package hadoop

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Jobs that know nothing of stage policies run under them side by side, and come to what they do without: the queues fresh and omo have the
// policies of these names, the queue default has none. Jobs of maps only are among them. Hadoop's ResourceManager ignores the policies.
func TestJobsUnderStagePolicies(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	in := text(3000)
	l.Put(t, "/stages/in/a", in)
	l.Put(t, "/stages/in/b", in)
	const early = "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05"
	for _, policy := range []string{"fresh", "omo"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			queue := "-Dmapreduce.job.queuename=" + policy
			count, app := begin(t, l, example(t, l, "wordcount"), queue, early, "-Dmapreduce.job.reduces=2", "/stages/in", "/stages/"+policy)
			if hadooplab.Full() {
				const rows = 20000
				succeed(t, l, example(t, l, "teragen"), queue, "-Dmapreduce.job.maps=2", strconv.Itoa(rows), "/stages/rows-"+policy)
				j := succeed(t, l, example(t, l, "terasort"), queue, early, "-Dmapreduce.job.reduces=2", "/stages/rows-"+policy, "/stages/sorted-"+policy)
				j.counts(t, map[string]int64{"Map input records": rows, "Reduce output records": rows, "Failed Shuffles": 0})
			}
			if j := end(t, count, app); j.Code != 0 {
				t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
			}
			got := slices.Sorted(strings.Lines(cat(t, l, "/stages/"+policy+"/part-*")))
			if want := slices.Sorted(strings.Lines(wordCount(in + in))); !slices.Equal(got, want) {
				t.Errorf("%d words, want %d", len(got), len(want))
			}
		})
	}
}

// A job's reduce is asked for when its first map ends. Of the other maps, which wait for a file, some find no room: the policies hold the reduce
// back as long as that is so, and people are told why, with figures.
func TestReducesAreHeldBack(t *testing.T) {
	t.Parallel()
	for policy, why := range map[string]string{
		"fresh": `its reduces wait for its maps: 5 of 6 haven't ended, and [2-5] of these are pending`,
		// What the map has put out is known by the nodes' shuffle service.
		"omo": `its reduces wait: [2-5] maps are pending, the shuffle needs \d+ s, the maps need \d+ s \(the outputs of 1 maps have 0\.0 MB, each reduce`,
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			if policy != "fresh" {
				hadooplab.SkipUnlessFull(t)
			}
			l := lab.Lab(t)
			if !onHeddle {
				t.Skip("Hadoop has no stage policies")
			}
			words := []string{"1", "2", "3", "4", "5", "6"}
			for _, w := range words {
				l.Put(t, "/held-"+policy+"/in/"+w, w+"\n")
			}
			g := newGate(t)
			c, app := begin(t, l, streaming(t, l), "-Dmapreduce.job.queuename="+policy, "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05", "-Dmapreduce.job.reduces=1",
				"-Dmapreduce.map.memory.mb=1536", "-files", g.mapper(t), "-input", "/held-"+policy+"/in", "-output", "/held-"+policy+"/out", "-mapper", "wait.sh", "-reducer", "cat")
			said := regexp.MustCompile(why)
			await.Slowly(t, "the reduce is held back", func() bool {
				text := explanation(t, l, app)
				found := said.MatchString(text)
				if found {
					t.Log(text)
				}
				return found
			})
			g.open(t)
			if j := end(t, c, app); j.Code != 0 {
				t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
			}
			if got := strings.Fields(cat(t, l, "/held-"+policy+"/out/part-*")); !slices.Equal(got, words) {
				t.Errorf("%q", got)
			}
		})
	}
}

// gate is what all maps of a streaming job but the first wait for.
type gate struct{ dir string }

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate{t.TempDir()}
	if err := os.Chmod(g.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return g
}

// mapper makes the script wait.sh, which puts out its first line, and returns its path.
func (g gate) mapper(t *testing.T) string {
	t.Helper()
	return script(t, "wait.sh", "#!/bin/sh\nread x\nmkdir "+filepath.Join(g.dir, "first")+" 2>/dev/null || until [ -e "+filepath.Join(g.dir, "open")+" ]; do sleep 0.2; done\necho $x\n")
}

func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "open"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// explanation is what people are told of why an application waits.
func explanation(t *testing.T, l *hadooplab.Lab, app string) string {
	t.Helper()
	out, err := exec.Command(options.Heddle, "app", "--conf", l.Conf(), "-why", app).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
