package hybrid

import (
	"math"
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
)

// Tasks of one worker share its processor: of two of 10 s that come 4 s after each other the first ends after 16 s, and the second after 16 s too. A task waits for three
// messages before it begins: its probe, the bid and the binding.
func TestTasksShareTheProcessor(t *testing.T) {
	r := must(t, jobsOf([]float64{0, 10}, []float64{4, 10}), Options{Mode: "sparrow", Workers: 1, Early: true})
	if got := r.ShortJobs; got.Completion.P50 != 16.0015 || got.Wait.P99 != .0015 {
		t.Errorf("they end after %+v s, and waited for %+v s", got.Completion, got.Wait)
	}
	// One of 2 s beside one of 10 s: 4 s, and 12 s.
	r = must(t, jobsOf([]float64{0, 10}, []float64{1, 2}), Options{Mode: "sparrow", Workers: 1, Early: true})
	if got := r.ShortJobs.Completion; math.Abs(got.P50-(4.0015+12.0015)/2) > 1e-6 {
		t.Errorf("%+v", got)
	}
}

// Of the workers that are probed those get the tasks that have the least to do.
func TestBidsGoByLoad(t *testing.T) {
	// The second job probes both workers, of which one is busy.
	r := must(t, jobsOf([]float64{0, 50}, []float64{1, 10}), Options{Mode: "sparrow", Workers: 2, Early: true, Ratio: 2})
	if got := r.ShortJobs.Completion.Mean; math.Abs(got-(50.0015+10.0015)/2) > 1e-6 {
		t.Errorf("the mean is %g s", got)
	}
}

// All work is done, by each mode that has probes. Short jobs are the faster the less they wait behind others, and long ones lose little.
func TestEarlyBindingOfAWorkload(t *testing.T) {
	jobs := workload(t, 200)
	for _, mode := range Modes() {
		m, err := modeOf(mode)
		if err != nil || m.all {
			continue
		}
		o := Options{Mode: mode, Workers: 450, Short: 5, Seed: 1}
		late := must(t, jobs, o)
		o.Early = true
		early := must(t, jobs, o)
		if early.ShortJobs.Jobs != late.ShortJobs.Jobs || early.LongJobs.Jobs != late.LongJobs.Jobs || early.Tasks != late.Tasks {
			t.Errorf("%s: %d and %d jobs of %d tasks have ended", mode, early.ShortJobs.Jobs, early.LongJobs.Jobs, early.Tasks)
		}
		// The same work keeps as many processors busy, over the same time but for its end.
		if late.Utilisation.Mean < .9*early.Utilisation.Mean || early.Utilisation.Mean < .9*late.Utilisation.Mean {
			t.Errorf("%s: %g %% and %g %% of the workers are busy", mode, early.Utilisation.Mean, late.Utilisation.Mean)
		}
	}
}

func TestEarlyBindingWithoutProbes(t *testing.T) {
	for _, o := range []Options{
		{Mode: "clwl", Workers: 1, Early: true},
		{Mode: "dlwl-srpt", Workers: 1, Early: true},
		{Mode: "eagle", Workers: 50, Short: 5, Cutoff: time.Minute, Early: true, Dice: partition.Study(5)},
		{Mode: "eagle", Workers: 3, Early: true, Eirene: EireneStudy()},
	} {
		if _, err := Run(nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
