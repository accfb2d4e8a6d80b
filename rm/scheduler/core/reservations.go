package core

import (
	"slices"

	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// A reservation reserves a node for a container that doesn't fit on it yet, so that applications with small containers don't
// starve one with large ones whose turn it is. The node takes nothing else until the reservation is filled or undone. In
// capacity queues what is reserved counts as used by application, user and queues, as in YARN. For Fair queues see package policy/fair.

// Reservation describes a container for which a node is reserved.
type Reservation struct {
	Demand *Demand
	Seq    int64 // among all, by when its node was reserved
	Since  int64 // when the first of its nodes was, in ms
}

// ReservationOf returns the reservation of a reserved container.
func (s *Core) ReservationOf(c handle.Container) *Reservation {
	return &s.reservationAt[s.Containers[c].Reservation]
}

// reserves reports whether nodes are reserved for containers as soon as these find no room.
func (s *Core) reserves() bool { return s.Rules.ReserveAtOnce }

// Reservable reports whether a node could be reserved for a container, as far as the node goes.
func (s *Core) Reservable(n *nodeset.Node, size *records.Resource) bool {
	return n.Open != nodeset.NoWork && n.Reserved == handle.NoContainer && size.FitsIn(s.Calc.Measure(*s.Nodes.Capability(n)))
}

// reserveAnywhere reserves a node for a demand, unless it has as many reservations as it asks for containers already. none says that
// no node at all has anything left that could be reserved.
func (s *Core) reserveAnywhere(h handle.App, a *App, d *Demand) (done, none bool) {
	if !s.reserves() || d.Reservations >= d.Pending || d.Guest {
		return false, false
	}
	at := 0
	for {
		if at = s.Nodes.Index.Next(at, &s.Calc.Smallest); at < 0 {
			return false, !s.Nodes.Index.Has(&s.Calc.Smallest)
		}
		n := &s.Nodes.At[at]
		if s.Reservable(n, &d.Size) && !a.Bars(d, n) {
			break
		}
		at++
	}
	s.Reserve(h, a, d, handle.Node(at))
	return true, false
}

// reserveNear reserves a node for a demand that may only go to the places that it prefers: on a host, or in a rack.
func (s *Core) reserveNear(h handle.App, a *App, d *Demand, level Locality) bool {
	if !s.reserves() || d.RelaxAny || d.Reservations >= d.Pending || d.Guest {
		return false
	}
	for i := range d.Places {
		p := &d.Places[i]
		nodes := s.Nodes.Sites[p.Name].Nodes
		if r := s.Nodes.Sites[p.Name].Rack; level == RackLocal {
			if nodes = nil; r != nil && p.Relax {
				nodes = r.Nodes
			}
		}
		if p.Count == 0 {
			continue
		}
		for _, nh := range nodes {
			if nh != handle.NoNode && s.mayWaitOn(&s.Nodes.At[nh], a, d) {
				s.Reserve(h, a, d, nh)
				return true
			}
		}
	}
	return false
}

// mayWaitOn reports whether a node has something left that could be reserved, and is large enough.
func (s *Core) mayWaitOn(n *nodeset.Node, a *App, d *Demand) bool {
	free := s.Nodes.Free(n)
	return s.Calc.Fits(&s.Calc.Smallest, &free) && s.Reservable(n, &d.Size) && !a.Bars(d, n)
}

func (s *Core) Reserve(h handle.App, a *App, d *Demand, nh handle.Node) {
	c := s.newContainer(h, nh, &d.Capability)
	s.reservationsMade++
	k := handle.Take(&s.reservationAt, &s.freeReservations)
	s.reservationAt[k] = Reservation{Demand: d, Seq: s.reservationsMade, Since: s.Now}
	s.Containers[c].Reservation = k
	s.Nodes.At[nh].Reserved = c
	s.ReservedOf[d.Class]++
	d.Reservations++
	s.Reserved = append(s.Reserved, c)
	s.reservedClasses = append(s.reservedClasses, uint8(d.Class))
	s.chargeReserved(h, a, &d.Capability)
	s.Nodes.Reindex(nh)
	s.Policy.NodeChanged(nh)
	s.announce(Decision{
		Kind: Reserve, Container: c, App: h, Node: nh, Resource: d.Capability, Priority: d.Priority,
		AllocationRequestID: d.RequestID, ExecutionType: d.Execution,
	})
	s.settle(h)
}

// announce adds a decision on a reservation to those that Schedule returns next.
func (s *Core) announce(d Decision) {
	if s.scheduling {
		s.Out = append(s.Out, d)
	} else {
		s.undone = append(s.undone, d)
	}
}

func (s *Core) chargeReserved(h handle.App, a *App, r *records.Resource) {
	s.Calc.Add(&a.Reserved, r)
	s.chargeQueuesReserved(a.Leaf, r)
	if s.Rules.ReservedIsUsed {
		s.chargeApp(h, r, r, 0)
	}
}

func (s *Core) chargeQueuesReserved(leaf int32, r *records.Resource) {
	for q := leaf; q != ranking.Nothing; q = s.Queues[q].Parent {
		s.Calc.Add(&s.Queues[q].Reserved, r)
	}
}

// dropReservation undoes a reservation. The caller reduces what the application holds.
func (s *Core) dropReservation(c handle.Container) {
	x, d := s.Containers[c], s.ReservationOf(c).Demand
	size := *s.Holds(&x)
	at := s.placeOfReservation(c)
	s.Reserved = slices.Delete(s.Reserved, at, at+1)
	s.reservedClasses = slices.Delete(s.reservedClasses, at, at+1)
	s.ReservedOf[d.Class]--
	s.reservationAt[x.Reservation] = Reservation{}
	s.freeReservations = append(s.freeReservations, x.Reservation)
	s.endContainer(c)
	d.Reservations--
	back := s.Calc.Negative(&size)
	s.chargeReserved(x.App, &s.Apps[x.App], &back)
	s.Nodes.At[x.Node].Reserved = handle.NoContainer
	s.Policy.NodeChanged(x.Node)
	s.announce(Decision{
		Kind: Unreserve, Container: c, App: x.App, Node: x.Node, Resource: size, Priority: d.Priority,
		AllocationRequestID: d.RequestID, ExecutionType: d.Execution,
	})
}

// reviewReservations makes the next call of Schedule look at all reservations, as some may have become useless: an application excludes
// their nodes, or queues may have less. A useless reservation would keep others from a node until the next event there.
func (s *Core) reviewReservations() {
	s.Recheck = true
	s.Roomier = s.Roomier || len(s.Reserved) > 0
}

// Withdraw undoes a reservation and offers its node to others. Its request may reserve another node.
func (s *Core) Withdraw(c handle.Container) {
	app, node, d := s.Containers[c].App, s.Containers[c].Node, s.ReservationOf(c).Demand
	s.dropReservation(c)
	if d.Why == demand.NoRoom {
		s.setWhy(d, demand.Untried)
	}
	s.NodeFreed(node)
	s.unparkLimited()
	s.settle(app)
}

// Unreserve undoes a reservation, so that others may have its node, and its application continues asking. It reports whether
// there is such a reservation.
func (s *Core) Unreserve(c handle.Container) bool {
	if c < 0 || int(c) >= len(s.Containers) || !s.Containers[c].Live() || !s.Containers[c].Reserved() {
		return false
	}
	s.Withdraw(c)
	return true
}

// MoveReservation reserves another node for what a node is reserved for. It reports whether it could: there must be such a
// reservation, and the other node must be unreserved, large enough and one that the application wants.
func (s *Core) MoveReservation(c handle.Container, to handle.Node) bool {
	if c < 0 || int(c) >= len(s.Containers) || !s.Containers[c].Live() || !s.Containers[c].Reserved() || to < 0 || int(to) >= len(s.Nodes.At) {
		return false
	}
	k := *s.ReservationOf(c)
	h, n := s.Containers[c].App, &s.Nodes.At[to]
	if a := &s.Apps[h]; !n.Live || !s.Reservable(n, &k.Demand.Size) || a.Bars(k.Demand, n) || !k.Demand.RelaxAny {
		return false
	}
	from := s.Containers[c].Node
	s.dropReservation(c)
	s.Reserve(h, &s.Apps[h], k.Demand, to)
	s.ReservationOf(s.Nodes.At[to].Reserved).Since = k.Since
	s.NodeFreed(from)
	s.NodeFreed(to)
	return true
}

// trim undoes the reservations that a demand has beyond those that it may have for so many containers. In Fair queues several
// nodes may be reserved for one container, whichever has room first.
func (s *Core) trim(d *Demand, most int32) {
	if most > 0 && !s.Rules.OnePerContainer {
		return
	}
	for i := len(s.Reserved) - 1; i >= 0 && d.Reservations > most; i-- {
		if c := s.Reserved[i]; s.ReservationOf(c).Demand == d {
			s.Withdraw(c)
		}
	}
}

// unreserveAll undoes all reservations of an application.
func (s *Core) unreserveAll(h handle.App) {
	for i := len(s.Reserved) - 1; i >= 0; i-- {
		if i < len(s.Reserved) && s.Containers[s.Reserved[i]].App == h {
			s.Withdraw(s.Reserved[i])
		}
	}
}

// within reports whether all queues above an application are within their maximum with what is reserved for a demand. They
// were when the node was reserved; the cluster, the configuration or, in Fair queues, what is used may have changed.
func (s *Core) within(h handle.App, d *Demand) bool {
	var more records.Resource
	if !s.Rules.ReservedIsUsed {
		more = d.Size
	}
	return s.BelowMaximum(s.Apps[h].Leaf, &more)
}
