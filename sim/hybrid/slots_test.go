package hybrid

import (
	"math"
	"strings"
	"testing"
)

// A worker with two slots runs two tasks at a time. A worker had one before, whatever the text's had.
func TestWorkersHaveSlots(t *testing.T) {
	jobs := jobsOf([]float64{0, 10, 10, 10, 10})
	one := must(t, jobs, Options{Mode: "sparrow", Workers: 1, Seed: 1, Ratio: 1, Exact: true})
	two := must(t, jobs, Options{Mode: "sparrow", Workers: 1, Slots: 2, Seed: 1, Ratio: 1, Exact: true})
	if a, b := one.ShortJobs.Completion.Mean, two.ShortJobs.Completion.Mean; math.Abs(a-40) > .1 || math.Abs(b-20) > .1 {
		t.Errorf("with one slot %g s, with two %g s", a, b)
	}
	if u := two.Utilisation.Mean; u > 100 {
		t.Errorf("%g %% of the slots are taken", u)
	}
	for _, o := range []Options{{Mode: "eagle", Workers: 1, Slots: 2}, {Mode: "sparrow", Workers: 1, Slots: -1}, {Mode: "sparrow", Workers: 1, WarmUp: -1}} {
		if _, err := Run(nil, o); err == nil {
			t.Errorf("%+v is taken", o)
		} else if !strings.Contains(err.Error(), "give") && !strings.Contains(err.Error(), "only mode") {
			t.Error(err)
		}
	}
}

// Reports leave out the jobs of the warm-up, and name the minute in which tasks waited for longest.
func TestWarmUpIsLeftOut(t *testing.T) {
	jobs := jobsOf([]float64{0, 30, 30}, []float64{1, 10}, []float64{200, 10})
	r := must(t, jobs, Options{Mode: "sparrow", Workers: 1, Seed: 1, Ratio: 1, Exact: true, WarmUp: 2})
	if c := r.ShortJobs; c.Jobs != 1 || math.Abs(c.Completion.Mean-10) > .1 {
		t.Errorf("%+v", c)
	}
	whole := must(t, jobs, Options{Mode: "sparrow", Workers: 1, Seed: 1, Ratio: 1, Exact: true})
	// The tasks of the first minute wait for 0 and 30 s, and that of the second one, which begins at 60 s, for 59 s.
	if c := whole.ShortJobs; c.Jobs != 3 || math.Abs(c.Peak-59) > .1 || math.Abs(c.Ratio-6.9) > .1 {
		t.Errorf("%+v", c)
	}
}
