package hybrid

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
	"heddle/sim"
)

// A long task of 1000 s is suspended twice, for 100 s and the rest of a short task; each takes 3 s, and 10 s to resume.
func TestDiceSuspendsATaskTwice(t *testing.T) {
	jobs := [][]float64{{0, 1000}}
	for i := range 60 {
		jobs = append(jobs, []float64{float64(1 + 7*i), 20, 20, 20})
	}
	for _, mode := range []string{"hawk", "hawk-nosteal", "eagle"} {
		d := partition.Study(50)
		d.Longest, d.Multiplier = time.Second, 100
		r := must(t, jobsOf(jobs...), Options{Mode: mode, Workers: 2, Short: 50, Dice: d, Seed: 4})
		took := r.LongJobs.Completion.P50
		if r.Dice == nil || r.Dice.Suspensions != 2 {
			t.Fatalf("%s: %+v", mode, r.Dice)
		}
		if took < 1000+2*113 || took > 1000+2*133.1 {
			t.Errorf("%s: the long task took %g s", mode, took)
		}
		if r.LongJobs.Jobs != 1 || r.ShortJobs.Jobs != 60 {
			t.Errorf("%s: %d and %d jobs ended", mode, r.LongJobs.Jobs, r.ShortJobs.Jobs)
		}
		d.Times = 0
		if r := must(t, jobsOf(jobs...), Options{Mode: mode, Workers: 2, Short: 50, Dice: d, Seed: 4}); r.Dice.Suspensions != 0 || r.LongJobs.Completion.P50 > 1400 {
			t.Errorf("%s: without suspensions: %+v", mode, r.Dice)
		}
	}
}

// Section 3.6.2: Dice makes short jobs faster, and long ones not much slower.
func TestDiceHelpsShortJobs(t *testing.T) {
	jobs := workload(t, 600)
	for _, mode := range []string{"hawk", "eagle"} {
		o := Options{Mode: mode, Workers: 430, Short: 5, Seed: 1}
		before := must(t, jobs, o)
		o.Dice = partition.Study(5)
		o.Dice.Longest = 200 * time.Second // this trace's waits are shorter than Yahoo's
		after := must(t, jobs, o)
		for _, c := range []struct {
			what          string
			before, after float64
			most          float64
		}{
			{"short p50", before.ShortJobs.Completion.P50, after.ShortJobs.Completion.P50, .9},
			{"short p90", before.ShortJobs.Completion.P90, after.ShortJobs.Completion.P90, .9},
			{"long p90", before.LongJobs.Completion.P90, after.LongJobs.Completion.P90, 1.27},
		} {
			if c.after > c.most*c.before {
				t.Errorf("%s: %s is %.1f s instead of %.1f s", mode, c.what, c.after, c.before)
			}
		}
		if after.Dice.Suspensions == 0 || after.Dice.Closed == 0 {
			t.Errorf("%s: %+v", mode, after.Dice)
		}
	}
}

// Long tasks last for many windows, so a worker drains of them only if each window closes it. Each drew other ones before.
func TestDiceClosesTheSameWorkersWhileWaitsLast(t *testing.T) {
	c, err := newCluster(nil, Options{Mode: "hawk", Workers: 200, Short: 2, Dice: partition.Study(2), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	window := func(wait time.Duration) []bool {
		c.now = sim.Time(c.sizer.Ends())
		c.sizer.Waited(wait, 1)
		c.resize()
		return slices.Clone(c.central.closed)
	}
	first, second := window(500*time.Second), window(500*time.Second)
	if !slices.Equal(first, second) || !first[4] || !first[11] || first[3] || first[12] {
		t.Errorf("one window closes %v, the next one with the same wait %v", first, second)
	}
	for w, closed := range window(250 * time.Second) {
		if closed && !first[w] {
			t.Errorf("a shorter wait closes %d, which was open", w)
		}
	}
	if slices.Contains(window(0), true) {
		t.Error("workers are closed though nothing waited")
	}
}

func TestDiceNeedsAShortPartition(t *testing.T) {
	for _, mode := range []string{"sparrow", "dlwl-srpt"} {
		if _, err := Run(nil, Options{Mode: mode, Workers: 10, Dice: partition.Study(0)}); err == nil {
			t.Errorf("%s has Dice", mode)
		}
	}
}
