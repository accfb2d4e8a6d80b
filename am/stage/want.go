package stage

import "container/heap"

// wanted is how many tasks a slot could begin with now.
func (m *Machine) wanted() int {
	if m.over {
		return 0
	}
	n := m.tables[Map].count[waiting]
	if m.due {
		n += m.tables[Reduce].count[waiting]
	}
	return n
}

// free is the number of slots that could take a task, or are on their way.
func (m *Machine) free() int {
	n := m.idle[coming] + m.idle[able]
	if m.tables[Map].count[waiting] > 0 {
		n += m.idle[small]
	}
	return n
}

// adjust asks for containers for the tasks that wait, or takes back what isn't needed any more.
func (m *Machine) adjust() {
	n := max(0, m.wanted()-m.free()) - m.open
	for ; n < 0; n++ {
		id := m.leastNeeded()
		m.do(Withdraw{id})
		m.served(id)
	}
	for ; n > 0; n-- {
		t := m.unasked()
		if t == nil {
			return
		}
		w := Want{Request: m.ask(request{task: t.id, open: true}), Task: t.id}
		for _, h := range m.inputsOf(t) {
			w.Hosts = append(w.Hosts, m.nodes[h].name)
		}
		t.request = w.Request
		m.do(w)
	}
}

// unasked returns a task that waits and for which no container was asked for: reduces first, if they begin before the maps end.
func (m *Machine) unasked() *task {
	maps, reduces := &m.tables[Map], &m.tables[Reduce]
	if m.due && maps.redo == 0 {
		if t := reduces.firstOf(&reduces.unasked, unasked); t != nil {
			return t
		}
	}
	if t := maps.firstOf(&maps.unasked, unasked); t != nil || !m.due {
		return t
	}
	return reduces.firstOf(&reduces.unasked, unasked)
}

func (m *Machine) ask(r request) RequestID {
	id := RequestID(len(m.requests))
	m.requests = append(m.requests, r)
	if !r.copy {
		m.asked = append(m.asked, id)
		m.open++
	}
	return id
}

// leastNeeded returns an open request: the latest of one whose task doesn't wait any more, or else the latest.
func (m *Machine) leastNeeded() RequestID {
	for len(m.stale) > 0 {
		id := m.stale[len(m.stale)-1]
		m.stale = m.stale[:len(m.stale)-1]
		if r := &m.requests[id]; r.open && r.stale {
			return id
		}
	}
	for {
		id := m.asked[len(m.asked)-1]
		m.asked = m.asked[:len(m.asked)-1]
		if m.requests[id].open {
			return id
		}
	}
}

// served drops a request. Its task may have to ask again.
func (m *Machine) served(id RequestID) {
	r := &m.requests[id]
	r.open = false
	m.open--
	t := m.task(r.task)
	t.request = 0
	if t.phase == waiting {
		heap.Push(&m.tables[t.id.Stage].unasked, t.id.Index)
	}
}

// granted takes a container in, or gives it back if there is nothing to do for it.
func (m *Machine) granted(e Granted) {
	for int(e.Slot) >= len(m.slots) {
		m.slots = append(m.slots, slot{})
	}
	forCopy := false
	if id := e.Request; id > 0 && int(id) < len(m.requests) && m.requests[id].open {
		if forCopy = m.requests[id].copy; !forCopy {
			m.served(id)
		} else {
			m.requests[id].open = false
			forCopy = m.copyArrives(id, m.host(e.Host))
		}
	}
	h := m.host(e.Host)
	if m.over || m.nodes[h].bad || m.wanted() <= m.free() && !forCopy {
		m.do(GiveBack{Slot: e.Slot})
		return
	}
	m.admit(e.Slot, h, e.Memory)
	m.do(Start{e.Slot})
}
