package stage

import (
	"slices"
	"time"
)

// cuts are attempts at maps that are told to stop early, so that other tasks do the rest of their input.
type cuts struct {
	m    *Planner
	open []order // that weren't answered
}

// order is an order to an attempt.
type order struct {
	of    AttemptID
	at    time.Duration
	avoid []host // that its rest isn't for
}

// answering is how long an attempt may take to answer. One that is stuck doesn't, and may have a copy.
const answering = 10 * time.Second

// MostParts is how many tasks may get the rest of an attempt's input at once.
const MostParts = 16

// round tells attempts to stop that the Splitter proposes.
func (c *cuts) round() {
	m, p := c.m, c.m.job.Splitter
	if p == nil || m.over {
		return
	}
	c.open = slices.DeleteFunc(c.open, func(o order) bool {
		a := m.attempt(o.of)
		if a.stopping && m.now-o.at >= answering && !m.slots[a.Slot].frozen {
			a.stopping, a.fixed = false, true
		}
		return !a.stopping
	})
	for _, x := range p.Split(m.copies.look()) {
		if r, ok := m.copies.original(x.Of); !ok || r.Fixed || x.Of.Stage != Map || !(x.At > 0 && x.At < 1) || x.Parts < 1 {
			continue
		}
		a := m.attempt(x.Of)
		a.stopping = true
		o := order{of: x.Of, at: m.now}
		for _, n := range x.Avoid {
			if n >= 0 && n < len(m.nodes) {
				o.avoid = append(o.avoid, host(n))
			}
		}
		c.open = append(c.open, o)
		m.copies.dropOf(x.Of.TaskID)
		m.do(Stop{Slot: a.Slot, Attempt: x.Of, At: x.At, Parts: min(x.Parts, MostParts)})
	}
}

// resumed gives an attempt that was told to stop as long to answer as if it had been told just now.
func (c *cuts) resumed(id AttemptID) {
	if o := c.find(id); o != nil {
		o.at = c.m.now
	}
}

// stopped records the answer of an attempt that was told to stop. Whatever it was told, what it leaves becomes tasks: no other does that.
func (c *cuts) stopped(e Stopped) {
	m := c.m
	s := m.slot(e.Slot)
	if s == nil {
		return
	}
	s.seen = m.now
	if m.over || !s.busy || s.task != e.Attempt || e.Attempt.Stage != Map {
		return
	}
	a := m.attempt(e.Attempt)
	a.stopping = false
	if len(e.Hosts) == 0 {
		a.fixed = true
		return
	}
	// Other attempts at the task do what is going to be other tasks' work.
	t := m.task(e.Attempt.TaskID)
	for i := range t.attempts {
		if o := &t.attempts[i]; o.State == Active && o.ID != a.ID {
			m.cancel(o.ID, Overtaken)
		}
	}
	m.copies.dropOf(t.id)
	var avoid []host
	if o := c.find(a.ID); o != nil {
		avoid = o.avoid
	}
	first := c.divide(t, e.Kept, e.Hosts, avoid)
	m.do(Divide{Attempt: e.Attempt, First: first, Parts: len(e.Hosts)})
	m.stirred = true
}

// find returns what an attempt was told, nil if nothing is open.
func (c *cuts) find(id AttemptID) *order {
	for i := range c.open {
		if c.open[i].of == id {
			return &c.open[i]
		}
	}
	return nil
}

// divide leaves a task a part of its work, makes tasks of the rest, and returns the first one's index.
func (c *cuts) divide(t *task, kept float64, rest [][]string, avoid []host) (first int) {
	b := &c.m.tables[Map]
	if !(kept > 0) { // nor NaN
		kept = 0
	}
	whole, progress := t.share, float64(t.progress)/float64(t.share)
	t.share = max(1, int64(min(kept, 1)*float64(whole)))
	b.advance(t, int64(min(progress/max(kept, 1e-9)*millionths, almost)))
	left, n := whole-t.share, int64(len(rest))
	first = len(b.all)
	for i, hosts := range rest {
		x := task{id: TaskID{Map, len(b.all)}, winner: -1, share: max(1, left/n), avoid: slices.Clone(avoid), avoids: c.m.now}
		if i == 0 {
			x.share = max(1, left-(n-1)*(left/n))
		}
		var at []host
		for _, name := range hosts {
			at = append(at, c.m.host(name))
		}
		c.m.inputs = append(c.m.inputs, at)
		b.all = append(b.all, x)
		b.count[waiting]++
		b.await(&b.all[x.id.Index], at)
	}
	return first
}
