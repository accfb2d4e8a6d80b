package sim

import (
	"heddle/yarn/records"
)

// sampleEvery is how often utilisation is looked at.
const sampleEvery = Time(5e9)

// metrics collects what a Report says.
type metrics struct {
	jobs      []Job
	outcomes  []Outcome
	decisions int64

	waited Time // of all tasks: from the submission of their job to their start
	begun  int64

	preempted int64 // containers
	wasted    Time  // of their work

	// Utilisation is sampled from the arrival of one of the first jobs to that of the last, so that a trace's slow start and
	// end don't count.
	from, to, next Time
	level          int // what is used now, in thousandths of the cluster
	levels         [1001]int64
	samples        int64
}

func newMetrics(jobs []Job) *metrics {
	m := &metrics{jobs: jobs, outcomes: make([]Outcome, len(jobs))}
	for i := range jobs {
		m.outcomes[i] = Outcome{Name: jobs[i].Name, Queue: jobs[i].Queue, User: jobs[i].User, Tasks: jobs[i].Tasks(), Estimate: jobs[i].Estimate, Submit: jobs[i].Submit, Start: -1, End: -1}
	}
	if n := len(jobs); n > 0 {
		m.from, m.to = jobs[n/100].Submit, jobs[n-1].Submit
		m.next = m.from
	}
	return m
}

func (m *metrics) started(job int32, waited Time) {
	m.waited += waited
	m.begun++
	if o := &m.outcomes[job]; o.Start < 0 {
		o.Start = o.Submit + waited
	}
}

func (m *metrics) lost(work Time) {
	m.preempted++
	m.wasted += work
}

func (m *metrics) ended(job int32, now Time) { m.outcomes[job].End = now }

// use takes note of what is used from now on.
func (m *metrics) use(now Time, used, total records.Resource) {
	for m.next < now && m.next <= m.to {
		m.levels[m.level]++
		m.samples++
		m.next += sampleEvery
	}
	m.level = 0
	for i := range total {
		if total[i] > 0 {
			m.level = max(m.level, int(used[i]*1000/total[i]))
		}
	}
	m.level = min(m.level, 1000)
}
