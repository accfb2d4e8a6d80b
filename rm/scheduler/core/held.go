package core

import (
	"heddle/internal/invariants"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// A container has two amounts. Its claim (Holds) is what its application and user are charged. The held amount is what it takes on
// its node now, and what the node and its queues are charged: a queue from which something was taken is below its share then, and
// isn't punished for its claims as well (BIG-C). Both are the same until a container is suspended or shrunk. As few containers are,
// what these hold stands in a table of its own, and the rest of the scheduler pays nothing for it.

// Held returns what a live container takes on its node.
func (s *Core) Held(h handle.Container) records.Resource {
	if held, other := s.held[h]; other {
		return held
	}
	return *s.Holds(&s.Containers[h])
}

// Lowered returns the containers that hold less than they claim. It isn't to be changed.
func (s *Core) Lowered() map[handle.Container]records.Resource { return s.held }

// SetHeld changes what a running container takes on its node, and reports whether it could. It may be anything up to the container's
// claim. More than now is refused where the node hasn't room for it, or a queue would get above its maximum. Whether the node is open
// or reserved for another container doesn't matter, as the container is there already.
func (s *Core) SetHeld(h handle.Container, to records.Resource) bool {
	if !s.CanHold(h, to) {
		return false
	}
	s.hold(h, to)
	return true
}

// CanHold reports whether SetHeld would change what a container takes on its node.
func (s *Core) CanHold(h handle.Container, to records.Resource) bool {
	if !s.mayHold(h, &to) {
		return false
	}
	c := &s.Containers[h]
	more := to.Sub(s.Held(h))
	grows := s.Calc.Measure(more).Max(records.Resource{})
	if grows.IsZero() {
		return true
	}
	free := s.Nodes.Free(&s.Nodes.At[c.Node])
	return s.Calc.Fits(&grows, &free) && s.belowBounds(s.Apps[c.App].Leaf, &grows)
}

// belowBounds reports whether a queue and those above it can have so much more, of those whose maximum is less than all. The others
// have room where a node has.
func (s *Core) belowBounds(h int32, size *records.Resource) bool {
	for ; h != ranking.Nothing; h = s.Queues[h].Parent {
		if q := &s.Queues[h]; q.Bounded {
			left := q.Maximum
			if s.Calc.Sub(&left, &q.Used); !s.Calc.Fits(size, &left) {
				return false
			}
		}
	}
	return true
}

// NoteHeld is SetHeld for what a node reports: a container takes so much on its node, whether there is room or not. It reports whether
// the amount is possible.
func (s *Core) NoteHeld(h handle.Container, to records.Resource) bool {
	if !s.mayHold(h, &to) {
		return false
	}
	s.hold(h, to)
	return true
}

// mayHold reports whether a container runs, and its claim is as large as an amount.
func (s *Core) mayHold(h handle.Container, r *records.Resource) bool {
	c := &s.Containers[h]
	return c.Live() && !c.Reserved() && r.FitsIn(*s.Holds(c)) && r.Max(records.Resource{}) == *r
}

func (s *Core) hold(h handle.Container, to records.Resource) {
	c := &s.Containers[h]
	more := to.Sub(s.Held(h))
	s.withhold(h, to)
	s.Recheck = true
	s.Nodes.Charge(&s.Nodes.At[c.Node], &more, 0)
	s.chargeQueues(s.Apps[c.App].Leaf, &more, 0)
	s.NodeFreed(c.Node)
	s.unparkLimited()
	s.settle(c.App)
}

// withhold puts on record what a container takes on its node. The charges are the caller's business.
func (s *Core) withhold(h handle.Container, to records.Resource) {
	c := &s.Containers[h]
	lacks := s.withheld[c.App].Add(s.Held(h)).Sub(to)
	if lacks.IsZero() {
		delete(s.withheld, c.App)
	} else {
		s.withheld[c.App] = lacks
	}
	if to == *s.Holds(c) {
		delete(s.held, h)
	} else {
		s.held[h] = to
	}
	if invariants.Checked && len(s.held) == 0 && len(s.withheld) > 0 {
		panic("scheduler: applications lack something, and no container does")
	}
}

// Withheld returns what the containers of a queue lack of their claims together, as they are suspended or shrunk.
func (s *Core) Withheld(queue int32) (sum records.Resource) {
	for h, lacks := range s.withheld {
		for q := s.Apps[h].Leaf; q != ranking.Nothing; q = s.Queues[q].Parent {
			if q == queue {
				sum = sum.Add(lacks)
			}
		}
	}
	return sum
}

// Regain gives a container as much of its claim again as its node has free, and reports whether it takes all of it then.
func (s *Core) Regain(h handle.Container) bool {
	c := &s.Containers[h]
	claim, held := *s.Holds(c), s.Held(h)
	if s.SetHeld(h, claim) {
		return true
	}
	part := held.Add(claim.Sub(held).Min(s.Nodes.Free(&s.Nodes.At[c.Node]).Max(records.Resource{})))
	return part != held && s.SetHeld(h, part) && part == claim
}
