package stage

import (
	"slices"
	"time"
)

// ready records that a slot's worker wants a task.
func (m *Planner) ready(id SlotID) {
	s := m.slot(id)
	if s == nil {
		return
	}
	if !s.heard {
		m.starts.add(m.now - s.seen)
		s.heard, s.overdue = true, false
		m.useless = 0
	}
	s.seen = m.now
	if s.busy && !m.over {
		return // it hasn't got the answer
	}
	s.idle, s.ready = true, true
	m.reckon(s)
	m.serve(id)
}

// serve gives a slot whose worker waits a task, or lets it go.
func (m *Planner) serve(id SlotID) {
	s := &m.slots[id]
	if !s.lent {
		if t := m.pick(s); t != nil {
			m.launch(id, t, false)
			return
		}
	}
	if m.copies.takenBy(id) {
		return
	}
	if m.over || s.lent || m.dispensable(s) {
		m.remove(id)
		if len(s.outputs) > 0 && !m.over {
			m.deserted = append(m.deserted, id)
		}
		m.do(GiveBack{Slot: id})
	}
}

// match finds tasks for all waiting slots.
func (m *Planner) match() {
	for i := 0; i < len(m.live); i++ {
		id := m.live[i]
		if s := &m.slots[id]; s.ready {
			if m.serve(id); !s.known {
				i--
			}
		}
	}
}

// elsewhere is how long a task that avoids hosts waits for a slot on another one, where there are such: what is missing on a node where it has
// failed, or broken, is so the next time as well.
const elsewhere = 3 * time.Second

// may reports whether a slot may have a task that waits.
func (m *Planner) may(s *slot, t *task) bool {
	if !slices.Contains(t.avoid, s.host) || m.now-t.avoids >= elsewhere {
		return true
	}
	others := m.hosts
	for _, h := range t.avoid {
		if m.nodes[h].slots > 0 {
			others--
		}
	}
	return others == 0
}

// pick returns a task for a slot: a map whose input is on its host, another one, or a reduce.
func (m *Planner) pick(s *slot) *task {
	if m.over || s.spent || s.frozen || m.nodes[s.host].shunned() {
		return nil
	}
	may := func(t *task) bool { return m.may(s, t) }
	maps, reduces := &m.tables[Map], &m.tables[Reduce]
	fits := m.due && s.memory >= m.job.ReduceMemory
	if m.job.PerTask {
		switch {
		case s.stage == Map:
			return maps.next(s.host, may)
		case fits:
			return reduces.next(s.host, may)
		}
		return nil
	}
	// Once reduces begin, all of them do in a row, or as many as the rule allows. Maps that must be repeated go first, as all reduces wait
	// for them; and at least one slot continues with maps.
	if fits && maps.redo == 0 && maps.count[waiting] > 0 && maps.count[running] > 0 && mayBegin(m) > 0 {
		if t := reduces.next(s.host, may); t != nil {
			return t
		}
	}
	if t := maps.next(s.host, may); t != nil || !fits {
		return t
	}
	return reduces.next(s.host, may)
}

// dispensable reports whether a slot without a task can go: nothing waits for it, and its outputs aren't needed.
func (m *Planner) dispensable(s *slot) bool {
	if len(s.outputs) > 0 && !m.fetched() {
		return false
	}
	if s.spent || (m.job.PerTask || m.job.NodesServe) && m.wanted(s.pool) == 0 {
		return true
	}
	return m.nodes[s.host].shunned() || m.tables[Map].count[waiting] == 0 &&
		(m.tables[Reduce].count[waiting] == 0 || s.memory < m.job.ReduceMemory)
}

// fetched reports whether the outputs of maps are no longer needed: all reduces have them, and none is worth a copy, which would need
// them again. Where a reduce has failed, others may as well.
func (m *Planner) fetched() bool {
	return allFetched(m) && (m.job.Speculator == nil || m.copies.spare)
}

// allFetched reports whether all reduces have the outputs of all maps, and none has failed.
func allFetched(m *Planner) bool {
	maps, reduces := &m.tables[Map], &m.tables[Reduce]
	return maps.count[done] == len(maps.all) && reduces.count[waiting] == 0 && m.fetching == 0 && reduces.failed == 0
}

// launch begins a task in a slot.
func (m *Planner) launch(id SlotID, t *task, copied bool) {
	s := &m.slots[id]
	b := &m.tables[t.id.Stage]
	if !copied {
		m.shift(t, running)
		m.copies.young++
	}
	a := Attempt{
		ID: AttemptID{t.id, len(t.attempts)}, Slot: id, Copy: copied, Begun: m.now, Seen: m.now,
	}
	if t.id.Stage == Reduce {
		a.Phase = Shuffling
		m.fetching++
	}
	t.attempts = append(t.attempts, a)
	t.active++
	b.active = append(b.active, a.ID)
	s.task, s.busy, s.ready, s.idle, s.spent = a.ID, true, false, false, m.job.PerTask || s.lent
	m.reckon(s)
	m.do(Launch{Slot: id, Attempt: a.ID, Copy: copied})
}

