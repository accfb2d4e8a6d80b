package burst

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/internal/timeline"
	"heddle/internal/timeline/timelinetest"
	"heddle/nm/cgroup"
	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

// programs are heddle and heddle-lab.
func programs(t *testing.T) (heddle, lab string) {
	t.Helper()
	heddle, lab, remove, err := hadooplab.BuildLab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return heddle, lab
}

// reachable is a folder that containers can reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Nothing is left of a measurement that is killed while containers stand still: no process, group, swap file or folder.
func TestKilledRun(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	dir := reachable(t)
	_, lab := programs(t)
	cmd := exec.Command(lab, "bench", "preempt", "--modes", "suspend-immediate", "--runs", "1", "--nodes", "1", "--long-jobs", "1", "--long-work", "10m",
		"--memory", "64", "--short-jobs", "1", "--short-work", "10m", "--settle", "100ms", "--swap", "file", "--folder", dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var base string
	still := func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "heddle-bench-*")) // the pattern is valid
		if len(found) == 0 {
			return false
		}
		base = filepath.Base(found[0])
		return slices.ContainsFunc(daemons.Groups("heddle-"+base), daemons.Frozen)
	}
	await.Until(t, "a container stands still", still)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	await.Until(t, "no file is left", func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 0
	})
	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil || strings.Contains(string(swaps), dir) {
		t.Errorf("%v: %s", err, swaps)
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/heddle-" + base)
	environ, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environ {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), dir+"/") && strings.Contains(string(b), cgroup.Marker+"=") {
			t.Errorf("%s is left", file)
		}
	}
	if len(groups) > 0 {
		t.Errorf("groups %v are left", groups)
	}
}

// Short jobs get the room of long containers, which go on later, lose nothing, and have in their memory what they had.
func TestRun(t *testing.T) {
	swapfile.On(t, 1<<30)
	nmtest.RealGroups(t)
	binary, lab := programs(t)
	dir := reachable(t)
	modes, err := ModesOf([]string{"suspend-immediate"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Options{
		Binary: binary, Start: []string{lab, "bench", "preempt", "part"}, Dir: dir, Modes: modes, Runs: 1, Nodes: 1, Swap: "own", Guarantee: 75,
		LongJobs: 1, LongWork: 2 * time.Second, Memory: 96 << 20, ShortJobs: 2, Tasks: 1, ShortWork: 100 * time.Millisecond,
		Set: map[string]string{means + ".resume-tries": "0"}, Tell: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	x := r.Runs["suspend-immediate"][0]
	if len(x.FromAsk) != 2 || x.FromAsk[0] <= 0 || x.FromSubmit[0] <= x.FromAsk[0] || x.Killed != 0 || x.Lost != 0 || x.Suspended <= 0 || x.Took < x.Work+x.Suspended/2 {
		t.Errorf("%+v", x)
	}
	var table, picture strings.Builder
	if err := r.Print(&table); err != nil || !strings.Contains(table.String(), "| suspend-immediate | 1 |") {
		t.Errorf("%v: %s", err, table.String())
	}
	if err := r.SVG(&picture); err != nil || timelinetest.Shapes(t, picture.String(), "polygon") != len(uses) {
		t.Errorf("%v: %s", err, picture.String())
	}
}

// A long job of two tasks of 10 s, of which one is suspended for 3 s and shrunk for 1 s, and one is killed after 4 s; and a short job.
func TestFiguresOfARun(t *testing.T) {
	zero := time.UnixMilli(1_000_000)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	lasted := int64(3000)
	suspended := cut{Time: at(6).UnixMilli(), Container: "a", Lasted: &lasted}
	shrunk := cut{Time: at(5).UnixMilli(), Container: "a"}
	shrunk.Held.VCores = 1
	l := &loaded{
		options: &Options{LongJobs: 1, LongWork: 10 * time.Second},
		ear: &ear{asked: map[int]time.Time{1: at(5.2)}, attempts: []*attempt{
			{Job: 0, Task: 0, Container: "m", Begun: at(0), Ended: at(30), Done: true},
			{Job: 0, Task: 1, Container: "a", Begun: at(1), Ended: at(15), Done: true},
			{Job: 0, Task: 2, Container: "b", Begun: at(1), Ended: at(5)},
			{Job: 0, Task: 2, Container: "c", Begun: at(20), Ended: at(30), Done: true},
			{Job: 1, Task: 0, Container: "n", Begun: at(5), Ended: at(9), Done: true},
			{Job: 1, Task: 2, Container: "d", Begun: at(6.5), Ended: at(8), Done: true},
			{Job: 1, Task: 1, Container: "e", Begun: at(6), Ended: at(7), Done: true},
		}},
		jobs: make([]records.ApplicationID, 2), submitted: []time.Time{zero, at(4)}, cuts: []cut{suspended, shrunk, {Container: "c", Refused: true}},
	}
	x, err := l.outcome()
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("from the ask", x.FromAsk[0], 0.8)
	near("from the submission", x.FromSubmit[0], 2)
	near("the short job", x.Short[0], 4)
	near("lost", x.Lost, 4)
	near("suspended", x.Suspended, 4)
	near("took", x.Took, 14+29)
	near("makespan", x.Makespan, 30)
	all, rest := x.longer()
	near("longer", all, 23./20)
	near("longer beyond suspension", rest, 19./20)
	if x.Killed != 1 {
		t.Errorf("%d killed", x.Killed)
	}
	used := map[timeline.Kind]float64{}
	for _, s := range x.Spans {
		used[s.Kind] += (s.To - s.From) * s.Amount
	}
	near("use of the long queue", used[useLong], 2*30+2*10+1+2*10)
	near("lost use", used[useLost], 2*4)
	near("use of the short queue", used[useShort], 4+1.5+1)

	l.ear.attempts[1].Error = "its memory has changed"
	if _, err := l.outcome(); err == nil || !strings.Contains(err.Error(), "its memory has changed") {
		t.Errorf("with a changed memory: %v", err)
	}
}

// What makes no sense is refused before anything starts.
func TestOptions(t *testing.T) {
	if _, err := ModesOf([]string{"kill", "ask"}); err == nil || !strings.Contains(err.Error(), `"ask"`) || !strings.Contains(err.Error(), "big-c, stock") {
		t.Error(err)
	}
	good := Options{Runs: 1, Nodes: 1, LongJobs: 1, ShortJobs: 1, Tasks: 1, Guarantee: 50, LongWork: time.Second, ShortWork: time.Second}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"0 runs":      func(o *Options) { o.Runs = 0 },
		"100 %":       func(o *Options) { o.Guarantee = 100 },
		"use 4096 MB": func(o *Options) { o.Memory = 4 << 30 },
		"work for 0s": func(o *Options) { o.LongWork = 0 },
	} {
		o := good
		if change(&o); o.check() == nil || !strings.Contains(o.check().Error(), want) {
			t.Errorf("%s: %v", want, o.check())
		}
	}
}
