package scheduler

import (
	"fmt"

	"heddle/yarn/records"
)

type container struct {
	app      AppHandle
	node     NodeHandle
	resource records.Resource
	live     bool
	reserved bool    // its node is kept for it, and doesn't hold it yet
	turn     int64   // of a reservation among all, by when its node was kept
	demand   *demand // for which it is reserved
}

// Restore enters a container that was granted earlier, by another leader. Its application counts as active from then on.
func (s *Scheduler) Restore(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	s.start(a)
	s.recheck = true
	h := s.hold(a, n, r)
	s.settle(a)
	return h
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h ContainerHandle) {
	c := &s.containers[h]
	if !c.live {
		panic(fmt.Sprintf("scheduler: container %d is freed twice", h))
	}
	c.live = false
	s.freeContainers = append(s.freeContainers, h)
	a, n := c.app, c.node
	back := c.resource.Times(-1)
	s.charge(a, n, &back, -1)
	s.freed(n)
	s.unparkLimited()
	s.settle(a)
}

// ResizeContainer changes what a container holds, and reports whether it could: more is refused where its node hasn't room
// for it or a queue would get above its maximum.
func (s *Scheduler) ResizeContainer(h ContainerHandle, to records.Resource) bool {
	c := &s.containers[h]
	more := to.Sub(c.resource)
	n := &s.nodes[c.node]
	if size := s.measure(more).Max(records.Resource{}); !size.IsZero() {
		if !s.takes(n, &size) || !s.belowMaximum(s.apps[c.app].leaf, &size) {
			return false
		}
	}
	c.resource, s.recheck = to, true
	s.charge(c.app, c.node, &more, 0)
	s.freed(c.node)
	s.unparkLimited()
	s.settle(c.app)
	return true
}

func (s *Scheduler) hold(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	h := take(&s.containers, &s.freeContainers)
	s.containers[h] = container{app: a, node: n, resource: r, live: true}
	s.charge(a, n, &r, 1)
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
	a.running += containers
	s.chargeQueue(a, r, containers)
}

func (s *Scheduler) chargeQueue(a *app, r *records.Resource, containers int) {
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
