package core

import (
	"fmt"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

type Container struct {
	App         handle.App
	Node        handle.Node
	size        int32     // its claim, in Core.sizes; nothing: there is no such container
	note        leaf.Note // of its leaf's policy
	Reservation int32     // where its node is reserved for it and doesn't hold it yet, in Scheduler.keepings; else nothing
}

// noContainer stands where another core has a container.
var noContainer = Container{size: ranking.Nothing, Reservation: ranking.Nothing}

func (c *Container) Live() bool     { return c.size != ranking.Nothing }
func (c *Container) Reserved() bool { return c.Reservation != ranking.Nothing }

// Holds returns a container's claim: what its application, user and queues are charged.
func (s *Core) Holds(c *Container) *records.Resource { return s.sizes.Amount(c.size) }

// newContainer makes a container, and endContainer ends it.
func (s *Core) newContainer(a handle.App, n handle.Node, r *records.Resource) handle.Container {
	h := s.handles.Containers.Take()
	if int(h) >= len(s.Containers) {
		s.Containers = handle.Fit(s.Containers, h, noContainer)
	}
	s.Containers[h] = Container{App: a, Node: n, size: s.sizes.Hold(r), Reservation: ranking.Nothing}
	return h
}

func (s *Core) endContainer(h handle.Container) {
	s.Placing.Ended(h)
	s.leaveContainer(h)
	s.handles.Containers.Give(h)
}

// leaveContainer forgets a container that another core holds from now on, or none.
func (s *Core) leaveContainer(h handle.Container) {
	c := &s.Containers[h]
	s.sizes.Drop(c.size)
	c.size = ranking.Nothing
}

// Restore enters a container that was granted earlier, by another leader. Its application counts as active from then on.
func (s *Core) Restore(a handle.App, n handle.Node, r records.Resource) handle.Container {
	return s.RestoreGrant(a, n, r, leaf.Unknown, s.Now)
}

// RestoreGrant is Restore where it is known for a request of which priority the container was granted, and when, in ms.
func (s *Core) RestoreGrant(a handle.App, n handle.Node, r records.Resource, priority int32, since int64) handle.Container {
	s.start(a)
	s.Recheck = true
	h := s.holdOn(a, n, &r)
	if s.Apps[a].guided {
		guides{s}.toldRestored(a, h, priority, since)
	}
	s.settle(a)
	return h
}

// Free gives back what a container holds.
func (s *Core) Free(h handle.Container) {
	c := &s.Containers[h]
	if !c.Live() {
		panic(fmt.Sprintf("scheduler: container %d is freed twice", h))
	}
	a, n, note := c.App, c.Node, c.note
	s.Policy.ContainerEnded(h)
	back := s.Calc.Negative(s.Holds(c))
	room := back
	if held, other := s.held[h]; other {
		room = s.Calc.Negative(&held)
		s.withhold(h, *s.Holds(c))
	}
	s.endContainer(h)
	s.Nodes.Charge(&s.Nodes.At[n], &room, -1)
	s.chargeApp(a, &back, &room, -1)
	if s.Apps[a].guided {
		claim := s.Calc.Negative(&back)
		guides{s}.toldEnded(a, n, leaf.Outcome{Container: h, Resource: claim, Note: note, Failed: s.failing})
	}
	s.NodeFreed(n)
	s.unparkLimited()
	s.settle(a)
}

// Fail frees a container that ended before its work was done.
func (s *Core) Fail(h handle.Container) {
	s.failing = true
	s.Free(h)
	s.failing = false
}

// ResizeContainer changes a container's claim, and what it takes on its node with it, and reports whether it could: more is refused
// where its node hasn't room for it or a queue would get above its maximum. Where it holds less on its node (SetHeld), only a claim
// that is less than that changes it, and its node must be large enough for it to return.
func (s *Core) ResizeContainer(h handle.Container, to records.Resource) bool {
	c := &s.Containers[h]
	more := to.Sub(*s.Holds(c))
	n, room := &s.Nodes.At[c.Node], more
	held, other := s.held[h]
	if other {
		room = held.Min(to).Sub(held)
	}
	if size := s.Calc.Measure(more).Max(records.Resource{}); !size.IsZero() {
		whole := s.Calc.Measure(to)
		if !other && !s.Nodes.HasRoom(n, &size) || other && !s.Calc.Fits(&whole, s.Nodes.Capability(n)) || !s.BelowMaximum(s.Apps[c.App].Leaf, &size) {
			return false
		}
	}
	was := c.size
	c.size, s.Recheck = s.sizes.Hold(&to), true
	s.sizes.Drop(was)
	if other {
		s.withheld[c.App] = s.withheld[c.App].Add(more)
		s.withhold(h, held.Min(to))
	}
	s.Nodes.Charge(n, &room, 0)
	s.chargeApp(c.App, &more, &room, 0)
	if a := &s.Apps[c.App]; a.guided {
		s.unblock(a)
	}
	s.NodeFreed(c.Node)
	s.unparkLimited()
	s.settle(c.App)
	return true
}

func (s *Core) holdOn(a handle.App, n handle.Node, r *records.Resource) handle.Container {
	h := s.newContainer(a, n, r)
	s.charge(a, n, r, 1)
	s.Nodes.Reindex(n)
	return h
}

// charge adds to what a node, an application, its user and its queues hold. Keys and masks follow with settle.
func (s *Core) charge(h handle.App, nh handle.Node, r *records.Resource, containers int) {
	s.Nodes.Charge(&s.Nodes.At[nh], r, containers)
	s.chargeApp(h, r, r, containers)
}

// chargeApp adds to the claims of an application and its user, and to what their queues hold.
func (s *Core) chargeApp(h handle.App, claim, held *records.Resource, containers int) {
	a := &s.Apps[h]
	s.Calc.Add(&a.Used, claim)
	a.Running += int32(containers)
	s.chargeUser(a, claim)
	s.chargeQueues(a.Leaf, held, containers)
	if s.partial && !a.Held {
		noteHeld(s, a)
	}
}

// noteHeld notes that an application and its queues have had something on nodes with a label.
func noteHeld(s *Core, a *App) {
	a.Held = true
	for i := a.Leaf; i != ranking.Nothing; i = s.Queues[i].Parent {
		s.Queues[i].Held = true
	}
}

// chargeUser adds to the claims of an application's user.
func (s *Core) chargeUser(a *App, r *records.Resource) {
	u, q := &s.Users[a.User], &s.Queues[a.Leaf]
	s.Calc.Add(&u.Used, r)
	if u.Wanting > 0 {
		s.Calc.Add(&q.ActiveUsed, r)
	}
	share := s.Calc.Share(&u.Used)
	q.Shares += share - u.share
	u.share = share
}

// chargeQueues adds to what a leaf and those above it hold.
func (s *Core) chargeQueues(leaf int32, r *records.Resource, containers int) {
	s.Changes++
	for i := leaf; i != ranking.Nothing; i = s.Queues[i].Parent {
		q := &s.Queues[i]
		s.Calc.Add(&q.Used, r)
		q.Containers += int32(containers)
		if !s.Rules.ReservedIsUsed && q.Reserved != (records.Resource{}) && s.Limited(q) {
			s.Recheck = true // what is reserved in it may be above its maximum now
		}
	}
}
