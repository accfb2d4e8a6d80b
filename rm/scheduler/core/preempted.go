package core

import (
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// preempted is room on a node that the next call of Schedule offers to one application before others. In Fair queues a container is killed for
// a certain application; others below their fair share would take the room that it leaves (Hadoop: FairScheduler.assignPreemptedContainers).
type preempted struct {
	app  handle.App
	leaf bool // the others of its leaf may have it, too, such as room of suspended containers
	node handle.Node
	room records.Resource
	only *Demand // that gets it; nil: any of the application's
}

// OfferRoom offers room on a node to an application before others, until the next call of Schedule; leaf: to those of its leaf, in their order.
func (s *Core) OfferRoom(to handle.App, leaf bool, nh handle.Node, room records.Resource) {
	s.preempted = append(s.preempted, preempted{app: to, leaf: leaf, node: nh, room: room})
}

// Offer offers room that is free to one demand before others, with the next call of Schedule, and reports whether it may have that.
func (s *Core) Offer(d *Demand, nh handle.Node) bool {
	p := preempted{app: d.App, node: nh, room: d.Capability, only: d}
	if s.firstFor(&p) == nil {
		return false
	}
	s.preempted = append(s.preempted, p)
	return true
}

// assignPreempted gives preempted room to the applications that it was taken for, as far as limits of queues allow.
func (s *Core) assignPreempted() {
	for i := range s.preempted {
		p := &s.preempted[i]
		for d := s.firstFor(p); d != nil && !p.room.IsZero(); d = s.firstFor(p) {
			p.room = p.room.Sub(d.Capability).Max(records.Resource{})
			s.allocate(d.App, d, p.node, d.LocalityOn(&s.Nodes.At[p.node]))
		}
	}
	s.preempted = s.preempted[:0]
}

// firstFor returns the most urgent demand that room was taken for and that may have a container there now, nil if there is none.
func (s *Core) firstFor(p *preempted) (d *Demand) {
	if !p.leaf {
		return p.firstOf(s, p.app)
	}
	q, all := &s.Queues[s.Apps[p.app].Leaf], ^ranking.Mask(0)
	for h := s.FirstInLeaf(q, all, ranking.Nothing); h != ranking.Nothing && d == nil; h = s.FirstInLeaf(q, all, s.Apps[h].El) {
		d = p.firstOf(s, handle.App(h))
	}
	return d
}

func (p *preempted) firstOf(s *Core, h handle.App) *Demand {
	a, n := &s.Apps[h], &s.Nodes.At[p.node]
	for d := range s.Demands(a) {
		if a.Active && !d.Guest && (p.only == nil || p.only == d) && d.Pending > 0 && s.Nodes.HasRoom(n, &d.Size) && !a.Bars(d, n) &&
			(d.RelaxAny || d.LocalityOn(n) != OffSwitch) && s.BelowMaximum(a.Leaf, &d.Size) && (!p.leaf || s.HoldsBack(a, d).Policy == "") {
			return d
		}
	}
	return nil
}

// forgetPreempted forgets the room of an application or of a node.
func (s *Core) forgetPreempted(of func(*preempted) bool) {
	s.preempted = slices.DeleteFunc(s.preempted, func(p preempted) bool { return of(&p) })
}
