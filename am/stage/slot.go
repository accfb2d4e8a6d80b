package stage

import (
	"slices"
	"time"
)

// host is the number of a host.
type host int32

// slot is a container that the job has, or had.
type slot struct {
	host    host
	memory  int64
	known   bool // it was granted, and isn't gone
	heard   bool // its worker has said something
	overdue bool // it should have, by what others took
	ready   bool // its worker waits for a task
	idle    bool // it has no task, and is going to say Ready, or has
	task    AttemptID
	busy    bool // with task
	outputs []AttemptID
	stage   Stage // that it was asked for
	spent   bool  // it has had the one task that it may have
	class   class
	pool    int
	seen    time.Duration
	frozen  bool          // it is suspended
	since   time.Duration // when that began
	lent    bool          // it has the room of one that is suspended, for a copy alone
}

// class tells which tasks a slot can do.
type class uint8

const (
	busy   class = iota // it has a task, or is to get none
	coming              // it hasn't said a word yet
	able                // of all tasks
	small               // of maps only
	classes
)

func (m *Planner) classify(s *slot) class {
	switch {
	case !s.idle || s.spent || s.overdue || s.frozen || s.lent || m.nodes[s.host].shunned():
		return busy
	case !s.heard:
		return coming
	case s.memory >= m.job.ReduceMemory:
		return able
	}
	return small
}

// reckon notes what a slot can do now.
func (m *Planner) reckon(s *slot) {
	m.pools[s.pool].idle[s.class]--
	s.class, s.pool = m.classify(s), m.poolOf(s.stage)
	m.pools[s.pool].idle[s.class]++
}

// devote gives a slot that has had its task another one, of a stage.
func (m *Planner) devote(id SlotID, to Stage) {
	s := &m.slots[id]
	s.stage, s.spent = to, false
	if s.known {
		m.reckon(s)
	}
}

func (m *Planner) admit(id SlotID, h host, memory int64, asked Stage) {
	s := &m.slots[id]
	*s = slot{host: h, memory: memory, known: true, idle: true, seen: m.now, stage: asked, pool: m.poolOf(asked)}
	m.live = append(m.live, id)
	n := &m.nodes[h]
	if n.slots++; n.slots == 1 {
		m.hosts++
	}
	n.most = max(n.most, n.slots-n.frozen)
	s.class = m.classify(s)
	m.pools[s.pool].idle[s.class]++
}

// remove forgets a slot, but for what it was doing.
func (m *Planner) remove(id SlotID) {
	s := &m.slots[id]
	s.known = false
	m.freezes.goOn(s)
	m.freezes.returned(id)
	if i, ok := slices.BinarySearch(m.live, id); ok {
		m.live = slices.Delete(m.live, i, i+1)
	} else {
		m.live = slices.DeleteFunc(m.live, func(o SlotID) bool { return o == id })
	}
	n := &m.nodes[s.host]
	if n.slots--; n.slots == 0 {
		m.hosts--
	}
	m.pools[s.pool].idle[s.class]--
}

// leave gives a slot up. why is the failure of its task, which counts if the slot or its node is to blame.
func (m *Planner) leave(id SlotID, why error, fault bool) {
	m.remove(id)
	if m.over {
		return
	}
	s := &m.slots[id]
	if s.busy {
		m.fail(s.task, why, fault)
	} else if fault && !s.heard && !s.overdue {
		m.strike(s.host)
	}
	if len(s.outputs) > 0 {
		m.deserted = append(m.deserted, id)
	}
	if !m.fetched() {
		m.missDeserted()
	}
	m.stirred = true
}

// bury gives up slots that have been silent for too long: their processes, or their machines, are frozen.
func (m *Planner) bury() {
	limit := m.job.Silence
	if limit <= 0 || m.over {
		return
	}
	for i := 0; i < len(m.live); i++ {
		id := m.live[i]
		s := &m.slots[id]
		silent := m.now - s.seen
		if s.frozen || silent <= limit || !s.heard && silent <= 2*limit { // files may need to come first
			continue
		}
		m.do(GiveBack{Slot: id, Lost: true})
		m.leave(id, &SilenceError{id, limit}, true)
		i--
		if m.over {
			return
		}
	}
}

