package study

import (
	"math"
	"reflect"
	"testing"

	"heddle/sim"
)

// Each shape has both classes of jobs, in about the shares of its text, and another trace for another seed only.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		x                synthetic
		jobs             int
		seed             uint64
		short, work      float64 // of the jobs, and of the work
		busy             float64 // workers
		jobsOff, workOff float64
	}{
		{yahooShape, 3000, 1, .906, .02, 3500, .02, .01},
		{clouderaShape, 500, 3, .95, .09, 13_000, .02, .03},
		{facebookShape, 5000, 1, .98, .02, 57_000, .005, .006},
	} {
		s, jobs := c.x.setting(c.jobs), c.x.Trace(c.jobs, c.seed)
		var short, work, all float64
		for i := range jobs {
			j := &jobs[i]
			sum := sim.Time(0)
			for _, task := range j.Stages[0].Tasks {
				if task.Duration <= 0 {
					t.Fatalf("%s: job %d has a task of %v", s.name, i, task.Duration)
				}
				sum += task.Duration
			}
			if mean := sum / sim.Time(len(j.Stages[0].Tasks)); mean != j.Estimate {
				t.Fatalf("%s: job %d has tasks of %v, and an estimate of %v", s.name, i, mean, j.Estimate)
			}
			all += float64(sum)
			if j.Estimate <= sim.Time(s.cutoff) {
				short++
				work += float64(sum)
			}
		}
		busy := all / float64(jobs[len(jobs)-1].Submit)
		short, work = short/float64(c.jobs), work/all
		if math.Abs(short-c.short) > c.jobsOff || math.Abs(work-c.work) > c.workOff || math.Abs(busy/c.busy-1) > .4 {
			t.Errorf("%s: %.3f of the jobs are short, with %.4f of the work; %.0f workers are busy", s.name, short, work, busy)
		}
		if !reflect.DeepEqual(c.x.Trace(20, c.seed), jobs[:20]) || reflect.DeepEqual(c.x.Trace(20, c.seed+1), jobs[:20]) {
			t.Errorf("%s: its seed doesn't determine it", s.name)
		}
	}
}

// A trace from a file comes again after its last job, by the mean time between two; and only its first part where it comes less than once.
func TestTracesThatAreRepeated(t *testing.T) {
	jobs := []sim.Job{{Name: "a", Submit: 100}, {Name: "b", Submit: 130}, {Name: "c", Submit: 160}}
	for _, c := range []struct {
		times float64
		want  []sim.Time
	}{{1, []sim.Time{100, 130, 160}}, {2, []sim.Time{100, 130, 160, 190, 220, 250}}, {.5, []sim.Time{100, 130}}, {.01, []sim.Time{100}}, {1.4, []sim.Time{100, 130, 160, 190}}} {
		s := setting{name: "x", jobs: func(uint64) []sim.Job { return jobs }}
		s.repeat(c.times)
		got := s.jobs(1)
		if len(got) != len(c.want) {
			t.Fatalf("%g times: %d jobs, want %d", c.times, len(got), len(c.want))
		}
		for i, j := range got {
			if j.Submit != c.want[i] || j.Name != jobs[i%3].Name {
				t.Errorf("%g times: job %d is %s at %d, want %s at %d", c.times, i, j.Name, j.Submit, jobs[i%3].Name, c.want[i])
			}
		}
	}
	if o := (&Options{Values: map[string]string{"repeat": "0"}}); o.Check("hawk", ParametersOf("hawk")) != nil {
		t.Error("no parameter repeat")
	} else if _, err := settings(o); err == nil {
		t.Error("no jobs at all are a trace")
	}
}
