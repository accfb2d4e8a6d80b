package probes

import (
	"slices"

	"heddle/am/sched"
	"heddle/yarn/wire"
)

// Withdraw tells of nodes that take no probes any more. Running tasks may end there, as long as the node is connected; waiting ones run elsewhere.
func (s *Scheduler) Withdraw(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		n := s.of[name]
		if n == nil || n.cancel == nil || n.leaves {
			continue
		}
		if len(n.attempts) == 0 {
			n.hangUp()
			continue
		}
		n.leaves = true
		n.retreat()
	}
}

// hangUp ends the dialogue with a node, for good. The Scheduler's lock is held.
func (n *node) hangUp() {
	n.cancel()
	n.cancel, n.leaves = nil, false
}

// retreat takes back what waits at a node. The Scheduler's lock is held.
func (n *node) retreat() {
	s := n.s
	s.up = slices.DeleteFunc(s.up, func(x sched.Node) bool { return x == n.at })
	s.setNodes()
	unanswered := n.unanswered
	n.unanswered = map[sched.ID]int{}
	for id := range n.probed {
		n.unprobed(id)
		n.say(&wire.Drop{Job: uint64(id)})
	}
	for ticket := range n.bids {
		n.say(&wire.NoTask{ID: ticket})
	}
	clear(n.bids)
	s.sched.Unbid(n.at)
	for id, count := range unanswered {
		for range count {
			s.answered(s.jobs[id], n, false)
		}
	}
	for id := range s.jobs {
		s.sched.GaveBack(id, n.at, 1<<30)
	}
}
