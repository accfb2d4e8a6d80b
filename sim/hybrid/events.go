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
	at         sim.Time
	seq        uint64
	worker     int32
	job        int32
	task       int32
	slot       int32
	generation int32 // of a task that ends; it ends then only if it wasn't suspended or stopped since
	kind       kind
	clone      bool
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

// heap is events in the order of their times, with four children a place. These are beside each other in a line of memory: only what orders events moves.
type heap struct {
	keys   []key // of which the first three are none
	events []event
	free   []uint32 // places of events that are unused
}

// key is when an event comes, and where it is.
type key struct {
	at    sim.Time
	seq   uint32 // the last digits of the event's: others that are to come differ by less than half of what there are
	place uint32
}

func (k key) before(o key) bool { return k.at < o.at || k.at == o.at && int32(k.seq-o.seq) < 0 }

// root is the place of the first key.
const root = 3

func (h *heap) len() int { return max(0, len(h.keys)-root) }

func (h *heap) first() *event {
	if len(h.keys) <= root {
		return nil
	}
	return &h.events[h.keys[root].place]
}

func (h *heap) push(e event) {
	if h.keys == nil {
		h.keys = make([]key, root, 8)
	}
	x := key{at: e.at, seq: uint32(e.seq)}
	if n := len(h.free); n > 0 {
		x.place, h.free = h.free[n-1], h.free[:n-1]
		h.events[x.place] = e
	} else {
		x.place = uint32(len(h.events))
		h.events = append(h.events, e)
	}
	h.keys = append(h.keys, x)
	i := len(h.keys) - 1
	for i > root {
		p := i/4 + root - 1
		if !x.before(h.keys[p]) {
			break
		}
		h.keys[i] = h.keys[p]
		i = p
	}
	h.keys[i] = x
}

func (h *heap) pop() {
	h.free = append(h.free, h.keys[root].place)
	n := len(h.keys) - 1
	x := h.keys[n]
	h.keys = h.keys[:n]
	if n == root {
		return
	}
	i := root
	for {
		c := 4 * (i - root + 1)
		if c >= n {
			break
		}
		least := c
		for k := c + 1; k < min(c+4, n); k++ {
			if h.keys[k].before(h.keys[least]) {
				least = k
			}
		}
		if !h.keys[least].before(x) {
			break
		}
		h.keys[i] = h.keys[least]
		i = least
	}
	h.keys[i] = x
}

// fetchSecond has the event come that follows the first one.
func (h *heap) fetchSecond() {
	if len(h.keys) <= root+1 {
		return
	}
	second := root + 1
	for k := second + 1; k < min(root+5, len(h.keys)); k++ {
		if h.keys[k].before(h.keys[second]) {
			second = k
		}
	}
	prefetch.Of(&h.events[h.keys[second].place])
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
func (a *agenda) pop(until sim.Time, of []worker) (e event, ok bool) {
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
			fetchFor(of, &from.events[i])
		}
		from.pop()
		return e, true
	}
	a.others.pop()
	if next := a.others.first(); next != nil {
		fetchFor(of, next)
		a.others.fetchSecond()
	}
	return e, true
}

// ahead is how many events of a lane are handled while the memory comes that a later one needs.
const ahead = 2

// fetchFor has memory come that an event needs.
func fetchFor(of []worker, e *event) {
	if e.kind != counted {
		prefetch.Of(&of[e.worker])
	}
}
