package hybrid

import (
	"reflect"
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
)

// A task whose input is copied while its probe waits saves 15 % of its time; one that starts at once doesn't.
func TestStagedTasksAreFaster(t *testing.T) {
	e := EireneStudy()
	e.NoClones = true
	r := must(t, jobsOf([]float64{0, 50}, []float64{1, 40}), Options{Mode: "eagle", Workers: 1, Eirene: e})
	// The second task waits for 49 s, and its input is there after 6.42 s.
	if got, want := r.ShortJobs.Completion.Mean, (50.0015+49.0015+34.001)/2; got < want-.01 || got > want+.01 {
		t.Errorf("the mean is %g s, not %g s; %+v", got, want, r.Eirene)
	}
	if r.Eirene.Hits != 1 || r.Eirene.Clones != 0 {
		t.Errorf("%+v", r.Eirene)
	}
	e.Copy = time.Minute
	if r := must(t, jobsOf([]float64{0, 50}, []float64{1, 40}), Options{Mode: "eagle", Workers: 1, Eirene: e}); r.Eirene.Hits != 0 {
		t.Errorf("a copy that isn't ready is read: %+v", r.Eirene)
	}
	e.NoStaging = true
	if r := must(t, jobsOf([]float64{0, 50}, []float64{1, 40}), Options{Mode: "eagle", Workers: 1, Eirene: e}); *r.Eirene != (EireneReport{}) {
		t.Errorf("%+v", r.Eirene)
	}
}

// On an idle cluster the straggler of a job is cloned, and what is slower is stopped.
func TestClonesOvertakeStragglers(t *testing.T) {
	e := EireneStudy()
	e.NoStaging = true
	tasks := []float64{0, 80}
	for range 9 {
		tasks = append(tasks, 5)
	}
	for _, mode := range []string{"eagle", "sparrow", "hawk"} {
		before, after := 0., 0.
		for seed := range uint64(8) {
			before += must(t, jobsOf(tasks), Options{Mode: mode, Workers: 200, Seed: seed}).ShortJobs.Completion.P50
			r := must(t, jobsOf(tasks), Options{Mode: mode, Workers: 200, Seed: seed, Eirene: e})
			after += r.ShortJobs.Completion.P50
			if r.Eirene.Won == 0 || r.Eirene.Clones > 10+r.Eirene.Won {
				t.Errorf("%s: %+v", mode, r.Eirene)
			}
		}
		if after > before/2 {
			t.Errorf("%s: with clones %g s instead of %g s", mode, after/8, before/8)
		}
	}
}

// Everything at once: each job ends, under load and on an idle cluster, and short jobs are faster.
func TestEireneHelpsShortJobs(t *testing.T) {
	jobs := workload(t, 400)
	for _, workers := range []int{420, 1500} {
		for _, mode := range []string{"eagle", "hawk"} {
			o := Options{Mode: mode, Workers: workers, Short: 5, Seed: 1}
			before := must(t, jobs, o)
			o.Eirene = EireneStudy()
			after := must(t, jobs, o)
			o.Dice = partition.Study(5)
			both := must(t, jobs, o)
			for _, r := range []*Report{after, both} {
				if r.ShortJobs.Jobs != before.ShortJobs.Jobs || r.LongJobs.Jobs != before.LongJobs.Jobs || r.Tasks != before.Tasks {
					t.Fatalf("%s, %d workers: %d and %d jobs of %d tasks ended", mode, workers, r.ShortJobs.Jobs, r.LongJobs.Jobs, r.Tasks)
				}
			}
			if got, was := after.ShortJobs.Completion.P75, before.ShortJobs.Completion.P75; mode == "eagle" && got > .95*was {
				t.Errorf("%s, %d workers: P75 is %g s instead of %g s", mode, workers, got, was)
			}
			if got, was := after.LongJobs.Completion.Mean, before.LongJobs.Completion.Mean; got > 1.02*was {
				t.Errorf("%s, %d workers: long jobs take %g s instead of %g s", mode, workers, got, was)
			}
		}
	}
}

// What a worker has staged goes to another one when nothing is left of it, which changes no result.
func TestStagesArePassedOn(t *testing.T) {
	jobs := workload(t, 400)
	for _, workers := range []int{420, 1500} {
		for _, mode := range []string{"eagle", "hawk"} {
			for _, dice := range []*partition.Dice{nil, partition.Study(5)} {
				e := EireneStudy()
				e.Staging.Concurrent = 1 + workers/500
				var all [2]*Report
				var made [2]int
				for i := range all {
					c, err := newCluster(jobs, Options{Mode: mode, Workers: workers, Short: 5, Seed: 3, Cutoff: 90 * time.Second, Eirene: e, Dice: dice})
					if err != nil {
						t.Fatal(err)
					}
					c.preloads.kept = i == 0
					all[i] = c.run()
					made[i] = c.preloads.made
				}
				if !reflect.DeepEqual(all[0], all[1]) {
					t.Errorf("%s, %d workers: %+v and %+v", mode, workers, all[0], all[1])
				}
				if made[1] > made[0] || workers == 1500 && made[1] == made[0] { // an overloaded cluster needs all
					t.Errorf("%s, %d workers: %d preloads instead of %d", mode, workers, made[1], made[0])
				}
			}
		}
	}
}

func TestBadParametersOfEirene(t *testing.T) {
	for _, change := range []func(*Eirene){
		func(e *Eirene) { e.Staging.Concurrent = 0 }, func(e *Eirene) { e.Staging.PerProbe = -1 }, func(e *Eirene) { e.Copy = -1 }, func(e *Eirene) { e.Faster = 1 },
	} {
		e := EireneStudy()
		change(e)
		if _, err := Run(nil, Options{Mode: "eagle", Workers: 3, Eirene: e}); err == nil {
			t.Errorf("%+v is accepted", e)
		}
	}
}
