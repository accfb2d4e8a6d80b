package scheduler

import (
	"fmt"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

type container struct {
	app  handle.App
	node handle.Node
	size int32 // what it holds, in Scheduler.sizes; nothing: there is no such container
	kept int32 // where its node is kept for it and doesn't hold it yet, in Scheduler.keepings; else nothing
}

func (c *container) live() bool     { return c.size != order.Nothing }
func (c *container) reserved() bool { return c.kept != order.Nothing }

// holds is what a container holds.
func (s *Scheduler) holds(c *container) *records.Resource { return s.sizes.Amount(c.size) }

// newContainer makes a container, and endContainer ends it.
func (s *Scheduler) newContainer(a handle.App, n handle.Node, r *records.Resource) handle.Container {
	h := handle.Take(&s.containers, &s.freeContainers)
	s.containers[h] = container{app: a, node: n, size: s.sizes.Hold(r), kept: order.Nothing}
	return h
}

func (s *Scheduler) endContainer(h handle.Container) {
	c := &s.containers[h]
	s.sizes.Drop(c.size)
	c.size = order.Nothing
	s.freeContainers = append(s.freeContainers, h)
}

// Restore enters a container that was granted earlier, by another leader. Its application counts as active from then on.
func (s *Scheduler) Restore(a handle.App, n handle.Node, r records.Resource) handle.Container {
	s.start(a)
	s.recheck = true
	h := s.hold(a, n, &r)
	s.settle(a)
	return h
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h handle.Container) {
	c := &s.containers[h]
	if !c.live() {
		panic(fmt.Sprintf("scheduler: container %d is freed twice", h))
	}
	a, n := c.app, c.node
	if len(s.killable) > 0 {
		s.unlistKillable(h)
	}
	back := s.calc.Negative(s.holds(c))
	s.endContainer(h)
	s.charge(a, n, &back, -1)
	s.freed(n)
	s.unparkLimited()
	s.settle(a)
}

// ResizeContainer changes what a container holds, and reports whether it could: more is refused where its node hasn't room
// for it or a queue would get above its maximum.
func (s *Scheduler) ResizeContainer(h handle.Container, to records.Resource) bool {
	c := &s.containers[h]
	more := to.Sub(*s.holds(c))
	n := &s.nodes[c.node]
	if size := s.calc.Measure(more).Max(records.Resource{}); !size.IsZero() {
		if !s.takes(n, &size) || !s.belowMaximum(s.apps[c.app].leaf, &size) {
			return false
		}
	}
	was := c.size
	c.size, s.recheck = s.sizes.Hold(&to), true
	s.sizes.Drop(was)
	s.charge(c.app, c.node, &more, 0)
	s.freed(c.node)
	s.unparkLimited()
	s.settle(c.app)
	return true
}

func (s *Scheduler) hold(a handle.App, n handle.Node, r *records.Resource) handle.Container {
	h := s.newContainer(a, n, r)
	s.charge(a, n, r, 1)
	s.reindex(n)
	return h
}

// charge adds to what a node, an application, its user and its queues hold. Keys and masks follow with settle.
func (s *Scheduler) charge(h handle.App, nh handle.Node, r *records.Resource, containers int) {
	s.chargeNode(&s.nodes[nh], r, containers)
	s.chargeApp(h, r, containers)
}

// chargeApp adds to what an application, its user and its queues hold.
func (s *Scheduler) chargeApp(h handle.App, r *records.Resource, containers int) {
	a := &s.apps[h]
	s.calc.Add(&a.used, r)
	a.running += int32(containers)
	s.chargeQueue(a, r, containers)
}

func (s *Scheduler) chargeQueue(a *app, r *records.Resource, containers int) {
	s.changes++
	u, q := &s.users[a.user], &s.queues[a.leaf]
	s.calc.Add(&u.used, r)
	if u.wanting > 0 {
		s.calc.Add(&q.activeUsed, r)
	}
	share := s.calc.Share(&u.used)
	q.shares += share - u.share
	u.share = share
	for i := a.leaf; i != order.Nothing; i = s.queues[i].parent {
		q := &s.queues[i]
		s.calc.Add(&q.used, r)
		q.containers += int32(containers)
		if !s.capacity && q.reserved != (records.Resource{}) && s.limited(q) {
			s.recheck = true // what is reserved in it may be above its maximum now
		}
	}
}
