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
}

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
	g.events = append(g.events, event{at: max(t, g.now), seq: g.seq, to: to, arg: arg})
	i := len(g.events) - 1
	x := g.events[i]
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
	if len(g.events) == 0 {
		return 0, false
	}
	return g.events[0].at, true
}

// Step handles all events of the earliest time, those included that handlers enter for that time. It returns false if
// there are no events.
func (g *Engine) Step() bool {
	t, ok := g.Next()
	if !ok {
		return false
	}
	g.now = t
	for len(g.events) > 0 && g.events[0].at == t {
		e := g.pop()
		g.count++
		e.to.Handle(e.arg)
	}
	return true
}

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
