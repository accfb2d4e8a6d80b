package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// startFreezing starts nodes of so many MB on a cluster whose applications may have containers of theirs stand still for others.
func startFreezing(t *testing.T, memory string, hosts ...string) *cluster {
	t.Helper()
	swapfile.On(t, 1<<30)
	nmtest.RealGroups(t)
	c := startCluster(t, 1, len(hosts), map[string]string{
		"yarn.nodemanager.resource.memory-mb":                 memory,
		"yarn.scheduler.minimum-allocation-mb":                "64",
		"yarn.resourcemanager.scheduler.monitor.enable":       "true",
		"heddle.scheduler.preemption":                         "suspend-immediate",
		"yarn.scheduler.capacity.root.queues":                 "default",
		"yarn.scheduler.capacity.root.default.capacity":       "100",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.8",
	}, hosts...)
	c.pagesOut()
	return c
}

// input makes a folder with a file of so many lines for each map, and returns all of the text. The number of a map has so many digits.
func (c *cluster) input(maps, lines, digits int) (folder, all string) {
	c.t.Helper()
	folder = filepath.Join(c.dir, "in")
	if err := os.Mkdir(folder, 0o755); err != nil {
		c.t.Fatal(err)
	}
	for m := range maps {
		name := fmt.Sprintf("%0*d", digits, m)
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, "%s.%02d %01000d\n", name, i, 0)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text.String()), 0o644); err != nil {
			c.t.Fatal(err)
		}
		all += text.String()
	}
	return folder, all
}

// On a full cluster the copy of a stuck task gets the room of a task of the same job that has time. That one stands still meanwhile, and goes on from
// where it was. Both are done once, and nobody is killed but the stuck one.
func TestACopyRunsInPlaceOfATask(t *testing.T) {
	c := startFreezing(t, "1088", "127.0.0.1", "127.0.0.2") // two containers, and what one is left that stands still
	// Map 0 is stuck, 1 is short, and so tells how long a map takes. 2 and 3 have time: they are half done, and wait for a gate.
	const maps, lines = 4, 40
	in, want := c.input(maps, lines, 1)
	out, marks := filepath.Join(c.dir, "out"), t.TempDir()
	wait, open := gate(t)
	waitCopy, openCopy := gate(t)
	script := filepath.Join(c.dir, "task")
	if err := os.WriteFile(script, []byte(`
a=$mapreduce_task_attempt_id; p=$mapreduce_task_partition
mktemp `+marks+`/begun$p.XXXXXX >/dev/null
case $a in
*_m_000000_0) while :; do sleep 0.05; done;;
*_m_000000_*) `+waitCopy+`;;
*_m_000001_*) ;;
*) for i in $(seq `+fmt.Sprint(lines/2)+`); do read -r l; echo "$l"; done; `+wait+`;;
esac
cat
mktemp `+marks+`/ended$p.XXXXXX >/dev/null
`), 0o755); err != nil {
		t.Fatal(err)
	}
	count := func(pattern string) int { return len(must(filepath.Glob(filepath.Join(marks, pattern)))) }
	j := c.mr("-speculation", "late", "-freeze", "-numReduceTasks", "0", "-input", in, "-output", out, "-mapper", "bash "+script,
		"-D", "mapreduce.input.fileinputformat.split.maxsize="+fmt.Sprint(lines*1005), "-D", "mapreduce.map.memory.mb=512", "-D", "yarn.app.mapreduce.am.resource.mb=512")
	await.Slowly(t, "the copy of the stuck task runs beside all other tasks", func() bool { return count("begun0.*") == 2 && count("begun*") == maps+1 })
	open()
	stood := count("ended*") // whoever stands still can't end before the copy
	if stood > maps-2 {
		t.Errorf("%d tasks have ended, and the copy hasn't", stood)
	}
	await.Slowly(t, "the other task ends", func() bool { return count("ended[23].*") == 1 })
	openCopy()
	r := j.end()
	if got := c.output(out); got != want {
		t.Errorf("%d lines instead of %d, or others", strings.Count(got, "\n"), maps*lines)
	}
	if n := r.Counters[jobCounters]; n["TOTAL_LAUNCHED_MAPS"] != maps+1 || n["NUM_KILLED_MAPS"] != 1 || len(r.Failures) > 0 || r.Attempts != 1 {
		t.Errorf("%+v", r)
	}
	for m := range maps {
		if n := count(fmt.Sprintf("ended%d.*", m)); n != 1 {
			t.Errorf("map %d was done %d times", m, n)
		}
	}
	if n := count("begun*"); n != maps+1 {
		t.Errorf("%d tasks were begun", n)
	}
	still, copies := 0, 0
	for _, a := range r.Tasks {
		if a.Copy {
			copies++
		}
		if a.ID.Index > 1 && a.Stood > 0 && a.State == "succeeded" {
			still++
		}
	}
	if still != 1 || copies != 1 {
		t.Errorf("%d tasks have stood still for %d copies: %+v", still, copies, r.Tasks)
	}
}
