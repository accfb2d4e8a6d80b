package stage

import (
	"fmt"
	"slices"
)

// fail ends an attempt without success. It counts if it wasn't intended.
func (m *Planner) fail(id AttemptID, why error, counts bool) {
	t, a := m.task(id.TaskID), m.attempt(id)
	b := &m.tables[id.Stage]
	h := m.slots[a.Slot].host
	as := Cancelled
	if counts {
		as = Unsuccessful
	}
	m.part(a, as)
	if s := &m.slots[a.Slot]; s.known {
		s.idle = true
		m.reckon(s)
	}
	if counts {
		// before it waits: where it may go depends on this
		if !slices.Contains(t.avoid, h) {
			t.avoid = append(t.avoid, h)
		}
		t.avoids = m.now
	}
	if t.active == 0 && t.phase == running {
		m.shift(t, waiting)
	}
	if counts {
		b.failed++
	}
	if id.Stage == Reduce && t.phase == waiting {
		m.missDeserted()
	}
	if !counts {
		return
	}
	m.strike(h)
	f := &AttemptError{ID: id, Host: m.nodes[h].name, Err: why}
	m.do(Fault{f})
	if t.failed++; t.failed >= m.job.Tries[id.Stage] {
		m.end(fmt.Errorf("%v task %d failed %d times, at last %w", id.Stage, id.Index, t.failed, f))
	}
}

// missDeserted has outputs made again that were given up with their slots: a reduce needs them after all.
func (m *Planner) missDeserted() {
	slots := m.deserted
	m.deserted = nil
	for _, id := range slots {
		s := &m.slots[id]
		outputs := s.outputs
		s.outputs = nil
		for _, o := range outputs {
			m.lose(o)
		}
	}
}

// lostLimit is how often a map's output may be lost.
const lostLimit = 20

// lose notes that a map's output isn't there any more. It is made again if a reduce may need it.
func (m *Planner) lose(id AttemptID) {
	t := m.task(id.TaskID)
	reduces := &m.tables[Reduce]
	if t.phase != done || t.winner != id.Number || reduces.count[done] == len(reduces.all) {
		return
	}
	a := m.attempt(id)
	at := m.outputsAt(a)
	*at = slices.DeleteFunc(*at, func(o AttemptID) bool { return o == id })
	m.tables[Map].outBytes -= a.OutBytes
	t.winner = -1
	m.shift(t, waiting)
	m.do(Revoke{id})
	if t.lost++; t.lost > lostLimit {
		m.end(fmt.Errorf("the output of map task %d was lost %d times", id.Index, t.lost))
	}
}

// uselessLimit is how many containers in a row may end before their worker has said a word.
const uselessLimit = 8

// gone records that a container is over.
func (m *Planner) gone(e Gone) {
	s := m.slot(e.Slot)
	if s == nil {
		return
	}
	m.leave(e.Slot, e.Err, e.Fault)
	if !s.heard && e.Fault && !m.over {
		if m.useless++; m.useless >= uselessLimit {
			m.end(fmt.Errorf("workers don't start; the last on %s: %w", m.nodes[s.host].name, e.Err))
		}
	}
}

// Complaints of a reduce about map outputs, until one of the two sides is to blame.
const (
	complaintsOfOne   = 3 // about the same output
	complaintsOfHosts = 2 // about outputs of different hosts
)

// unfetchable records that a reduce can't get the output of a map. Reports of others decide the blame: an output that its host doesn't
// have any more is lost, and so is one that two hosts can't fetch; a reduce that can't fetch from several hosts, about which no other
// complains, goes to another host itself (Hadoop: ShuffleSchedulerImpl). A slot that serves its outputs itself can't while it is
// suspended.
func (m *Planner) unfetchable(e Unfetchable) {
	s := m.slot(e.Slot)
	if s == nil {
		return
	}
	s.seen = m.now
	if !m.Disputed(e) {
		return
	}
	t := &m.tables[Map].all[e.Map]
	made := &t.attempts[t.winner]
	if !e.Missing && !made.onNode && m.slots[made.Slot].frozen {
		return // it answers when it continues
	}
	r := m.attempt(s.task)
	from := m.slots[made.Slot].host
	var times int
	t.blamed, times = addBlame(t.blamed, s.host)
	r.blamed, _ = addBlame(r.blamed, from)
	switch {
	case e.Missing, len(t.blamed) > 1, times >= complaintsOfOne:
		m.lose(made.ID)
		m.strike(from)
	case len(r.blamed) >= complaintsOfHosts:
		m.fail(r.ID, &FetchError{Hosts: len(r.blamed), Last: m.nodes[from].name, Err: e.Err}, true)
		s.idle = false // its worker doesn't know yet
		m.reckon(s)
	}
}

// Disputed reports whether a complaint is about an output that the job still relies on, by a reduce that still runs.
func (m *Planner) Disputed(e Unfetchable) bool {
	s := m.slot(e.Slot)
	if s == nil || m.over || !s.busy || s.task.Stage != Reduce || e.Map < 0 || e.Map >= len(m.tables[Map].all) {
		return false
	}
	t := &m.tables[Map].all[e.Map]
	if t.phase != done || t.winner != e.Number {
		return false
	}
	made := &t.attempts[t.winner]
	return made.onNode || m.slots[made.Slot].known
}
