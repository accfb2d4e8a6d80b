package jobs

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/internal/await"
	"heddle/yarn/records"
)

// page is what the job's ApplicationMaster says of its tasks.
func (j *job) page() (mapsDone, mapsRunning, reducesRunning int) {
	j.c.t.Helper()
	id, err := records.ParseApplicationID(j.application())
	if err != nil {
		j.c.t.Fatal(err)
	}
	r, err := j.c.applications().Report(j.c.t.Context(), id)
	if err != nil {
		j.c.t.Fatal(err)
	}
	resp, err := http.Get(r.OriginalTrackingURL)
	if err != nil {
		j.c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		j.c.t.Fatal(err)
	}
	_, maps, _ := strings.Cut(string(b), "<b>Maps</b> ")
	_, reduces, _ := strings.Cut(maps, "<b>Reduces</b> ")
	mapsDone, mapsRunning = j.doneAndRunning(maps)
	_, reducesRunning = j.doneAndRunning(reduces)
	return mapsDone, mapsRunning, reducesRunning
}

// doneAndRunning is what a line of the page says of one kind of tasks.
func (j *job) doneAndRunning(line string) (done, running int) {
	j.c.t.Helper()
	var percent float64
	var all int
	if _, err := fmt.Sscanf(line, "%f %%: %d of %d done, %d running", &percent, &done, &all, &running); err != nil {
		j.c.t.Fatalf("%v: %.200s", err, line)
	}
	return done, running
}

// Reduces begin when the policy says so: while maps wait, when none waits any more, or when all are done. Two containers do four
// maps, each of which ends when the test lets it. So there is a moment at which each policy has decided something else.
func TestReducesBeginByTheChosenRule(t *testing.T) {
	c := startCluster(t, 1, 1, map[string]string{"yarn.nodemanager.resource.memory-mb": "3072"})
	const maps = 4
	in, want := c.numbered(maps)
	for _, x := range []struct {
		rule    string
		waiting bool // reduces begin while maps wait
		last    bool // or while the last map runs
	}{{"0.05", true, true}, {"omo", false, true}, {"1.0", false, false}} {
		t.Run(x.rule, func(t *testing.T) {
			c.t = t
			gates, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
			open := func(i int) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(gates, fmt.Sprint(i)), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			begun := func() (list []int) {
				for i := range maps {
					if _, err := os.Stat(filepath.Join(gates, fmt.Sprint("begun", i))); err == nil {
						list = append(list, i)
					}
				}
				return list
			}
			j := c.mr("-slowstart", x.rule, "-input", in, "-output", out, "-reducer", "cat",
				"-mapper", "p=$mapreduce_task_partition; : > "+gates+"/begun$p; while [ ! -e "+gates+"/$p ]; do sleep 0.05; done; cat",
				"-D", "mapreduce.input.fileinputformat.split.maxsize=3") // a task for each file
			await.Slowly(t, "two maps run", func() bool { return len(begun()) == 2 })
			if _, running, reduces := j.page(); running != 2 || reduces != 0 {
				t.Fatalf("%d maps and %d reduces run, and no map is done", running, reduces)
			}
			opened := begun()[0]
			open(opened)
			if x.waiting {
				await.Slowly(t, "the reduce runs while maps wait", func() bool { _, _, n := j.page(); return n == 1 })
				if got := begun(); len(got) != 2 {
					t.Errorf("maps %v have begun: the reduce has no container of its own", got)
				}
			} else {
				await.Slowly(t, "the third map runs in the container of the first", func() bool { return len(begun()) == 3 })
				if _, _, n := j.page(); n != 0 {
					t.Error("the reduce runs, though maps wait")
				}
				rest := slices.DeleteFunc(begun(), func(i int) bool { return i == opened })
				open(rest[0])
				await.Slowly(t, "the last map runs", func() bool { return len(begun()) == maps })
				open(rest[1])
				if x.last {
					await.Slowly(t, "the reduce runs while the last map does", func() bool { done, n, reduces := j.page(); return done == 3 && n == 1 && reduces == 1 })
				} else {
					await.Slowly(t, "the last map runs alone", func() bool { done, n, _ := j.page(); return done == 3 && n == 1 })
					if _, _, n := j.page(); n != 0 {
						t.Error("the reduce runs, though a map does")
					}
				}
			}
			for i := range maps {
				open(i)
			}
			r := j.end()
			if got := c.output(out); got != want {
				t.Errorf("%q instead of %q", got, want)
			}
			if n := r.Counters[jobCounters]; n["TOTAL_LAUNCHED_MAPS"] != maps || n["TOTAL_LAUNCHED_REDUCES"] != 1 {
				t.Errorf("%+v", n)
			}
		})
	}
	c.t = t
}
