package core

import (
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// preempted is room on a node that the next call of Schedule offers to one application before others. In Fair queues a container is killed for
// a certain application; others below their fair share would take the room that it leaves (Hadoop: FairScheduler.assignPreemptedContainers).
type preempted struct {
	app  handle.App
	node handle.Node
	room records.Resource
	only *Demand // that gets it; nil: any of the application's
}

// PreemptFor has the room of a container, once it is freed, go to an application before others, until the next call of Schedule.
func (s *Core) PreemptFor(h handle.Container, to handle.App) {
	if c := &s.Containers[h]; c.Live() && !c.Reserved() && s.Apps[to].Live {
		s.preempted = append(s.preempted, preempted{app: to, node: c.Node, room: s.Held(h)})
	}
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
			s.allocate(p.app, d, p.node, d.Level(&s.Nodes.At[p.node]))
		}
	}
	s.preempted = s.preempted[:0]
}

// firstFor is the most urgent demand that room was taken for and that may have a container there now, nil if there is none.
func (s *Core) firstFor(p *preempted) *Demand {
	a, n := &s.Apps[p.app], &s.Nodes.At[p.node]
	for d := range s.Demands(a) {
		if a.Active && (p.only == nil || p.only == d) && d.Pending > 0 && s.Nodes.HasRoom(n, &d.Size) && !a.Bars(d, n) &&
			(d.RelaxAny || d.Level(n) != OffSwitch) && s.BelowMaximum(a.Leaf, &d.Size) {
			return d
		}
	}
	return nil
}

// forgetPreempted forgets the room of an application or of a node.
func (s *Core) forgetPreempted(of func(*preempted) bool) {
	s.preempted = slices.DeleteFunc(s.preempted, func(p preempted) bool { return of(&p) })
}
