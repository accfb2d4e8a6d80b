package scheduler

import (
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// Containers that preemption has chosen may live on until their room is needed: they are killable (YARN: lazy preemption).
// An ask of a leaf below its guarantee claims such of them, of other leaves, as let it fit on a node. The decisions say that
// these must end, and that the node is kept for the ask, which gets it when they were freed. Where a queue above the leaf
// would get above its maximum, killable containers below that queue end as well, wherever they are (Hadoop:
// RegularContainerAllocator.assignContainer, AbstractLeafQueue.setPreemptionAllowed,
// AbstractParentQueue.killContainersToEnforceMaxQueueCapacity).

// MakeKillable has a container end when its room is needed: then a decision of kind Kill says so. It reports whether there is
// such a container, of capacity queues, that isn't killable already.
func (s *Scheduler) MakeKillable(h handle.Container) bool {
	if !s.capacity || h < 0 || int(h) >= len(s.containers) || !s.containers[h].live() || s.containers[h].reserved() ||
		slices.Contains(s.killable, h) {
		return false
	}
	s.killable = append(s.killable, h)
	return true
}

// SpareKillable has no container be killable any more.
func (s *Scheduler) SpareKillable() { s.killable, s.recheck = nil, true }

func (s *Scheduler) unlistKillable(h handle.Container) {
	if at := slices.Index(s.killable, h); at >= 0 {
		s.killable = slices.Delete(s.killable, at, at+1)
	}
}

func (s *Scheduler) killableSet() map[handle.Container]bool {
	set := make(map[handle.Container]bool, len(s.killable))
	for _, h := range s.killable {
		set[h] = true
	}
	return set
}

// claims are what is claimed in one call of Schedule.
type claims struct {
	*Scheduler
	kept map[handle.Container]bool  // reservations that will be filled
	gone map[int32]records.Resource // by queue: of containers that must end
}

// claim has killable containers end for asks that find no room otherwise, in the order of queues and applications.
func (s *Scheduler) claim() {
	c := claims{Scheduler: s, kept: map[handle.Container]bool{}, gone: map[int32]records.Resource{}}
	for len(s.killable) > 0 && c.below(root) {
		continue
	}
}

// below claims for one ask in a queue, and reports whether it did.
func (c *claims) below(h int32) (done bool) {
	q := &c.queues[h]
	if q.pending.IsZero() {
		return false
	}
	if q.leaf {
		return c.inLeaf(h, q)
	}
	c.el.All(&q.inner, func(i int32) bool {
		done = c.below(c.el.Ref(i))
		return !done
	})
	return done
}

func (c *claims) inLeaf(leaf int32, q *runQueue) bool {
	used := q.used.Sub(c.gone[leaf])
	poor := c.calc.Less(&used, &q.guaranteed)
	for _, h := range c.waiting(q) {
		a := &c.apps[h]
		if c.overUserLimit(q, &c.users[a.user]) {
			continue
		}
		for d := range c.demands(a) {
			if d.pending == 0 {
				continue
			}
			if c.serve(h, a, d, poor) {
				return true
			}
			if c.blocks(leaf, a, d) {
				return false
			}
		}
	}
	return false
}

// blocks reports whether an ask for which not enough may end holds those behind it in its leaf, as one does that is larger than what
// its queues have left (see head.go). One that may not go everywhere does so only if all that may end isn't enough for its queues.
func (c *claims) blocks(leaf int32, a *app, d *demand) bool {
	if d.reservations >= d.pending || !c.everFits(leaf, &d.size) {
		return false
	}
	if d.relaxAny && len(a.blacklist) == 0 {
		return true
	}
	_, ok := c.enforce(leaf, &d.size, nil)
	return !ok
}

// waiting are the applications of a leaf that want something, in their order.
func (c *claims) waiting(q *runQueue) (list []handle.App) {
	c.el.All(&q.inner, func(i int32) bool {
		c.el.All(&c.users[c.el.Ref(i)].apps, func(k int32) bool {
			if h := handle.App(c.el.Ref(k)); c.apps[h].wants {
				list = append(list, h)
			}
			return true
		})
		return true
	})
	slices.SortFunc(list, func(x, y handle.App) int {
		switch {
		case c.el.Less(q.apps, c.apps[x].el, c.apps[y].el):
			return -1
		case x == y:
			return 0
		}
		return 1
	})
	return list
}

// serve claims for an ask: on the node that is kept for it, or on another one, which is kept for it then. Asks of leaves that
// have their guarantee get no room on nodes so, only below maxima.
func (c *claims) serve(h handle.App, a *app, d *demand, poor bool) bool {
	waits := handle.NoContainer
	for _, r := range c.reserved {
		if c.keepingOf(r).demand != d || c.kept[r] {
			continue
		}
		waits = r
		if list, ok := c.onNode(a.leaf, c.containers[r].node, &d.size); ok && len(list) > 0 && poor {
			c.kept[r] = true
			c.end(list)
			return true
		}
	}
	more := d.size // what queues will hold more
	if d.reservations >= d.pending {
		if waits == handle.NoContainer {
			return false
		}
		more = records.Resource{}
	}
	nh, list := c.choose(a, d, &more, poor)
	if nh == handle.NoNode || len(list) == 0 {
		return false
	}
	if d.reservations >= d.pending {
		c.unreserve(waits)
	}
	c.keep(h, a, d, nh)
	c.noteReady(&c.nodes[nh]) // it may have room already
	c.kept[c.nodes[nh].reserved] = true
	c.end(list)
	return true
}

// choose finds the best placed node for an ask, with the containers that must end for it.
func (c *claims) choose(a *app, d *demand, more *records.Resource, poor bool) (best handle.Node, list []handle.Container) {
	best = handle.NoNode
	level := OffSwitch + 1
	if !d.relaxAny {
		level = OffSwitch
	}
	consider := func(nh handle.Node) {
		n := &c.nodes[nh]
		if !c.reservable(n, &d.size) || a.blacklisted(n) || d.level(n) >= level {
			return
		}
		if here, ok := c.onNode(a.leaf, nh, &d.size); ok {
			if all, ok := c.enforce(a.leaf, more, here); ok {
				best, list, level = nh, all, d.level(n)
			}
		}
	}
	if !c.belowMaximum(a.leaf, more) {
		if nh, _ := c.findAny(a, d); nh != handle.NoNode {
			consider(nh)
		}
	}
	if poor {
		for _, k := range c.killable {
			consider(c.containers[k].node)
		}
	}
	return best, list
}

// onNode lists the killable containers of other leaves that must end so that a container fits on a node.
func (c *claims) onNode(leaf int32, nh handle.Node, size *records.Resource) (list []handle.Container, ok bool) {
	free := c.free(&c.nodes[nh])
	for _, k := range c.killable {
		if c.calc.Fits(size, &free) {
			break
		}
		if x := &c.containers[k]; x.node == nh && c.apps[x.app].leaf != leaf {
			free = free.Add(c.calc.Measure(*c.holds(x)))
			list = append(list, k)
		}
	}
	return list, c.calc.Fits(size, &free)
}

// enforce adds the containers that must end besides so that no queue gets above its maximum when a leaf holds so much more.
func (c *claims) enforce(leaf int32, more *records.Resource, list []handle.Container) (all []handle.Container, ok bool) {
	for h := leaf; h != order.Nothing; h = c.queues[h].parent {
		q := &c.queues[h]
		room := c.calc.Measure(q.maximum.Sub(q.used).Add(c.gone[h]))
		for _, k := range list {
			if c.isBelow(k, h) {
				room = room.Add(c.calc.Measure(*c.holds(&c.containers[k])))
			}
		}
		for _, k := range c.killable {
			if c.calc.Fits(more, &room) {
				break
			}
			if c.apps[c.containers[k].app].leaf != leaf && c.isBelow(k, h) && !slices.Contains(list, k) {
				room = room.Add(c.calc.Measure(*c.holds(&c.containers[k])))
				list = append(list, k)
			}
		}
		if !c.calc.Fits(more, &room) {
			return nil, false
		}
	}
	return list, true
}

// isBelow reports whether a container is of a leaf that is, or is below, a queue.
func (c *claims) isBelow(k handle.Container, queue int32) bool {
	for h := c.apps[c.containers[k].app].leaf; h != order.Nothing; h = c.queues[h].parent {
		if h == queue {
			return true
		}
	}
	return false
}

// end decides that containers must end.
func (c *claims) end(list []handle.Container) {
	for _, k := range list {
		c.unlistKillable(k)
		x := &c.containers[k]
		size := *c.holds(x)
		for h := c.apps[x.app].leaf; h != order.Nothing; h = c.queues[h].parent {
			c.gone[h] = c.gone[h].Add(size)
		}
		c.out = append(c.out, Decision{Kind: Kill, Container: k, App: x.app, Node: x.node, Resource: size})
	}
}
