package sim

import (
	"heddle/yarn/records"
)

// sampleEvery is the time between samples of utilisation.
const sampleEvery = Time(5e9)

// metrics collects the figures of a Report.
type metrics struct {
	jobs      []Job
	outcomes  []Outcome
	decisions int64

	waited Time // total over all tasks, from the submission of their job to their start
	begun  int64

	suspended int64           // suspensions of containers
	preempted int64           // preempted containers
	wasted    Time            // total of their lost work
	losses    []map[int32]int // by job: containers that a task has lost

	// Utilisation is sampled from the arrival of the hundredth part of the jobs to that of the last one, so that a
	// trace's slow start and end don't count.
	from, to, next Time
	used           int // utilisation now, in thousandths of the cluster
	histogram      [1001]int64
	samples        int64
}

func newMetrics(jobs []Job) *metrics {
	m := &metrics{jobs: jobs, outcomes: make([]Outcome, len(jobs)), losses: make([]map[int32]int, len(jobs))}
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
	if o := &m.outcomes[job]; o.Start < 0 || o.Submit+waited < o.Start { // the one that is granted first may wait longest for its node
		o.Start = o.Submit + waited
	}
}

func (m *metrics) lost(job, task int32, work Time) {
	m.preempted++
	m.wasted += work
	if m.losses[job] == nil {
		m.losses[job] = map[int32]int{}
	}
	m.losses[job][task]++
	m.outcomes[job].Lost = max(m.outcomes[job].Lost, m.losses[job][task])
}

func (m *metrics) ended(job int32, now Time) { m.outcomes[job].End = now }

// use records how much is used from now on.
func (m *metrics) use(now Time, used, total records.Resource) {
	for m.next < now && m.next <= m.to {
		m.histogram[m.used]++
		m.samples++
		m.next += sampleEvery
	}
	m.used = 0
	for i := range total {
		if total[i] > 0 {
			m.used = max(m.used, int(used[i]*1000/total[i]))
		}
	}
	m.used = min(m.used, 1000)
}
