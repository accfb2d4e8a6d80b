package probes

import "time"

// estimate is how long a task is expected to take.
type estimate struct{ mean, said float64 } // ns: the moving mean, and what was told of it last

// steady is by how many times the mean must differ from what was told before something else is told.
const steady = 1.25

// learn takes in what a task has taken.
func (e *estimate) learn(took time.Duration) {
	if e.mean += (float64(took) - e.mean) / 16; e.mean <= 0 {
		e.mean = float64(took)
	}
}

// tell returns what is expected, for a node. It tells the same of jobs whose tasks are alike: a node prefers the job with the least work left, and a mean that differs
// from job to job would have newer ones overtake older ones.
func (e *estimate) tell() time.Duration {
	if e.mean > steady*e.said || e.mean < e.said/steady {
		e.said = e.mean
	}
	return time.Duration(e.said)
}
