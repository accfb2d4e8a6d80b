package core

import (
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// In Fair queues a container is killed for a certain application. The room that it leaves is promised to that one, as others that have
// less than their fair share as well would get it otherwise (Hadoop: FairScheduler.assignPreemptedContainers).

// Promised is room on a node that the next call of Schedule offers to an application before others.
type Promised struct {
	app  handle.App
	node handle.Node
	room records.Resource
}

// Promise has the room of a container, once it is freed, go to an application before others. The promise ends with the next call of
// Schedule, and where the application or the node is removed.
func (s *Core) Promise(h handle.Container, to handle.App) {
	c := &s.Containers[h]
	if !c.Live() || c.Reserved() || !s.Apps[to].Live {
		return
	}
	s.promises = append(s.promises, Promised{app: to, node: c.Node, room: s.Held(h)})
}

// fulfilPromises gives promised room to those who have a promise, as far as limits of queues allow.
func (s *Core) fulfilPromises() {
	for i := range s.promises {
		p := &s.promises[i]
		for !p.room.IsZero() {
			d := s.firstFor(p.app, p.node)
			if d == nil {
				break
			}
			p.room = p.room.Sub(d.Capability).Max(records.Resource{})
			s.allocate(p.app, d, p.node, d.Level(&s.Nodes.At[p.node]))
		}
	}
	s.promises = s.promises[:0]
}

// firstFor is an active application's most urgent demand that may have a container on a node now, nil if there is none.
func (s *Core) firstFor(h handle.App, nh handle.Node) *Demand {
	a, n := &s.Apps[h], &s.Nodes.At[nh]
	if !a.Active {
		return nil
	}
	for d := range s.Demands(a) {
		if d.Pending > 0 && s.Nodes.HasRoom(n, &d.Size) && !a.Bars(d, n) && (d.RelaxAny || d.Level(n) != OffSwitch) && s.BelowMaximum(a.Leaf, &d.Size) {
			return d
		}
	}
	return nil
}

// breakPromises forgets those to an application, or of room on a node.
func (s *Core) breakPromises(of func(*Promised) bool) {
	if len(s.promises) > 0 {
		s.promises = slices.DeleteFunc(s.promises, func(p Promised) bool { return of(&p) })
	}
}