// part separates an attempt that is over from its slot. The slot reports its next step itself.
func (m *Planner) part(a *Attempt, as State) {
	t := m.task(a.ID.TaskID)
	b := &m.tables[a.ID.Stage]
	m.notePhase(a, Reducing)
	a.State, a.Ended, a.blamed = as, m.now, nil
	t.active--
	b.active = slices.DeleteFunc(b.active, func(o AttemptID) bool { return o == a.ID })
	m.released++
	s := &m.slots[a.Slot]
	if s.frozen {
		a.Paused += m.now - max(s.since, a.Begun)
	}
	s.busy = false
	m.freezes.parted(a.ID)
	if s.known {
		s.idle = as != Cancelled
		m.reckon(s)
	}
}

// cancel ends an attempt that runs. A slot that is suspended can't hear of that, and is given up.
func (m *Planner) cancel(id AttemptID, why Reason) {
	a := m.attempt(id)
	deaf := m.slots[a.Slot].frozen
	if deaf {
		m.freezes.forget(id)
	}
	m.part(a, Cancelled)
	m.do(Cancel{Slot: a.Slot, Attempt: id, Why: why})
	if deaf {
		m.do(GiveBack{Slot: a.Slot, Lost: true})
		m.leave(a.Slot, nil, false)
	}
}

// shift brings a task into another phase.
func (m *Planner) shift(t *task, to phase) {
	b := &m.tables[t.id.Stage]
	if t.phase == waiting && t.again() {
		b.redo--
	}
	b.count[t.phase]--
	b.count[to]++
	t.phase = to
	t.blamed = t.blamed[:0]
	switch to {
	case waiting:
		b.redo++
		b.advance(t, 0)
		m.requests[t.request].stale = false
		b.await(t, m.inputsOf(t))
		m.stirred = true
	case running:
		b.advance(t, 0)
		if t.request != 0 {
			m.requests[t.request].stale = true
			p := &m.pools[m.poolOf(t.id.Stage)]
			p.stale = append(p.stale, t.request)
		}
	case done:
		b.advance(t, millionths)
	}
}

// progressed records the progress of an attempt.
func (m *Planner) progressed(e Progressed) {
	s := m.slot(e.Slot)
	if s == nil {
		return
	}
	s.seen = m.now
	if m.over || !s.busy || s.task != e.Attempt {
		return
	}
	t, a := m.task(e.Attempt.TaskID), m.attempt(e.Attempt)
	m.notePhase(a, e.Phase)
	a.Seen, a.Done, a.Total = m.now, e.Done, e.Total
	best := a.millionths()
	if t.active > 1 {
		for i := range t.attempts {
			if o := &t.attempts[i]; o.State == Active {
				best = max(best, o.millionths())
			}
		}
	}
	m.tables[t.id.Stage].advance(t, best)
}

// notePhase notes what an attempt does now.
func (m *Planner) notePhase(a *Attempt, p Phase) {
	if a.ID.Stage == Map {
		return
	}
	if a.Phase == Shuffling {
		m.fetching--
	}
	if p > Shuffling && a.Fetched == 0 {
		a.Fetched = m.now
	}
	if a.Phase = p; p == Shuffling {
		m.fetching++
	}
}

// outputsAt returns the outputs of maps that are where an attempt's is: its slot's, or its node's.
func (m *Planner) outputsAt(a *Attempt) *[]AttemptID {
	s := &m.slots[a.Slot]
	if a.onNode {
		return &m.nodes[s.host].outputs
	}
	return &s.outputs
}

// finished records that an attempt is done: the first of a task's wins.
func (m *Planner) finished(e Finished) {
	s := m.slot(e.Slot)
	if s == nil {
		return
	}
	s.seen = m.now
	if m.over || !s.busy || s.task != e.Attempt {
		return
	}
	t, a := m.task(e.Attempt.TaskID), m.attempt(e.Attempt)
	b := &m.tables[t.id.Stage]
	a.Done, a.OutBytes = a.Total, max(0, e.OutBytes)
	m.part(a, Succeeded)
	took := max(0, a.Ended-a.Begun-a.Paused)
	whole := took // what a task as it was submitted takes
	if t.share < millionths {
		whole = time.Duration(float64(took) * millionths / float64(t.share))
	}
	tells := t.share >= millionths/2 // most of the time of a little work is that of beginning it
	if tells {
		b.took.add(whole)
	}
	b.outBytes += a.OutBytes
	t.winner = a.ID.Number
	m.shift(t, done)
	m.do(Accept{Slot: e.Slot, Attempt: e.Attempt})
	if t.id.Stage == Map && len(m.tables[Reduce].all) > 0 {
		a.onNode = m.job.NodesServe && !e.Held
		m.holds = m.holds || !a.onNode
		at := m.outputsAt(a)
		*at = append(*at, e.Attempt)
	}
	for i := range t.attempts {
		if t.attempts[i].State == Active {
			m.cancel(t.attempts[i].ID, Overtaken)
		}
	}
	m.copies.dropOf(t.id)
	if m.job.Speculator != nil && tells {
		m.job.Speculator.Ended(t.id.Stage, int(s.host), whole)
	}
}
