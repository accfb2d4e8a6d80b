package stage

import "slices"

// pendingCopy is a copy that a Speculator has proposed, and that has no slot yet.
type pendingCopy struct {
	Copy
	request RequestID // 0: none is open
}

// speculate drops copies that aren't worth while any more, and has new ones made.
func (m *Machine) speculate() {
	p := m.job.Speculator
	if p == nil {
		return
	}
	for i := 0; i < len(m.copies); i++ {
		if r, ok := m.original(m.copies[i].Of); !ok || !p.Worth(m.copies[i].Copy, m.now, r, -1) {
			m.drop(i)
			i--
		}
	}
	if m.over {
		return
	}
	for _, c := range p.Round(m.look()) {
		pending := slices.ContainsFunc(m.copies, func(o pendingCopy) bool { return o.Of.TaskID == c.Of.TaskID })
		if _, ok := m.original(c.Of); ok && !pending {
			m.copies = append(m.copies, pendingCopy{Copy: c})
			m.stirred = true // a slot that waits may take it
		}
	}
	if m.stirred {
		m.stirred = false
		m.match()
	}
	for i := range m.copies {
		if c := &m.copies[i]; c.request == 0 {
			m.wantCopy(c)
		}
	}
}

// look gathers what runs.
func (m *Machine) look() *Round {
	r := &m.round
	r.Now, r.Running, r.Slots = m.now, r.Running[:0], r.Slots[:0]
	for s := range m.tables {
		b := &m.tables[s]
		r.Waiting[s] = b.count[waiting]
		for _, id := range b.active {
			r.Running = append(r.Running, m.running(id))
		}
	}
	for i := range m.nodes {
		r.Slots = append(r.Slots, m.nodes[i].most)
	}
	return r
}

func (m *Machine) running(id AttemptID) Running {
	a, maps := m.attempt(id), &m.tables[Map]
	return Running{
		ID: id, Node: int(m.slots[a.Slot].host), Begun: a.Begun, Paused: a.Paused, Progress: a.Progress(), Attempts: m.task(id.TaskID).active,
		Waits: id.Stage == Reduce && a.Phase == Shuffling && maps.count[done] < len(maps.all),
	}
}

// original returns an attempt that may have a copy: it runs, and no other one of its task does.
func (m *Machine) original(id AttemptID) (Running, bool) {
	if int(id.Stage) >= stages || id.Index < 0 || id.Index >= len(m.tables[id.Stage].all) {
		return Running{}, false
	}
	t := m.task(id.TaskID)
	if id.Number < 0 || id.Number >= len(t.attempts) || t.attempts[id.Number].State != Active || t.active != 1 {
		return Running{}, false
	}
	return m.running(id), true
}

// drop forgets a copy that is pending.
func (m *Machine) drop(i int) {
	if id := m.copies[i].request; id != 0 && m.requests[id].open {
		m.requests[id].open = false
		m.do(Withdraw{id})
	}
	m.copies = slices.Delete(m.copies, i, i+1)
}

// wantCopy asks for a container on the hosts where a copy is worth while, if such are known.
func (m *Machine) wantCopy(c *pendingCopy) {
	r, ok := m.original(c.Of)
	if !ok {
		return
	}
	w := Want{Task: c.Of.TaskID, Strict: true}
	for i := range m.nodes {
		if n := &m.nodes[i]; n.most > 0 && !n.bad && m.job.Speculator.Worth(c.Copy, m.now, r, i) {
			w.Hosts = append(w.Hosts, n.name)
		}
	}
	if len(w.Hosts) == 0 {
		return
	}
	c.request = m.ask(request{task: c.Of.TaskID, open: true, copy: true})
	w.Request = c.request
	m.do(w)
}

// copyTo gives a slot that waits a copy, if one is worth while there.
func (m *Machine) copyTo(id SlotID) bool {
	s := &m.slots[id]
	if m.over || m.nodes[s.host].bad {
		return false
	}
	for i := range m.copies {
		c := m.copies[i]
		r, ok := m.original(c.Of)
		if !ok || c.Of.Stage == Reduce && s.memory < m.job.ReduceMemory || !m.job.Speculator.Worth(c.Copy, m.now, r, int(s.host)) {
			continue
		}
		m.drop(i)
		m.launch(id, m.task(c.Of.TaskID), true)
		return true
	}
	return false
}

// copyArrives takes in that the request for a copy was served, and reports whether the copy is still worth while there.
func (m *Machine) copyArrives(id RequestID, h host) bool {
	for i := range m.copies {
		if c := &m.copies[i]; c.request == id {
			c.request = 0
			r, ok := m.original(c.Of)
			return ok && m.job.Speculator.Worth(c.Copy, m.now, r, int(h))
		}
	}
	return false
}
