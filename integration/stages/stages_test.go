package stages

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
)

// Two jobs on one clock: figures are those of both, by the beginning of the run.
func TestFiguresOfARun(t *testing.T) {
	began := time.UnixMilli(1_000_000)
	task := func(kind job.Kind, state string, copied bool, from, fetched, to float64) job.Attempt {
		return job.Attempt{ID: job.TaskID{Kind: kind}, State: state, Copy: copied, Begun: from, Fetched: fetched, Ended: to}
	}
	x := outcome(began, []time.Time{began, began.Add(2 * time.Second)}, []report{
		{Began: 1_001_000, Counters: job.Counters{job.JobGroup: {job.DividedMaps: 3}}, Tasks: []job.Attempt{
			task(job.Map, "cancelled", false, 0, 0, 9), task(job.Map, "succeeded", true, 5, 0, 9), task(job.Map, "cancelled", true, 1, 0, 3),
		}},
		{Began: 1_004_000, Tasks: []job.Attempt{task(job.Map, "succeeded", false, 0, 0, 10), task(job.Reduce, "succeeded", false, 10, 12, 16)}},
	})
	if x.Makespan != 20 || x.Jobs[0] != 10 || x.Jobs[1] != 18 || x.Copies != 2 || x.Useful != 1 || x.Cuts != 3 || x.Wasted != 2 || x.Lost != 9 || x.Work != 31 {
		t.Errorf("%+v", x)
	}
	a, b := 15/10., 16/18.
	if want := (a + b) * (a + b) / (2 * (a*a + b*b)); math.Abs(x.Fairness-want) > 1e-9 {
		t.Errorf("fairness %v instead of %v", x.Fairness, want)
	}
	if n := len(x.Spans); n != 6 || x.Spans[0].From != 1 || x.Spans[4].From != 14 || x.Spans[4].To != 16 || x.Spans[5].To != 20 {
		t.Errorf("%+v", x.Spans)
	}
}

func TestTableAndPicture(t *testing.T) {
	r := &Results{Rules: []Rule{{Name: "none"}, {Name: "late"}, {Name: "not run"}}, Slots: 4, Runs: map[string][]Outcome{
		"none": {{Makespan: 10, Jobs: []float64{1, 3}, Fairness: 1}, {Makespan: 30, Jobs: []float64{5, 100}, Fairness: 0.5}},
		"late": {{Makespan: 7, Jobs: []float64{7}, Copies: 4, Useful: 3, Stood: 1, Wasted: 2.5}},
	}}
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| none | 2 | 20.0 (10.0–30.0) | 27.2 (2.0–52.5) | 100.0 | 0 (0–0) |  |", "| 0.750 (0.500–1.000) |", "| late | 1 | 7.0 | 7.0 | 7.0 | 4 | 75 % | 0 | 1 | 2.5 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("without %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "not run") {
		t.Error(b.String())
	}
	b.Reset()
	if err := r.SVG(&b); err != nil || strings.Count(b.String(), "font-weight") != 2 {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestQuantiles(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	for _, c := range []struct {
		of      []float64
		q, want float64
	}{{hundred, 0.99, 99}, {hundred, 0.5, 50.5}, {[]float64{3, 1, 2}, 0.5, 2}, {[]float64{7}, 0.99, 7}, {[]float64{1, 2}, 1, 2}} {
		if got := quantile(c.of, c.q); got != c.want {
			t.Errorf("%v of %d: %v", c.q, len(c.of), got)
		}
	}
}

// Each map of a job is one file, all of the same size, so that each is one split.
func TestInputsAreOneSplitAMap(t *testing.T) {
	o := &Options{Dir: t.TempDir(), Jobs: []Job{{Maps: 12, Lines: 5}, {Maps: 1, Lines: 2}}}
	in, err := o.inputs()
	if err != nil || len(in) != 2 {
		t.Fatal(in, err)
	}
	list, err := filepath.Glob(filepath.Join(in[0], "*"))
	if err != nil || len(list) != 12 {
		t.Fatal(list, err)
	}
	size := int64(0)
	for _, name := range list {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if size == 0 {
			size = info.Size()
		}
		if b, err := os.ReadFile(name); err != nil || strings.Count(string(b), "\n") != 5 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if size < 5*lineLength*9/10 || size > 5*lineLength {
		t.Errorf("%d bytes", size)
	}
}

// A line's work leaves as many bytes on the disk.
func TestWorkOfALine(t *testing.T) {
	dir := t.TempDir()
	if err := (Work{CPU: time.Microsecond, Disk: 5000}).Do(dir); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		return // elsewhere the disk has no part in the work
	}
	if info, err := os.Stat(filepath.Join(dir, "line")); err != nil || info.Size() < 5000 {
		t.Errorf("%v, %v", info, err)
	}
	if err := (Work{Disk: 1}).Do(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that isn't there: %v", err)
	}
}

func TestRulesForSlowTasks(t *testing.T) {
	o := &Options{Jobs: []Job{{Maps: 1, Reduces: 1}}}
	if err := o.Speculate("late+freeze"); err == nil || o.Suspends {
		t.Errorf("jobs with reduces stand still: %v", err)
	}
	o.Jobs[0].Reduces = 0
	if err := errors.Join(o.Speculate("late"), o.Speculate("late+freeze")); err != nil || !o.Suspends || len(o.Rules) != 2 {
		t.Fatalf("%v, %+v", err, o)
	}
	if got := strings.Join(o.Rules[1].Args, " "); got != "-speculation late -slowstart 1.0 -freeze" || o.Rules[1].Name != "late+freeze" {
		t.Errorf("%+v", o.Rules)
	}
}
