package stage

import (
	"slices"
	"time"
)

// freezes are attempts that are suspended, or are to, for the sake of copies. On a full cluster there is no slot for a copy. A map of the same
// job that has slack gives it its room, and continues when the copy has ended. And an original that its copy has overtaken isn't
// ended, but is suspended until the copy is done: if that was a wrong guess, it continues from where it was.
//
// Where slots do one task after the other and serve the outputs of maps, a slot that was lent can't go before the outputs are fetched, and
// one that is suspended can't serve any. Nothing is frozen there.
type freezes struct {
	m    *Planner
	held []hold // in the order in which they were asked for
	vain int    // in a row that have brought no slot
}

// hold is an attempt that is suspended, or is to.
type hold struct {
	of    AttemptID
	slot  SlotID
	copy  TaskID // for whose copy
	asked time.Duration
	lent  SlotID // that has got its room; none: it has not been granted, or the attempt is an original
}

const (
	none SlotID = -1
	// lending is how long a copy may take to get the room of an attempt that is suspended.
	lending = 10 * time.Second
	// inVain is how many freezes in a row may bring no slot. The ResourceManager doesn't want them, or can't.
	inVain = 3
)

// may reports whether attempts may be suspended at all.
func (f *freezes) may() bool {
	m := f.m
	return m.job.Freezes && !m.over && (m.job.PerTask || len(m.tables[Reduce].all) == 0)
}

// round resumes attempts that needn't are suspended any more, and others are suspended.
func (f *freezes) round() {
	for i := 0; i < len(f.held); i++ {
		if h := &f.held[i]; !f.needed(h) {
			if h.of.TaskID != h.copy {
				f.vain++
			}
			f.thaw(i)
			i--
		}
	}
	if f.may() {
		f.holdOvertaken()
		f.makeRoom()
	}
}

// needed reports whether an attempt has to be suspended, or to get to that.
func (f *freezes) needed(h *hold) bool {
	m := f.m
	if h.of.TaskID == h.copy {
		best := f.leader(h.copy, h.of)
		return best != nil && f.remaining(best) < f.remaining(m.attempt(h.of))
	}
	if h.lent != none {
		return true // until that slot is gone (returned)
	}
	return m.now-h.asked < lending && m.copies.asks(h.copy) != 0
}

// thaw resumes an attempt.
func (f *freezes) thaw(i int) {
	f.m.do(Thaw{Slot: f.held[i].slot, Attempt: f.held[i].of})
	f.held = slices.Delete(f.held, i, i+1)
}

func (f *freezes) freeze(a *Attempt, copy TaskID, request RequestID) {
	a.tried = true
	f.held = append(f.held, hold{of: a.ID, slot: a.Slot, copy: copy, asked: f.m.now, lent: none})
	f.m.do(Freeze{Slot: a.Slot, Attempt: a.ID, For: request})
}

// of returns where an attempt is among those that are suspended, or are to; -1 if it isn't.
func (f *freezes) of(id AttemptID) int {
	return slices.IndexFunc(f.held, func(h hold) bool { return h.of == id })
}

// parted records that an attempt is over. Its slot continues, if it is there: it may be on its way to being suspended.
func (f *freezes) parted(id AttemptID) {
	i := f.of(id)
	switch {
	case i < 0:
	case f.m.slots[f.held[i].slot].known:
		f.thaw(i)
	default:
		f.held = slices.Delete(f.held, i, i+1)
	}
}

// forget drops an attempt that is over, and whose slot is given up.
func (f *freezes) forget(id AttemptID) {
	f.held = slices.DeleteFunc(f.held, func(h hold) bool { return h.of == id })
}

// returned records that a slot is gone. If it was lent, the attempt whose room it had continues.
func (f *freezes) returned(id SlotID) {
	for i := range f.held {
		if f.held[i].lent == id {
			f.thaw(i)
			return
		}
	}
}

// refused records that a slot wasn't suspended as requested. Its attempt isn't asked again.
func (f *freezes) refused(id SlotID) {
	i := slices.IndexFunc(f.held, func(h hold) bool { return h.slot == id && h.lent == none })
	if i < 0 || f.m.slots[id].frozen {
		return
	}
	if h := &f.held[i]; h.of.TaskID != h.copy {
		f.vain++
	}
	f.held = slices.Delete(f.held, i, i+1)
}

func (f *freezes) thawAll() {
	for len(f.held) > 0 {
		f.thaw(0)
	}
}

// granted records that a slot has come for the copy of a task. The one that has room as another is suspended is lent: it does the copy and goes.
func (f *freezes) granted(id SlotID, copy TaskID) {
	i := slices.IndexFunc(f.held, func(h hold) bool { return h.copy == copy && h.of.TaskID != copy && h.lent == none })
	if i < 0 {
		return
	}
	f.vain = 0
	slots := f.m.slots
	if slots[f.held[i].slot].host != slots[id].host {
		f.thaw(i) // there was a slot after all
	} else {
		f.held[i].lent, slots[id].lent = id, true
	}
}

// borrows reports whether a slot may do nothing but the copy of a task.
func (f *freezes) borrows(id SlotID, copy TaskID) bool {
	return slices.ContainsFunc(f.held, func(h hold) bool { return h.lent == id && h.copy == copy })
}

