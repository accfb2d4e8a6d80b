package scheduler

import (
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// In Fair queues a container is killed for a certain application. The room that it leaves is promised to that one, as others that have
// less than their fair share as well would get it otherwise (Hadoop: FairScheduler.assignPreemptedContainers).

// promise is room on a node that the next call of Schedule offers to an application before others.
type promise struct {
	app  handle.App
	node handle.Node
	room records.Resource
}

// Promise has the room of a container, once it is freed, go to an application before others. The promise ends with the next call of
// Schedule, and where the application or the node is removed.
func (s *Scheduler) Promise(h handle.Container, to handle.App) {
	c := &s.containers[h]
	if !c.live() || c.reserved() || !s.apps[to].live {
		return
	}
	s.promises = append(s.promises, promise{app: to, node: c.node, room: *s.holds(c)})
}

// keepPromises gives promised room to those who have a promise, as far as limits of queues allow.
func (s *Scheduler) keepPromises() {
	for i := range s.promises {
		p := &s.promises[i]
		for !p.room.IsZero() {
			d := s.firstFor(p.app, p.node)
			if d == nil {
				break
			}
			p.room = p.room.Sub(d.capability).Max(records.Resource{})
			s.allocate(p.app, d, p.node, d.level(&s.nodes[p.node]))
		}
	}
	s.promises = s.promises[:0]
}

// firstFor is an active application's most urgent demand that may have a container on a node now, nil if there is none.
func (s *Scheduler) firstFor(h handle.App, nh handle.Node) *demand {
	a, n := &s.apps[h], &s.nodes[nh]
	if !a.active || a.blacklisted(n) {
		return nil
	}
	for d := range s.demands(a) {
		if d.pending > 0 && s.takes(n, &d.size) && (d.relaxAny || d.level(n) != OffSwitch) && s.belowMaximum(a.leaf, &d.size) {
			return d
		}
	}
	return nil
}

// breakPromises forgets those to an application, or of room on a node.
func (s *Scheduler) breakPromises(of func(*promise) bool) {
	if len(s.promises) > 0 {
		s.promises = slices.DeleteFunc(s.promises, func(p promise) bool { return of(&p) })
	}
}