// Bounds of how long a worker may take to start, where slow tasks are copied: several times as long as others took, and not less than that.
const (
	startTimes = 3
	startLeast = 10 * time.Second
)

// overtake gives the tasks of slots whose workers don't start to others, while others' workers do: their nodes may be gone
// unnoticed. Such a slot has no attempt that could be copied.
func (m *Planner) overtake() {
	if m.job.Speculator == nil || m.over || m.starts.n == 0 {
		return
	}
	limit := max(startLeast, startTimes*m.starts.mean())
	for _, id := range m.live {
		if s := &m.slots[id]; !s.heard && !s.overdue && !s.frozen && m.now-s.seen >= limit {
			s.overdue = true
			m.reckon(s)
			m.strike(s.host)
		}
	}
}

// node is how a host has behaved.
type node struct {
	name       string
	slots      int
	most       int // slots at once, without those that were suspended
	frozen     int // slots
	strikes    int // tasks that have failed there
	bad        bool
	away       bool        // nothing there answers
	speedClass int         // 0: it isn't known
	outputs    []AttemptID // that it serves
}

// nodeLost records that a node is lost.
func (m *Planner) nodeLost(e NodeLost) {
	n := &m.nodes[m.host(e.Host)]
	outputs := n.outputs
	n.outputs = nil
	for _, o := range outputs {
		m.lose(o)
	}
}

// host returns the number of a host.
func (m *Planner) host(name string) host {
	h, ok := m.names[name]
	if !ok {
		h = host(len(m.nodes))
		m.names[name] = h
		m.nodes = append(m.nodes, node{name: name})
	}
	return h
}

// strike counts a failure of a host's. A host with several isn't used any more, before a task has failed there as often as
// it may (Hadoop: mapreduce.job.maxtaskfailures.per.tracker). At least half of the cluster stays in use.
func (m *Planner) strike(h host) {
	n := &m.nodes[h]
	n.strikes++
	limit := max(1, min(m.job.NodeFailures, m.job.Tries[Map]-1, m.job.Tries[Reduce]-1))
	if n.strikes < limit || n.bad || m.forgiven || m.bad >= m.clusterNodes/2 {
		return
	}
	n.bad = true
	m.bad++
	m.do(Avoid{Host: n.name, Failures: n.strikes})
	for _, id := range m.live {
		if s := &m.slots[id]; s.host == h {
			m.reckon(s)
		}
	}
	m.stirred = true
}

// forgiving is how long nothing may run for want of nodes that haven't failed.
const forgiving = 30 * time.Second

// forgive takes bad nodes into use again, once and for all, if nothing runs without them.
func (m *Planner) forgive() {
	free := 0
	for p := range m.pools {
		free += m.pools[p].idle[coming] + m.pools[p].idle[able] + m.pools[p].idle[small]
	}
	if m.over || m.bad == 0 || m.tables[Map].count[running]+m.tables[Reduce].count[running]+free > 0 {
		m.barren = never
		return
	}
	if m.barren == never {
		m.barren = m.now
	}
	if m.now-m.barren < forgiving {
		return
	}
	var hosts []string
	for i := range m.nodes {
		if m.nodes[i].bad {
			m.nodes[i].bad = false
			if !m.nodes[i].away {
				hosts = append(hosts, m.nodes[i].name)
			}
		}
	}
	slices.Sort(hosts)
	m.forgiven, m.bad = true, 0
	if len(hosts) > 0 {
		m.do(Forgive{Hosts: hosts})
	}
	for _, id := range m.live {
		m.reckon(&m.slots[id])
	}
	m.stirred = true
}
