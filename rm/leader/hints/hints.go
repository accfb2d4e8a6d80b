// Package hints measures how often containers of a leaf queue are released, and how many will be, as moving averages over windows: F_o and
// A_o of OMO (section 4.3.1). ApplicationMasters of Heddle's library get both, because each sees its own containers only.
//
// Only queues with such an ApplicationMaster are measured. Containers differ in size: the package measures amounts, and an
// ApplicationMaster gets them in containers of its own size. A container counts as released when it ends and, if its ApplicationMaster runs
// one task after the other in it, whenever that reports it as free. All containers will be released by themselves, except those of reduces
// whose application has maps running: they wait for these.
package hints

import (
	"math"
	"time"

	"heddle/internal/omo"
	"heddle/yarn/records"
)

// Hints are what an application is told.
type Hints struct {
	Frequency float64 // F_o: containers of its size that are released per second; 0: unknown
	Available float64 // A_o: those that will be
	Jobs      int     // K: applications that have containers
	Bandwidth float64 // B, in bytes per second; 0: unknown
	// Divides says that its queue has slots for copies of tasks. Copies is how many containers it may have for these, besides those for tasks.
	Divides bool
	Copies  int64
}

// Near reports whether hints are so near to others that there is no need to be told.
func (h Hints) Near(o Hints) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 0.05*max(a, b) }
	return near(h.Frequency, o.Frequency) && near(h.Available, o.Available) && h.Jobs == o.Jobs && near(h.Bandwidth, o.Bandwidth) &&
		h.Divides == o.Divides && h.Copies == o.Copies
}

// Report is what an ApplicationMaster says of its containers: how often one has become free for another task, in all, and how many will by
// themselves.
type Report struct{ Released, Available int64 }

// measured is how many types of resources are looked at: memory and cores.
const measured = 2

type amounts [measured]float64

// app is an application as it is when its queue is measured.
type app struct {
	containers int // besides its ApplicationMaster's
	maps       int // of these; 0 where they aren't known
	used       records.Resource
	reduces    records.Resource // of used
	report     *Report          // nil: it tells nothing
	before     int64            // Released when the queue was measured last
}

// size returns the mean of its containers.
func (a *app) size() (out amounts) {
	for i := range out {
		if a.containers > 0 {
			out[i] = float64(a.used[i]) / float64(a.containers)
		}
	}
	return out
}

// Meters measure queues, by their paths. The zero value measures none. One goroutine may use them at a time.
type Meters struct {
	queues map[string]*meter
	at     time.Duration // of the last sample
}

type meter struct {
	wanted    time.Duration // when it was last asked for
	released  amounts       // in all
	available amounts
	jobs      int
	rate      [measured]omo.Release
}

// patience is for how long a queue is measured after the last request.
const patience = 10 * time.Minute

// Want starts measuring a queue. now counts from any time.
func (m *Meters) Want(queue string, now time.Duration) {
	q := m.queues[queue]
	if q == nil {
		if m.queues == nil {
			m.queues = map[string]*meter{}
		}
		q = &meter{}
		m.queues[queue] = q
	}
	q.wanted = now
}

// Ended records that a container of an application in a queue has ended.
func (m *Meters) Ended(queue string, r *records.Resource) {
	if len(m.queues) == 0 {
		return
	}
	if q := m.queues[queue]; q != nil {
		for i := range q.released {
			q.released[i] += float64(r[i])
		}
	}
}

// due reports whether queues are to be measured: once in a window, if there are any.
func (m *Meters) due(now time.Duration) bool {
	for path, q := range m.queues {
		if now-q.wanted > patience {
			delete(m.queues, path)
		}
	}
	return len(m.queues) > 0 && (m.at == 0 || now-m.at >= omo.Window)
}

// sample begins to measure. add adds each application of the queues that are measured, and then close ends it.
func (m *Meters) sample() {
	for _, q := range m.queues {
		q.available, q.jobs = amounts{}, 0
	}
}

// add adds an application of a queue.
func (m *Meters) add(queue string, a *app) {
	q := m.queues[queue]
	if q == nil || a.containers == 0 {
		return
	}
	q.jobs++
	size := a.size()
	for i := range q.available {
		switch r := a.report; {
		case r != nil:
			q.available[i] += size[i] * float64(min(max(r.Available, 0), int64(a.containers)))
			// It can't have more tasks than some a second in each container.
			most := int64(a.containers) * busiest * int64(omo.Window/time.Second)
			q.released[i] += size[i] * float64(min(max(r.Released-a.before, 0), most))
		case a.maps > 0:
			q.available[i] += float64(a.used[i] - a.reduces[i])
		default:
			q.available[i] += float64(a.used[i])
		}
	}
}

// busiest is how many tasks a second one container may do, at most, whatever its application says.
const busiest = 10

// close ends a measurement.
func (m *Meters) close(now time.Duration) {
	m.at = now
	for _, q := range m.queues {
		for i := range q.rate {
			q.rate[i].Observe(now, q.released[i], q.available[i])
		}
	}
}

// of returns what an application of a queue is told, as it was added.
func (m *Meters) of(queue string, a *app) (h Hints) {
	q := m.queues[queue]
	if q == nil || a.containers == 0 {
		return h
	}
	size := a.size()
	h.Frequency, h.Available, h.Jobs = math.Inf(1), math.Inf(1), q.jobs
	for i := range size {
		if !q.rate[i].Known {
			return Hints{}
		}
		if size[i] > 0 {
			h.Frequency, h.Available = min(h.Frequency, q.rate[i].Frequency/size[i]), min(h.Available, q.rate[i].Available/size[i])
		}
	}
	if math.IsInf(h.Frequency, 1) {
		return Hints{}
	}
	return h
}
