package stage

import (
	"slices"
	"time"
)

// pendingCopy is a copy that a Speculator has proposed, and that has no slot yet.
type pendingCopy struct {
	Copy
	request RequestID // 0: none is open
	asked   time.Duration
	coming  SlotID // that was granted for it, if its worker hasn't said a word yet
}

// copies are those of a Planner's job that are pending, and what its Speculator is shown.
type copies struct {
	m       *Planner
	pending []pendingCopy
	shown   Round
	young   int  // tasks that run too short a time to be judged, as of the last round, with those that have begun since
	spare   bool // reduces get no copies any more: slots may go with the outputs that these would need
}

// round drops copies that aren't worth while any more, and has new ones made.
func (c *copies) round() {
	m, p := c.m, c.m.job.Speculator
	if p == nil {
		return
	}
	if spare := m.holds && allFetched(m) && (c.spare || c.late()); spare != c.spare {
		c.spare = spare
		m.stirred = true
	}
	for i := 0; i < len(c.pending); i++ {
		if r, ok := c.original(c.pending[i].Of); !ok || !p.Worth(c.pending[i].Copy, m.now, r, -1) {
			c.drop(i)
			i--
		}
	}
	if m.over {
		return
	}
	c.countYoung(detection(p))
	for _, x := range p.Round(c.look()) {
		pending := slices.ContainsFunc(c.pending, func(o pendingCopy) bool { return o.Of.TaskID == x.Of.TaskID })
		if _, ok := c.original(x.Of); ok && !pending {
			c.pending = append(c.pending, pendingCopy{Copy: x, coming: none})
			m.stirred = true // a slot that waits may take it
		}
	}
	if m.stirred {
		m.stirred = false
		m.match()
	}
	for i := range c.pending {
		if x := &c.pending[i]; x.request == 0 && !c.comes(x) {
			c.ask(x)
		}
	}
}

// detection returns how long a task must have run until a Speculator can tell whether it is slow; 0 if unknown.
func detection(p Speculator) time.Duration {
	if d, knows := p.(Detector); knows {
		return d.Detects()
	}
	return 0
}

// countYoung counts the tasks that run for less than a time.
func (c *copies) countYoung(limit time.Duration) {
	c.young = 0
	for s := range c.m.tables {
		for _, id := range c.m.tables[s].active {
			a := c.m.attempt(id)
			if !a.Copy && c.m.task(id.TaskID).active == 1 && c.m.now-a.Begun-a.Paused < limit {
				c.young++
			}
		}
	}
}

// late reports whether it is too late for copies of all reduces that run.
func (c *copies) late() bool {
	return !slices.ContainsFunc(c.m.tables[Reduce].active, func(id AttemptID) bool {
		return !slices.ContainsFunc(c.m.task(id.TaskID).attempts, c.nearEnd)
	})
}

// nearEnd reports whether an attempt that runs should be done in at most the time that it has worked since it fetched, at the rate at
// which it got on so far (as LATE estimates: OSDI 2008, section 4). A copy fetches, and works from the beginning: it could
// overtake such an attempt only on a node more than twice as fast.
func (c *copies) nearEnd(a Attempt) bool {
	s := &c.m.slots[a.Slot]
	p := a.Progress()
	if a.State != Active || s.frozen || a.Phase == Shuffling || !(p > 0) {
		return false
	}
	now := c.m.now
	left := (now - a.Begun - a.Paused).Seconds() * (1 - p) / p
	return left <= (now - a.Fetched).Seconds()
}

// look gathers what runs.
func (c *copies) look() *Round {
	m, r := c.m, &c.shown
	r.Now, r.Running, r.Slots = m.now, r.Running[:0], r.Slots[:0]
	for s := range m.tables {
		b := &m.tables[s]
		r.Waiting[s] = b.count[waiting]
		for _, id := range b.active {
			if !m.freezes.still(id) {
				r.Running = append(r.Running, c.running(id))
			}
		}
	}
	if r.Copies = 0; m.facts.Hints.Divides {
		r.Copies = m.facts.Hints.Copies
	}
	r.Classes = r.Classes[:0]
	for i := range m.nodes {
		r.Slots = append(r.Slots, m.nodes[i].most)
		if m.classified {
			r.Classes = append(r.Classes, m.nodes[i].speedClass)
		}
	}
	if !m.classified {
		r.Classes = nil
	}
	return r
}

