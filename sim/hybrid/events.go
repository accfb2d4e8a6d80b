package hybrid

import (
	"heddle/internal/prefetch"
	"heddle/sim"
)

// kind is what happens at an event.
type kind uint8

const (
	arrives kind = iota // a probe at a worker
	refused             // a worker's slot is free again, as there was no task for it
	ended               // a task at a worker
	counted             // workers know of one more launched task of a job
	copied              // a task's input, to a worker's RAM disk
	pausing             // a worker has suspended a long task
	expired             // a suspended task has waited long enough
	bids                // a worker, for a task; with early binding
	bound               // the answer to that, at the worker
)

// event is something that happens at a worker.
type event struct {
	at     sim.Time
	seq    uint64
	worker int32
	job    int32
	task   int32
	slot   int32
	turn   int32 // of a task that ends; it ends then only if it wasn't suspended or stopped since
	kind   kind
	clone  bool
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// lane is events that come a fixed time after they were entered, so that they come in the order of their entry.
type lane struct {
	events []event
	head   int
}

func (l *lane) push(e event) {
	if l.head > 32 && 2*l.head > len(l.events) {
		n := copy(l.events, l.events[l.head:])
		l.events, l.head = l.events[:n], 0
	}
	l.events = append(l.events, e)
}

func (l *lane) first() *event {
	if l.head == len(l.events) {
		return nil
	}
	return &l.events[l.head]
}

func (l *lane) pop() {
	if l.head++; l.head == len(l.events) {
		l.events, l.head = l.events[:0], 0
	}
}

// heap is events in the order of their times, with four children a place.
type heap struct{ events []event }

func (h *heap) first() *event {
	if len(h.events) == 0 {
		return nil
	}
	return &h.events[0]
}

func (h *heap) push(e event) {
	h.events = append(h.events, e)
	i := len(h.events) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(&h.events[p]) {
			break
		}
		h.events[i] = h.events[p]
		i = p
	}
	h.events[i] = e
}

func (h *heap) pop() {
	n := len(h.events) - 1
	x := h.events[n]
	h.events = h.events[:n]
	if n == 0 {
		return
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for k := c + 1; k < min(c+4, n); k++ {
			if h.events[k].before(&h.events[least]) {
				least = k
			}
		}
		if !h.events[least].before(&x) {
			break
		}
		h.events[i] = h.events[least]
		i = least
	}
	h.events[i] = x
}

// agenda is all events that are to come.
type agenda struct {
	seq     uint64
	oneWay  lane
	round   lane // a round trip
	others  heap
	copying sim.Time // when the last copy of Eirene ends
}

func (a *agenda) next(e event) event {
	a.seq++
	e.seq = a.seq
	return e
}

// pop removes the earliest event, unless it is at or after a time. It has memory come that later events need which came like this one.
func (a *agenda) pop(until sim.Time, of *places) (e event, ok bool) {
	var from *lane
	first := a.others.first()
	if x := a.oneWay.first(); x != nil && (first == nil || x.before(first)) {
		first, from = x, &a.oneWay
	}
	if x := a.round.first(); x != nil && (first == nil || x.before(first)) {
		first, from = x, &a.round
	}
	if first == nil || first.at >= until {
		return event{}, false
	}
	e = *first
	if from != nil {
		if i := from.head + ahead; i < len(from.events) {
			of.fetchFor(&from.events[i])
		}
		from.pop()
		return e, true
	}
	a.others.pop()
	if next := a.others.first(); next != nil {
		of.fetchFor(next)
	}
	return e, true
}

// ahead is how many events of a lane are handled while the memory comes that a later one needs.
const ahead = 2

// fetchFor has memory come that an event needs.
func (p *places) fetchFor(e *event) {
	if e.kind != counted {
		p.fetch(e.worker)
	}
}

func (p *places) fetch(n int32) {
	prefetch.Of(&p.workers[n])
	if p.stages != nil {
		prefetch.Of(&p.stages[n])
	}
}
