package stage

import (
	"fmt"
	"slices"
)

// away is when nothing on a host answers any more, though the ResourceManager hasn't said that it is lost: YARN waits for ten minutes. Its
// work there is given up, and done by others. If the host was only cut off, what its workers say later isn't taken.

// UnreachableError ends attempts whose host is away.
type UnreachableError struct{ Host string }

func (e *UnreachableError) Error() string { return fmt.Sprintf("nothing on %s answers", e.Host) }

// shunned reports whether a node gets no tasks.
func (n *node) shunned() bool { return n.bad || n.away }

// unreachable records that a host is away.
func unreachable(m *Planner, e Unreachable) {
	n := &m.nodes[m.host(e.Host)]
	if n.away || m.over {
		return
	}
	n.away = true
	m.do(Avoid{Host: e.Host})
	for _, id := range slices.Clone(m.live) {
		if s := &m.slots[id]; s.known && m.nodes[s.host].name == e.Host && !m.over {
			m.do(GiveBack{Slot: id, Lost: true})
			m.leave(id, &UnreachableError{e.Host}, false)
		}
	}
	m.nodeLost(NodeLost(e))
	m.stirred = true
}

// reachable records that a host that was away answers.
func reachable(m *Planner, e Reachable) {
	n := &m.nodes[m.host(e.Host)]
	if !n.away {
		return
	}
	n.away = false
	if !n.bad {
		m.do(Forgive{Hosts: []string{e.Host}, Answers: true})
	}
	m.stirred = true
}