func (c *copies) running(id AttemptID) Running {
	m := c.m
	a, maps := m.attempt(id), &m.tables[Map]
	s := &m.slots[a.Slot]
	return Running{
		ID: id, Node: int(s.host), Begun: a.Begun, Paused: a.Paused, Progress: a.Progress(),
		Attempts: m.task(id.TaskID).active,
		Share:    float64(m.task(id.TaskID).share) / millionths, Fixed: id.Stage != Map || a.fixed,
		Waits: id.Stage == Reduce && a.Phase == Shuffling && maps.count[done] < len(maps.all),
	}
}

// original returns an attempt that may have a copy: it runs, no other one of its task does, it wasn't told to stop or to be suspended, and the
// input of a copy is still there.
func (c *copies) original(id AttemptID) (Running, bool) {
	m := c.m
	if int(id.Stage) >= stages || id.Index < 0 || id.Index >= len(m.tables[id.Stage].all) {
		return Running{}, false
	}
	t := m.task(id.TaskID)
	if id.Number < 0 || id.Number >= len(t.attempts) || t.attempts[id.Number].State != Active || t.active != 1 || t.attempts[id.Number].stopping ||
		m.freezes.still(id) || id.Stage == Reduce && m.fetched() {
		return Running{}, false
	}
	return c.running(id), true
}

// drop forgets a copy that is pending.
func (c *copies) drop(i int) {
	m := c.m
	if id := c.pending[i].request; id != 0 && m.requests[id].open {
		m.requests[id].open = false
		m.do(Withdraw{id})
	}
	c.pending = slices.Delete(c.pending, i, i+1)
}

// dropOf forgets the pending copy of a task, if there is one.
func (c *copies) dropOf(t TaskID) {
	if i := slices.IndexFunc(c.pending, func(x pendingCopy) bool { return x.Of.TaskID == t }); i >= 0 {
		c.drop(i)
	}
}

func (c *copies) dropAll() {
	for len(c.pending) > 0 {
		c.drop(0)
	}
}

// ask asks for a container on the hosts where a copy is worth while, if such are known.
func (c *copies) ask(x *pendingCopy) {
	m := c.m
	r, ok := c.original(x.Of)
	if !ok {
		return
	}
	w := Want{Task: x.Of.TaskID, Strict: true}
	for i := range m.nodes {
		if n := &m.nodes[i]; n.most > 0 && !n.shunned() && m.job.Speculator.Worth(x.Copy, m.now, r, i) {
			w.Hosts = append(w.Hosts, n.name)
		}
	}
	if len(w.Hosts) == 0 {
		return
	}
	x.request, x.asked = m.ask(request{task: x.Of.TaskID, open: true, copy: true}), m.now
	w.Request = x.request
	m.do(w)
}

// takenBy gives a slot that waits a copy, if one is worth while there.
func (c *copies) takenBy(id SlotID) bool {
	m := c.m
	s := &m.slots[id]
	if m.over || s.spent || s.frozen || m.nodes[s.host].shunned() {
		return false
	}
	for i := range c.pending {
		x := c.pending[i]
		r, ok := c.original(x.Of)
		if s.lent && !m.freezes.borrows(id, x.Of.TaskID) {
			continue
		}
		if !ok || x.Of.Stage == Reduce && s.memory < m.job.ReduceMemory || m.job.PerTask && x.Of.Stage != s.stage ||
			!m.job.Speculator.Worth(x.Copy, m.now, r, int(s.host)) {
			continue
		}
		c.drop(i)
		m.launch(id, m.task(x.Of.TaskID), true)
		return true
	}
	return false
}

// arrives records that the request for a copy was served, and reports whether the copy is still worth while there.
func (c *copies) arrives(id RequestID, slot SlotID, h host) bool {
	for i := range c.pending {
		if x := &c.pending[i]; x.request == id {
			x.request, x.coming = 0, slot
			r, ok := c.original(x.Of)
			return ok && c.m.job.Speculator.Worth(x.Copy, c.m.now, r, int(h))
		}
	}
	return false
}

// asks returns the open request for the copy of a task, 0 if there is none.
func (c *copies) asks(t TaskID) RequestID {
	for i := range c.pending {
		if x := &c.pending[i]; x.Of.TaskID == t {
			return x.request
		}
	}
	return 0
}

// comes reports whether a slot has been granted for a copy whose worker is still starting.
func (c *copies) comes(x *pendingCopy) bool {
	if x.coming == none {
		return false
	}
	s := c.m.slot(x.coming)
	if s == nil || s.heard || s.overdue {
		x.coming = none
		return false
	}
	return true
}
