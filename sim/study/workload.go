package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"heddle/sim"
	"heddle/sim/trace"
)

// setting is a trace with the cluster that its users replayed it on.
type setting struct {
	name   string
	cutoff time.Duration
	short  float64 // percent of the workers
	jobs   []sim.Job
}

// yahooLike makes a trace with the shape of Yahoo's: 90.6 % of the jobs are short, and have 2 % of the work. Durations and numbers of tasks
// are log-normal; arrivals come in bursts, and keep some 3,500 workers busy.
func yahooLike(jobs int, seed uint64) setting {
	rng := rand.New(rand.NewPCG(seed, 3001))
	around := func(median, spread float64) float64 { return median * math.Exp(spread*rng.NormFloat64()) }
	s := setting{name: fmt.Sprintf("synthetic trace of Yahoo's shape, %d jobs, seed %d", jobs, seed), cutoff: 90580 * time.Millisecond, short: 2}
	at := 0.
	for n := range jobs {
		mean, tasks := min(around(15, 1), 90), int(min(1+around(8, 1.2), 1000))
		if rng.Float64() < .094 {
			mean, tasks = 91+around(500, .8), int(min(1+around(120, 1), 2000))
		}
		j := sim.Job{Submit: sim.Time(at * 1e9), Stages: []sim.Stage{{Tasks: make([]sim.Task, tasks)}}}
		sum := sim.Time(0)
		for i := range j.Stages[0].Tasks {
			d := sim.Time(around(mean, .3) * 1e9)
			j.Stages[0].Tasks[i].Duration = d
			sum += d
		}
		j.Estimate = sum / sim.Time(tasks)
		s.jobs = append(s.jobs, j)
		at += rng.ExpFloat64() * 4.2 * []float64{.75, 1.25}[n/100%2]
	}
	return s
}

// given returns the settings of traces that the environment names: HEDDLE_YAHOO_TRACE and HEDDLE_GOOGLE_TRACE, each a file in Hawk's format.
func given() (all []setting, err error) {
	for _, s := range []struct {
		variable string
		setting
	}{
		{"HEDDLE_YAHOO_TRACE", setting{name: "slice of Yahoo's trace", cutoff: 90580 * time.Millisecond, short: 2}},
		{"HEDDLE_GOOGLE_TRACE", setting{name: "slice of Google's trace", cutoff: 1129500 * time.Millisecond, short: 17}},
	} {
		file := os.Getenv(s.variable)
		if file == "" {
			continue
		}
		if s.jobs, err = trace.Open(file, trace.Options{Format: "hawk", Whole: true}); err != nil {
			return nil, fmt.Errorf("%s: %w", s.variable, err)
		}
		all = append(all, s.setting)
	}
	return all, nil
}

// google reports whether a setting is Google's, which takes more workers.
func (s *setting) google() bool { return s.short == 17 }

// exponential makes jobs of so many tasks each, which last 100 ms in the mean, that keep a part of the workers busy.
func exponential(jobs, tasks, workers int, load float64, seed uint64) (all []sim.Job) {
	rng := rand.New(rand.NewPCG(seed, 4001))
	const mean = .1
	at := 0.
	for range jobs {
		j := sim.Job{Submit: sim.Time(at * 1e9), Estimate: sim.Time(mean * 1e9), Stages: []sim.Stage{{Tasks: make([]sim.Task, tasks)}}}
		for i := range j.Stages[0].Tasks {
			j.Stages[0].Tasks[i].Duration = sim.Time(rng.ExpFloat64() * mean * 1e9)
		}
		all = append(all, j)
		at += rng.ExpFloat64() * float64(tasks) * mean / (load * float64(workers))
	}
	return all
}