// holdOvertaken suspends originals that their copies have overtaken.
func (f *freezes) holdOvertaken() {
	m := f.m
	for s := range m.tables {
		for _, id := range m.tables[s].active {
			a, t := m.attempt(id), m.task(id.TaskID)
			if t.active < 2 || a.Copy || a.tried || a.stopping || m.slots[a.Slot].frozen {
				continue
			}
			if best := f.leader(t.id, id); best != nil && best.Copy && best.Progress() > a.Progress() && f.remaining(best) < f.remaining(a) {
				f.freeze(a, t.id, 0)
			}
		}
	}
}

// makeRoom suspends a map whose room a copy is to get that has found none.
func (f *freezes) makeRoom() {
	m := f.m
	if f.vain >= inVain || m.tables[Reduce].count[running] > 0 {
		return // a reduce waits for each map
	}
	for i := range m.copies.pending {
		x := &m.copies.pending[i]
		r, ok := m.copies.original(x.Of)
		if !ok || x.request == 0 || x.asked >= m.now || slices.ContainsFunc(f.held, func(h hold) bool { return h.copy == x.Of.TaskID }) {
			continue
		}
		if v := f.victim(x, &r); v != nil {
			f.freeze(v, x.Of.TaskID, x.request)
			return
		}
	}
}

// victim returns the map with the most slack that can give a copy its room, nil if there is none: even if it continues only after the copy, it ends
// before the original would. One that ends before a worker has started leaves its slot soon enough anyway.
func (f *freezes) victim(x *pendingCopy, original *Running) *Attempt {
	m := f.m
	took := m.tables[x.Of.Stage].took.mean()
	until := f.remaining(m.attempt(x.Of))
	var best *Attempt
	least := until
	for _, id := range m.tables[Map].active {
		a := m.attempt(id)
		s := &m.slots[a.Slot]
		left := f.remaining(a)
		switch {
		case id.TaskID == x.Of.TaskID || a.Copy || a.tried || a.stopping || s.frozen || m.task(id.TaskID).active > 1:
		case int(s.host) == original.Node || m.nodes[s.host].shunned() || x.Of.Stage == Reduce && s.memory < m.job.ReduceMemory:
		case left < m.starts.mean() || left+took >= until || left >= least || m.copies.asks(id.TaskID) != 0:
		case m.job.Speculator.Worth(x.Copy, m.now, *original, int(s.host)):
			best, least = a, left
		}
	}
	return best
}

// still reports whether an attempt is suspended, or is to.
func (f *freezes) still(id AttemptID) bool {
	m := f.m
	return m.slots[m.attempt(id).Slot].frozen || f.of(id) >= 0
}

// leader returns the attempt at a task that is expected to end first, of those that run beside a certain one; nil if there is none.
func (f *freezes) leader(of TaskID, beside AttemptID) (best *Attempt) {
	m := f.m
	t := m.task(of)
	for i := range t.attempts {
		a := &t.attempts[i]
		if a.ID != beside && a.State == Active && !m.slots[a.Slot].frozen && (best == nil || f.remaining(a) < f.remaining(best)) {
			best = a
		}
	}
	return best
}

// endless is how long an attempt takes that hasn't made any progress.
const endless time.Duration = 1 << 60

// remaining returns how long an attempt will still take if it continues as it did so far.
func (*freezes) remaining(a *Attempt) time.Duration {
	p := min(a.Progress(), 1)
	if !(p > 0) {
		return endless
	}
	elapsed := max(0, a.Seen-a.Begun-a.Paused)
	return min(time.Duration(float64(elapsed)*(1-p)/p), endless)
}

// suspended records that a slot is suspended, at any request.
func (f *freezes) suspended(id SlotID) {
	m := f.m
	s := m.slot(id)
	if s == nil || s.frozen {
		return
	}
	s.frozen, s.since = true, m.now
	m.nodes[s.host].frozen++
	m.reckon(s)
	countIdle(m)
}

// resumed records that a slot has resumed.
func (f *freezes) resumed(id SlotID) {
	m := f.m
	s := m.slot(id)
	if s == nil || !s.frozen {
		return
	}
	if since := s.since; s.heard {
		s.seen = m.now
	} else {
		s.seen += m.now - since // when it was granted, for its worker's clock
	}
	f.goOn(s)
	if s.busy {
		m.attempt(s.task).Seen = m.now
		m.cuts.resumed(s.task)
	}
	m.reckon(s)
	m.stirred = true
	countIdle(m)
}

// goOn notes that a slot isn't suspended any more, and for how long its attempt has.
func (f *freezes) goOn(s *slot) {
	m := f.m
	if !s.frozen {
		return
	}
	if s.busy {
		a := m.attempt(s.task)
		a.Paused += m.now - max(s.since, a.Begun)
	}
	s.frozen = false
	m.nodes[s.host].frozen--
}

// IsSuspended reports whether a slot's container is suspended.
func IsSuspended(m *Planner, id SlotID) bool {
	s := m.slot(id)
	return s != nil && s.frozen
}
