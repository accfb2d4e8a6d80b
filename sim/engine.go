package sim

import "time"

// Time is a virtual time in ns. It counts from the beginning of the simulation, or from wherever the trace does.
type Time int64

// Seconds returns a time or duration in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(time.Second) }

// Millis returns a time in whole ms, the scheduler's unit.
func (t Time) Millis() int64 { return int64(t) / int64(time.Millisecond) }

// Handler handles events.
type Handler interface {
	// Handle is called at an event's time, with the argument of At.
	Handle(arg int64)
}

// Engine runs events in the order of their times. Events of equal times run in the order in which they were entered.
// The zero value is at time 0 and has no events.
type Engine struct {
	now    Time
	seq    uint64
	events []event // a heap with four children a node, which is shallower and easier on caches than a binary one
	count  int64

	// The first events, in their order: of none in the heap is earlier. They are taken out of it together, so that memory that they need can be fetched together.
	soon   []event
	head   int                // of these, the next one
	coming func(soon []event) // is told of events that were taken out; nil: nobody is
}

// batch is how many events are taken out of the heap together, and mostSoon how many are in front of it at most.
const (
	batch    = 8
	mostSoon = 2 * batch
)

type event struct {
	at  Time
	seq uint64
	to  Handler
	arg int64
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// Now returns the virtual time, which is that of the event being handled.
func (g *Engine) Now() Time { return g.now }

// Events returns the number of events handled so far.
func (g *Engine) Events() int64 { return g.count }

// At enters an event. A time in the past counts as now.
func (g *Engine) At(t Time, to Handler, arg int64) {
	g.seq++
	x := event{at: max(t, g.now), seq: g.seq, to: to, arg: arg}
	if n := len(g.soon); g.head < n && x.before(&g.soon[n-1]) {
		g.insert(x)
	} else {
		g.push(x)
	}
}

// insert enters an event among the first ones. If these are too many then, the last one goes back to the heap.
func (g *Engine) insert(x event) {
	last := g.soon[len(g.soon)-1]
	if len(g.soon) < mostSoon {
		g.soon = append(g.soon, last)
	} else {
		g.push(last)
	}
	i := len(g.soon) - 1
	for ; i > g.head && x.before(&g.soon[i-1]); i-- {
		g.soon[i] = g.soon[i-1]
	}
	g.soon[i] = x
}

// push enters an event into the heap.
func (g *Engine) push(x event) {
	g.events = append(g.events, x)
	i := len(g.events) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !x.before(&g.events[p]) {
			break
		}
		g.events[i] = g.events[p]
		i = p
	}
	g.events[i] = x
}

// Next returns the time of the next event, and false if there is none.
func (g *Engine) Next() (Time, bool) {
	switch {
	case g.head < len(g.soon):
		return g.soon[g.head].at, true
	case len(g.events) > 0:
		return g.events[0].at, true
	}
	return 0, false
}

// pending returns how many events are entered.
func (g *Engine) pending() int { return len(g.events) + len(g.soon) - g.head }

// Step handles all events of the earliest time, those included that handlers enter for that time. It returns false if
// there are no events.
func (g *Engine) Step() bool {
	t, ok := g.Next()
	if !ok {
		return false
	}
	g.now = t
	for ok && t == g.now {
		e := g.first()
		g.count++
		e.to.Handle(e.arg)
		t, ok = g.Next()
	}
	return true
}

// first takes out the earliest event, of which there is one.
func (g *Engine) first() event {
	if g.head == len(g.soon) {
		g.soon, g.head = g.soon[:0], 0
		for len(g.soon) < batch && len(g.events) > 0 {
			g.soon = append(g.soon, g.pop())
		}
		if g.coming != nil {
			g.coming(g.soon)
		}
	}
	e := g.soon[g.head]
	g.soon[g.head] = event{} // nothing of it is kept alive
	g.head++
	return e
}

// pop takes the earliest event out of the heap.
func (g *Engine) pop() event {
	top := g.events[0]
	n := len(g.events) - 1
	x := g.events[n]
	g.events[n] = event{}
	g.events = g.events[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if g.events[c].before(&g.events[least]) {
				least = c
			}
		}
		if !g.events[least].before(&x) {
			break
		}
		g.events[i] = g.events[least]
		i = least
	}
	g.events[i] = x
	return top
}
