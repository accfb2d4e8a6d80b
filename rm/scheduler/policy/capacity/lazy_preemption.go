package capacity

import (
	"slices"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Containers that preemption has chosen may live on until their room is needed: they are killable (YARN: lazy preemption).
// An ask of a leaf below its guarantee claims such of them, of other leaves, as let it fit on a node. The decisions say that
// these must end, and that the node is reserved for the ask, which gets it when they were freed. Where a queue above the leaf
// would get above its maximum, killable containers below that queue end as well, wherever they are (Hadoop:
// RegularContainerAllocator.assignContainer, AbstractLeafQueue.setPreemptionAllowed,
// AbstractParentQueue.killContainersToEnforceMaxQueueCapacity).

// MakeKillable marks a container to end when its room is needed: then a decision of kind Kill says so. It reports whether
// there is such a container, of capacity queues, that isn't killable already.
func (p *Policy) MakeKillable(h handle.Container) bool {
	if h < 0 || int(h) >= len(p.s.Containers) || !p.s.Containers[h].Live() || p.s.Containers[h].Reserved() ||
		slices.Contains(p.killable, h) {
		return false
	}
	p.killable = append(p.killable, h)
	return true
}

// SpareKillable clears the mark of all containers.
func (p *Policy) SpareKillable() { p.killable, p.s.Recheck = nil, true }

// ContainerEnded has a container that was freed be killable no more.
func (p *Policy) ContainerEnded(h handle.Container) {
	if len(p.killable) == 0 {
		return
	}
	if at := slices.Index(p.killable, h); at >= 0 {
		p.killable = slices.Delete(p.killable, at, at+1)
	}
}

// Killable returns the containers that are killable.
func (p *Policy) Killable() []handle.Container { return p.killable }

// claims are what is claimed in one call of Schedule.
type claims struct {
	*core.Core
	p        *Policy
	reserved map[handle.Container]bool  // reservations that will be filled
	gone     map[int32]records.Resource // by queue: of containers that must end
}

// claimKillable ends killable containers for asks that find no room otherwise, in the order of queues and applications.
func (p *Policy) claimKillable() {
	c := claims{Core: p.s, p: p, reserved: map[handle.Container]bool{}, gone: map[int32]records.Resource{}}
	for len(p.killable) > 0 && c.below(core.Root) {
		continue
	}
}

// below claims for one ask in a queue, and reports whether it did.
func (c *claims) below(h int32) (done bool) {
	q := &c.Queues[h]
	if q.Pending.IsZero() {
		return false
	}
	if q.Leaf {
		return c.inLeaf(h, q)
	}
	c.Rankings.All(&q.Inner, func(i int32) bool {
		done = c.below(c.Rankings.Ref(i))
		return !done
	})
	return done
}

func (c *claims) inLeaf(leaf int32, q *core.Queue) bool {
	used := q.Used.Sub(c.gone[leaf])
	starved := c.Calc.Less(&used, &q.Guaranteed)
	for _, h := range c.p.ranked(leaf, true) {
		a := &c.Apps[h]
		if c.p.OverUserLimit(q, &c.Users[a.User]) {
			continue
		}
		for d := range c.Demands(a) {
			if d.Pending == 0 || d.Guest || c.HoldsBack(a, d).Policy != "" {
				continue
			}
			if c.claimFor(h, a, d, starved) {
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
// its queues have left (see search.go). One that may not go everywhere does so only if all that may end isn't enough for its queues.
func (c *claims) blocks(leaf int32, a *core.App, d *core.Demand) bool {
	if d.Reservations >= d.Pending || !everFits(c.Core, leaf, &d.Size) {
		return false
	}
	if d.RelaxAny && !c.BarsSome(a) {
		return true
	}
	_, ok := c.enforce(leaf, &d.Size, nil)
	return !ok
}

// claimFor claims for an ask: on the node that is reserved for it, or on another one, which is reserved for it then. Asks of leaves that
// have their guarantee get no room on nodes so, only below maxima.
func (c *claims) claimFor(h handle.App, a *core.App, d *core.Demand, starved bool) bool {
	waits := handle.NoContainer
	for _, r := range c.Reserved {
		if c.ReservationOf(r).Demand != d || c.reserved[r] {
			continue
		}
		waits = r
		if list, ok := c.onNode(a.Leaf, c.Containers[r].Node, &d.Size); ok && len(list) > 0 && starved {
			c.reserved[r] = true
			c.end(list)
			return true
		}
	}
	more := d.Size // what queues will hold more
	if d.Reservations >= d.Pending {
		if waits == handle.NoContainer {
			return false
		}
		more = records.Resource{}
	}
	nh, list := c.choose(a, d, &more, starved)
	if nh == handle.NoNode || len(list) == 0 {
		return false
	}
	if d.Reservations >= d.Pending {
		c.Withdraw(waits)
	}
	c.Reserve(h, a, d, nh)
	c.NoteReady(&c.Nodes.At[nh]) // it may have room already
	c.reserved[c.Nodes.At[nh].Reserved] = true
	c.end(list)
	return true
}

// choose finds the best placed node for an ask, with the containers that must end for it.
func (c *claims) choose(a *core.App, d *core.Demand, more *records.Resource, starved bool) (best handle.Node, list []handle.Container) {
	best = handle.NoNode
	locality := core.OffSwitch + 1
	if !d.RelaxAny {
		locality = core.OffSwitch
	}
	consider := func(nh handle.Node) {
		n := &c.Nodes.At[nh]
		if !c.Reservable(n, &d.Size) || a.Bars(d, n) || d.LocalityOn(n) >= locality {
			return
		}
		if here, ok := c.onNode(a.Leaf, nh, &d.Size); ok {
			if all, ok := c.enforce(a.Leaf, more, here); ok {
				best, list, locality = nh, all, d.LocalityOn(n)
			}
		}
	}
	if !c.BelowMaximum(a.Leaf, more) {
		if nh, _ := c.FindAny(a, d); nh != handle.NoNode {
			consider(nh)
		}
	}
	if starved {
		for _, k := range c.p.killable {
			consider(c.Containers[k].Node)
		}
	}
	return best, list
}

// onNode lists the killable containers of other leaves that must end so that a container fits on a node.
func (c *claims) onNode(leaf int32, nh handle.Node, size *records.Resource) (list []handle.Container, ok bool) {
	free := c.Nodes.Free(&c.Nodes.At[nh])
	for _, k := range c.p.killable {
		if c.Calc.Fits(size, &free) {
			break
		}
		if x := &c.Containers[k]; x.Node == nh && c.Apps[x.App].Leaf != leaf {
			free = free.Add(c.Calc.Measure(c.Held(k)))
			list = append(list, k)
		}
	}
	return list, c.Calc.Fits(size, &free)
}

// enforce adds the containers that must end besides so that no queue gets above its maximum when a leaf holds so much more.
func (c *claims) enforce(leaf int32, more *records.Resource, list []handle.Container) (all []handle.Container, ok bool) {
	for h := leaf; h != ranking.Nothing; h = c.Queues[h].Parent {
		q := &c.Queues[h]
		room := c.Calc.Measure(q.Maximum.Sub(q.Used).Add(c.gone[h]))
		for _, k := range list {
			if c.isBelow(k, h) {
				room = room.Add(c.Calc.Measure(c.Held(k)))
			}
		}
		for _, k := range c.p.killable {
			if c.Calc.Fits(more, &room) {
				break
			}
			if c.Apps[c.Containers[k].App].Leaf != leaf && c.isBelow(k, h) && !slices.Contains(list, k) {
				room = room.Add(c.Calc.Measure(c.Held(k)))
				list = append(list, k)
			}
		}
		if !c.Calc.Fits(more, &room) {
			return nil, false
		}
	}
	return list, true
}

// isBelow reports whether a container is of a leaf that is, or is below, a queue.
func (c *claims) isBelow(k handle.Container, queue int32) bool {
	for h := c.Apps[c.Containers[k].App].Leaf; h != ranking.Nothing; h = c.Queues[h].Parent {
		if h == queue {
			return true
		}
	}
	return false
}

// end decides that containers must end.
func (c *claims) end(list []handle.Container) {
	for _, k := range list {
		c.p.ContainerEnded(k)
		x := &c.Containers[k]
		held := c.Held(k)
		for h := c.Apps[x.App].Leaf; h != ranking.Nothing; h = c.Queues[h].Parent {
			c.gone[h] = c.gone[h].Add(held)
		}
		c.Out = append(c.Out, core.Decision{Kind: core.Kill, Container: k, App: x.App, Node: x.Node, Resource: *c.Holds(x)})
	}
}
