package scheduler

import (
	"fmt"

	"heddle/yarn/records"
)

type container struct {
	app  AppHandle
	node NodeHandle
	size int32 // what it holds, in Scheduler.sizes; nothing: there is no such container
	kept int32 // where its node is kept for it and doesn't hold it yet, in Scheduler.keepings; else nothing
}

func (c *container) live() bool     { return c.size != nothing }
func (c *container) reserved() bool { return c.kept != nothing }

// holds is what a container holds.
func (s *Scheduler) holds(c *container) *records.Resource { return &s.sizes.at[c.size].amount }

// newContainer makes a container, and endContainer ends it.
func (s *Scheduler) newContainer(a AppHandle, n NodeHandle, r *records.Resource) ContainerHandle {
	h := take(&s.containers, &s.freeContainers)
	s.containers[h] = container{app: a, node: n, size: s.sizes.hold(r), kept: nothing}
	return h
}

func (s *Scheduler) endContainer(h ContainerHandle) {
	c := &s.containers[h]
	s.sizes.drop(c.size)
	c.size = nothing
	s.freeContainers = append(s.freeContainers, h)
}

// Restore enters a container that was granted earlier, by another leader. Its application counts as active from then on.
func (s *Scheduler) Restore(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	s.start(a)
	s.recheck = true
	h := s.hold(a, n, &r)
	s.settle(a)
	return h
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h ContainerHandle) {
	c := &s.containers[h]
	if !c.live() {
		panic(fmt.Sprintf("scheduler: container %d is freed twice", h))
	}
	a, n := c.app, c.node
	if len(s.killable) > 0 {
		s.unlistKillable(h)
	}
	back := s.negative(s.holds(c))
	s.endContainer(h)
	s.charge(a, n, &back, -1)
	s.freed(n)
	s.unparkLimited()
	s.settle(a)
}

// ResizeContainer changes what a container holds, and reports whether it could: more is refused where its node hasn't room
// for it or a queue would get above its maximum.
func (s *Scheduler) ResizeContainer(h ContainerHandle, to records.Resource) bool {
	c := &s.containers[h]
	more := to.Sub(*s.holds(c))
	n := &s.nodes[c.node]
	if size := s.measure(more).Max(records.Resource{}); !size.IsZero() {
		if !s.takes(n, &size) || !s.belowMaximum(s.apps[c.app].leaf, &size) {
			return false
		}
	}
	was := c.size
	c.size, s.recheck = s.sizes.hold(&to), true
	s.sizes.drop(was)
	s.charge(c.app, c.node, &more, 0)
	s.freed(c.node)
	s.unparkLimited()
	s.settle(c.app)
	return true
}

func (s *Scheduler) hold(a AppHandle, n NodeHandle, r *records.Resource) ContainerHandle {
	h := s.newContainer(a, n, r)
	s.charge(a, n, r, 1)
	s.reindex(n)
	return h
}

// charge adds to what a node, an application, its user and its queues hold. Keys and masks follow with settle.
func (s *Scheduler) charge(h AppHandle, nh NodeHandle, r *records.Resource, containers int) {
	s.chargeNode(&s.nodes[nh], r, containers)
	s.chargeApp(h, r, containers)
}

// chargeApp adds to what an application, its user and its queues hold.
func (s *Scheduler) chargeApp(h AppHandle, r *records.Resource, containers int) {
	a := &s.apps[h]
	s.add(&a.used, r)
	a.running += int32(containers)
	s.chargeQueue(a, r, containers)
}

func (s *Scheduler) chargeQueue(a *app, r *records.Resource, containers int) {
	s.changes++
	u, q := &s.users[a.user], &s.queues[a.leaf]
	s.add(&u.used, r)
	if u.wanting > 0 {
		s.add(&q.activeUsed, r)
	}
	share := s.share(&u.used)
	q.shares += share - u.share
	u.share = share
	for i := a.leaf; i != nothing; i = s.queues[i].parent {
		q := &s.queues[i]
		s.add(&q.used, r)
		q.containers += int32(containers)
	}
}
