// Package shape draws traces with the distributions that papers tell of theirs.
package shape

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"heddle/sim"
)

// class is the short or the long jobs of a shape. Means of a job's tasks and numbers of tasks are log-normal.
type class struct {
	least, mean, spread float64 // of the mean duration: what is added, the median in s and the deviation of the logarithm
	longest             float64 // s
	tasks, uneven       float64 // the number of tasks: its median and the deviation of the logarithm
	most                float64
}

// job draws the mean duration and the number of tasks of a job.
func (c *class) job(around func(median, spread float64) float64) (mean float64, tasks int) {
	mean = min(c.least+around(c.mean, c.spread), c.longest)
	return mean, int(min(1+around(c.tasks, c.uneven), c.most))
}

// Shape is the distributions of a synthetic trace.
type Shape struct {
	Of          string // whose trace
	short, long class
	part        float64 // of the jobs that are long
	within      float64 // a job: the deviation of the logarithms of its tasks' durations
	gap         float64 // s between two jobs, in the mean
	burst       int     // jobs until arrivals get slower or faster
	swing       float64 // by how much: a part of gap
}

// Yahoo is the shape of Yahoo's trace: 90.6 % of the jobs are short, and have 2 % of the work. Arrivals keep some 3,500 workers busy.
var Yahoo = Shape{
	Of: "Yahoo", part: .094, within: .3, gap: 4.2, burst: 100, swing: .25,
	short: class{mean: 15, spread: 1, longest: 90, tasks: 8, uneven: 1.2, most: 1000},
	long:  class{least: 91, mean: 500, spread: .8, longest: math.Inf(1), tasks: 120, uneven: 1, most: 2000},
}

// Cloudera is the shape of Cloudera's: 95 % of the jobs are short, and have 9 % of the work. Short jobs have 195 tasks in the mean, and 4.4 % of these
// are stragglers (tables 4.1 and 4.4 of the text on Eirene), which determines within. Durations are chosen below and above the cutoff, the tasks of long
// jobs by the part of the work, and arrivals so that some 13,000 workers are busy, with which the text calls the cluster overloaded.
var Cloudera = Shape{
	Of: "Cloudera", part: .05, within: .24, gap: 6, burst: 60, swing: .25,
	short: class{mean: 30, spread: .8, longest: 240, tasks: 95, uneven: 1.2, most: 2000},
	long:  class{least: 300, mean: 900, spread: .6, longest: math.Inf(1), tasks: 750, uneven: .8, most: 4000},
}

// Facebook is the shape of the first 100,000 jobs of Facebook's: 98 % of the jobs are short, and have 2 % of the work. Short jobs have 10 tasks in the
// mean, and 8.2 % of these are stragglers. The rest is chosen as for Cloudera's, so that some 57,000 workers are busy: the text calls 50,000 overloaded.
var Facebook = Shape{
	Of: "Facebook", part: .02, within: .29, gap: .118, burst: 4000, swing: .25,
	short: class{mean: 10, spread: .9, longest: 50, tasks: 4.7, uneven: 1.2, most: 1000},
	long:  class{least: 85, mean: 320, spread: .7, longest: math.Inf(1), tasks: 600, uneven: .8, most: 4000},
}

// With returns a shape of which some figures differ, as in "short-mean=20+swing=0.5".
func (x Shape) With(changes string) (*Shape, error) {
	if changes == "" {
		return &x, nil
	}
	burst := float64(x.burst)
	of := map[string]*float64{
		"short-mean": &x.short.mean, "short-spread": &x.short.spread, "short-tasks": &x.short.tasks, "short-uneven": &x.short.uneven,
		"long-mean": &x.long.mean, "long-spread": &x.long.spread, "long-tasks": &x.long.tasks, "long-uneven": &x.long.uneven,
		"within": &x.within, "gap": &x.gap, "swing": &x.swing, "burst": &burst,
	}
	for change := range strings.SplitSeq(changes, "+") {
		name, value, _ := strings.Cut(change, "=")
		v, err := strconv.ParseFloat(value, 64)
		if of[name] == nil || err != nil || !(v >= 0 && v <= 1e6) {
			return nil, fmt.Errorf("shape %q: give a number from 0 to 1e6 for one of %s", change,
				strings.Join(slices.Sorted(maps.Keys(of)), ", "))
		}
		*of[name] = v
	}
	x.burst = max(1, int(burst))
	return &x, nil
}

// Trace makes a trace of so many jobs with a shape, another one for each seed. Arrivals come in bursts.
func (x *Shape) Trace(jobs int, seed uint64) (all []sim.Job) {
	rng := rand.New(rand.NewPCG(seed, 3001))
	around := func(median, spread float64) float64 { return median * math.Exp(spread*rng.NormFloat64()) }
	at := 0.
	for n := range jobs {
		mean, tasks := x.short.job(around)
		if rng.Float64() < x.part {
			mean, tasks = x.long.job(around)
		}
		j := sim.Job{Submit: sim.Time(at * 1e9), Stages: []sim.Stage{{Tasks: make([]sim.Task, tasks)}}}
		sum := sim.Time(0)
		for i := range j.Stages[0].Tasks {
			d := sim.Time(around(mean, x.within) * 1e9)
			j.Stages[0].Tasks[i].Duration = d
			sum += d
		}
		j.Estimate = sum / sim.Time(tasks)
		all = append(all, j)
		at += rng.ExpFloat64() * x.gap * []float64{1 - x.swing, 1 + x.swing}[n/x.burst%2]
	}
	return all
}

// Jobs is how many jobs there are of so many, at least one.
func Jobs(n int, times float64) int { return max(1, int(math.Round(float64(n)*times))) }

// Repeated returns jobs that come so many times, one round after the other, or only the first part of them. A round begins after the last one by the mean
// time between two jobs, so that load and queues go on as they were.
func Repeated(jobs []sim.Job, times float64) (all []sim.Job) {
	if len(jobs) == 0 {
		return nil
	}
	first, last := jobs[0].Submit, jobs[len(jobs)-1].Submit
	round := last - first + (last-first)/sim.Time(max(1, len(jobs)-1))
	for i := range Jobs(len(jobs), times) {
		j := jobs[i%len(jobs)]
		j.Submit += sim.Time(i/len(jobs)) * round
		all = append(all, j)
	}
	return all
}

// Exponential makes jobs of so many tasks each, which last 100 ms in the mean, that keep a part of the workers busy.
func Exponential(jobs, tasks, workers int, load float64, seed uint64) (all []sim.Job) {
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
