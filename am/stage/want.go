package stage

import "container/heap"

// pool is what slots without a task, and requests, have in common that can stand in for each other: all of a job's or, where a
// slot is for one stage, a stage's.
type pool struct {
	idle  [classes]int
	asked []RequestID // open ones, the latest last; those that aren't open any more are dropped when they are met
	stale []RequestID // likewise, of tasks that don't wait any more
	open  int
}

// leastNeeded returns an open request: the latest of one whose task doesn't wait any more, or else the latest.
func (p *pool) leastNeeded(requests []request) RequestID {
	for len(p.stale) > 0 {
		id := p.stale[len(p.stale)-1]
		p.stale = p.stale[:len(p.stale)-1]
		if r := &requests[id]; r.open && r.stale {
			return id
		}
	}
	for {
		id := p.asked[len(p.asked)-1]
		p.asked = p.asked[:len(p.asked)-1]
		if requests[id].open {
			return id
		}
	}
}

// poolOf returns the number of a stage's pool.
func (m *Planner) poolOf(s Stage) int {
	if m.job.PerTask {
		return int(s)
	}
	return 0
}

// wanted returns how many tasks the slots of a pool could begin with now.
func (m *Planner) wanted(pool int) (n int) {
	if m.over {
		return 0
	}
	if pool == m.poolOf(Map) && !roomIsForReduces(m) {
		n += m.tables[Map].count[waiting]
	}
	if pool == m.poolOf(Reduce) {
		n += mayBegin(m)
	}
	return n
}

// mayBegin returns how many of the reduces that wait may begin now.
func mayBegin(m *Planner) int {
	if !m.due || m.relieved && !roomIsForReduces(m) { // a reduce would take the room again, where it needs less than a map
		return 0
	}
	b := &m.tables[Reduce]
	n := b.count[waiting]
	if l, limits := m.job.Starter.(Limiter); limits && n > 0 && m.tables[Map].count[waiting] > 0 {
		n = min(n, max(0, l.Most(m.Facts())-b.count[running]))
	}
	return n
}

// free returns the number of a pool's slots that could take a task, or are on their way.
func (m *Planner) free(pool int) int {
	idle := &m.pools[pool].idle
	n := idle[coming] + idle[able]
	if pool == m.poolOf(Map) && m.tables[Map].count[waiting] > 0 && !roomIsForReduces(m) {
		n += idle[small]
	}
	return n
}

// adjust asks for containers for the tasks that wait, or takes back what isn't needed any more.
func (m *Planner) adjust() {
	for i := range m.pools {
		p := &m.pools[i]
		n := max(0, m.wanted(i)-m.free(i)) - p.open
		for ; n < 0; n++ {
			id := p.leastNeeded(m.requests)
			m.do(Withdraw{id})
			m.served(id)
		}
		for ; n > 0; n-- {
			t := m.unasked(i)
			if t == nil {
				break
			}
			w := Want{Request: m.ask(request{task: t.id, open: true}), Task: t.id}
			for _, h := range m.inputsOf(t) {
				w.Hosts = append(w.Hosts, m.nodes[h].name)
			}
			t.request = w.Request
			m.do(w)
		}
	}
}

// unasked returns a task that waits and for which no container was asked for: reduces first, if they begin before the maps end.
func (m *Planner) unasked(pool int) *task {
	maps, reduces := &m.tables[Map], &m.tables[Reduce]
	ofMaps, ofReduces := pool == m.poolOf(Map), pool == m.poolOf(Reduce) && m.asking[Reduce] < mayBegin(m)
	if ofReduces && (!ofMaps || maps.redo == 0 || roomIsForReduces(m)) {
		if t := reduces.firstOf(&reduces.unasked, unasked); t != nil {
			return t
		}
	}
	if ofMaps {
		if t := maps.firstOf(&maps.unasked, unasked); t != nil {
			return t
		}
	}
	if ofReduces {
		return reduces.firstOf(&reduces.unasked, unasked)
	}
	return nil
}

func (m *Planner) ask(r request) RequestID {
	id := RequestID(len(m.requests))
	m.requests = append(m.requests, r)
	if !r.copy {
		p := &m.pools[m.poolOf(r.task.Stage)]
		p.asked = append(p.asked, id)
		p.open++
		m.asking[r.task.Stage]++
	}
	return id
}

// served drops a request. Its task may need to ask again.
func (m *Planner) served(id RequestID) {
	r := &m.requests[id]
	r.open = false
	m.pools[m.poolOf(r.task.Stage)].open--
	m.asking[r.task.Stage]--
	t := m.task(r.task)
	t.request = 0
	if t.phase == waiting {
		heap.Push(&m.tables[t.id.Stage].unasked, t.id.Index)
	}
}

// granted takes a container in, or gives it back if there is nothing to do for it.
func (m *Planner) granted(e Granted) {
	for int(e.Slot) >= len(m.slots) {
		m.slots = append(m.slots, slot{})
	}
	forCopy, asked := false, Map
	if id := e.Request; id > 0 && int(id) < len(m.requests) {
		asked = m.requests[id].task.Stage
		switch r := &m.requests[id]; {
		case !r.open:
		case r.copy:
			r.open = false
			forCopy = m.copies.arrives(id, e.Slot, m.host(e.Host))
		default:
			m.served(id)
		}
	}
	h, pool := m.host(e.Host), m.poolOf(asked)
	if m.over || m.nodes[h].shunned() || m.wanted(pool) <= m.free(pool) && !forCopy {
		m.do(GiveBack{Slot: e.Slot})
		return
	}
	m.admit(e.Slot, h, e.Memory, asked)
	if forCopy {
		m.freezes.granted(e.Slot, m.requests[e.Request].task)
		m.reckon(&m.slots[e.Slot])
	}
	m.do(Start{e.Slot})
}
