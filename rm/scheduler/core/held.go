package core

import (
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// A container has two amounts. Its claim is what its application, user and queues are charged (Holds). What is held is what it takes on
// its node now, and what the node is charged. Both are the same until a container is suspended or shrunk. As few containers are, what
// these hold stands in a table of its own, and the rest of the scheduler pays nothing for it.

// Held is what a live container takes on its node.
func (s *Core) Held(h handle.Container) records.Resource {
	if held, other := s.held[h]; other {
		return held
	}
	return *s.Holds(&s.Containers[h])
}

// SetHeld changes what a running container takes on its node, and reports whether it could. It may be anything up to the container's
// claim. More than now is refused where the node hasn't room for it; whether the node is open or reserved for another container
// doesn't matter, as the container is there already.
func (s *Core) SetHeld(h handle.Container, to records.Resource) bool {
	c := &s.Containers[h]
	if !c.Live() || c.Reserved() || !to.FitsIn(*s.Holds(c)) || !to.Max(records.Resource{}).FitsIn(to) {
		return false
	}
	n := &s.Nodes.At[c.Node]
	more := to.Sub(s.Held(h))
	free := s.Nodes.Free(n)
	if grows := s.Calc.Measure(more).Max(records.Resource{}); !grows.IsZero() && !s.Calc.Fits(&grows, &free) {
		return false
	}
	if to == *s.Holds(c) {
		delete(s.held, h)
	} else {
		s.held[h] = to
	}
	s.Recheck = true
	s.Nodes.Charge(n, &more, 0)
	s.NodeFreed(c.Node)
	return true
}
