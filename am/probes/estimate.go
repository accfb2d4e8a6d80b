package probes

import (
	"time"

	"heddle/yarn/wire"
)

// estimate is how long a task is expected to take.
type estimate struct {
	mean, told float64 // ns: the moving mean, and what was told of it last
	weight     int     // of how many tasks the mean is, at most meanOf; 0: nothing is known
}

// steady is by how many times the mean must differ from what was told before something else is told.
const steady = 1.25

// meanOf is over how many tasks the mean is.
const meanOf = 16

// begin returns an estimate that a program has made; 0: it knows nothing.
func begin(d time.Duration) estimate {
	if d <= 0 {
		return estimate{}
	}
	return estimate{mean: float64(d), weight: meanOf}
}

// learn records how long a task took.
func (e *estimate) learn(took time.Duration) {
	e.weight = min(e.weight+1, meanOf)
	e.mean += (float64(took) - e.mean) / float64(e.weight)
}

// tell returns what is expected, for a node. It tells the same of jobs whose tasks are alike: a node prefers the job with the least work left, and a mean that differs
// from job to job would have newer ones overtake older ones.
func (e *estimate) tell() time.Duration {
	if e.mean > steady*e.told || e.mean < e.told/steady {
		e.told = e.mean
	}
	return time.Duration(e.told)
}

// ageTime is how often a Scheduler looks whether tasks run for longer than was expected.
const ageTime = 250 * time.Millisecond

// age counts tasks that run for longer than was expected as if they ended now: the first ones may run for long, and nodes quote times by known
// durations. The lock is held.
func (s *Scheduler) age(now time.Time) {
	aged := map[*Job]estimate{}
	for _, n := range s.nodes {
		for _, a := range n.attempts {
			j := a.place.job
			e, ok := aged[j]
			if !ok {
				e = j.took
			}
			if age := now.Sub(a.at); float64(age) > e.mean {
				e.learn(age)
				aged[j] = e
			}
		}
	}
	for j, e := range aged {
		j.took.told = float64(e.tell())
		j.inform()
	}
}

// inform tells the nodes that have probes of the job what its tasks are expected to take, if that isn't what they were told and tasks wait. The Scheduler's lock is held.
func (j *Job) inform() {
	if left, _ := j.s.sched.Left(j.id); left == 0 {
		return
	}
	if takes := time.Duration(j.took.told); takes != j.told {
		j.told = takes
		for _, n := range j.s.nodes {
			if n.probed[j.id] {
				n.say(&wire.Estimate{Job: uint64(j.id), EstimateUS: uint64(takes.Microseconds())})
			}
		}
	}
}
