package scheduler

import (
	"fmt"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// A reservation keeps a node for a container that doesn't fit on it yet, so that applications with small containers don't
// starve one with large ones whose turn it is. The node takes nothing else until the reservation is filled or undone. In
// capacity queues what is reserved counts as used by application, user and queues, as in YARN. For Fair queues see starve.go.

// keeping is what is known of a container for which a node is kept.
type keeping struct {
	demand *demand
	turn   int64 // among all, by when its node was kept
	since  int64 // when the first of its nodes was, in ms
}

// keepingOf is that of a container that is reserved.
func (s *Scheduler) keepingOf(c handle.Container) *keeping { return &s.keepings[s.containers[c].kept] }

// reserves reports whether nodes are kept for containers as soon as these find no room.
func (s *Scheduler) reserves() bool {
	return s.capacity && !s.cfg.Minimum.IsZero()
}

// reservable reports whether a node could be kept for a container, as far as the node goes.
func (s *Scheduler) reservable(n *node, size *records.Resource) bool {
	return n.open && n.reserved == handle.NoContainer && size.FitsIn(s.calc.Measure(*s.capability(n)))
}

// reserve keeps a node for a demand, unless it has as many reservations as it asks for containers already. none says that
// no node at all has anything left that could be kept.
func (s *Scheduler) reserve(h handle.App, a *app, d *demand) (done, none bool) {
	if !s.reserves() || d.reservations >= d.pending {
		return false, false
	}
	at := 0
	for {
		if at = s.index.Next(at, &s.calc.Least); at < 0 {
			return false, !s.index.Has(&s.calc.Least)
		}
		n := &s.nodes[at]
		if s.reservable(n, &d.size) && !a.blacklisted(n) {
			break
		}
		at++
	}
	s.keep(h, a, d, handle.Node(at))
	return true, false
}

// reserveNear keeps a node for a demand that may only go to the places that it prefers: on a host, or in a rack.
func (s *Scheduler) reserveNear(h handle.App, a *app, d *demand, level Locality) bool {
	if !s.reserves() || d.relaxAny || d.reservations >= d.pending {
		return false
	}
	for i := range d.places {
		p := &d.places[i]
		nodes := s.sites[p.name].nodes
		if r := s.sites[p.name].rack; level == RackLocal {
			if nodes = nil; r != nil && p.relax {
				nodes = r.nodes
			}
		}
		if p.count == 0 {
			continue
		}
		for _, nh := range nodes {
			if nh != handle.NoNode && s.mayWaitOn(&s.nodes[nh], a, d) {
				s.keep(h, a, d, nh)
				return true
			}
		}
	}
	return false
}

// mayWaitOn reports whether a node has something left that could be kept, and is large enough.
func (s *Scheduler) mayWaitOn(n *node, a *app, d *demand) bool {
	free := s.free(n)
	return s.calc.Fits(&s.calc.Least, &free) && s.reservable(n, &d.size) && !a.blacklisted(n)
}

func (s *Scheduler) keep(h handle.App, a *app, d *demand, nh handle.Node) {
	c := s.newContainer(h, nh, &d.capability)
	s.turns++
	k := handle.Take(&s.keepings, &s.freeKeepings)
	s.keepings[k] = keeping{demand: d, turn: s.turns, since: s.now}
	s.containers[c].kept = k
	s.nodes[nh].reserved = c
	s.keptOf[d.class]++
	d.reservations++
	s.reserved = append(s.reserved, c)
	s.chargeReserved(h, a, &d.capability)
	s.reindex(nh)
	s.reindexWhole(nh)
	s.announce(Decision{
		Kind: Reserve, Container: c, App: h, Node: nh, Resource: d.capability, Priority: d.priority,
		AllocationRequestID: d.requestID, ExecutionType: d.execution,
	})
	s.settle(h)
}

// announce adds a decision on a reservation to those that Schedule returns next.
func (s *Scheduler) announce(d Decision) {
	if s.scheduling {
		s.out = append(s.out, d)
	} else {
		s.undone = append(s.undone, d)
	}
}

func (s *Scheduler) chargeReserved(h handle.App, a *app, r *records.Resource) {
	s.calc.Add(&a.reserved, r)
	s.chargeQueuesReserved(a.leaf, r)
	if s.capacity {
		s.chargeApp(h, r, 0)
	}
}

func (s *Scheduler) chargeQueuesReserved(leaf int32, r *records.Resource) {
	for q := leaf; q != order.Nothing; q = s.queues[q].parent {
		s.calc.Add(&s.queues[q].reserved, r)
	}
}

// unkeep undoes a reservation. What the application holds less is settled by the caller.
func (s *Scheduler) unkeep(c handle.Container) {
	x, d := s.containers[c], s.keepingOf(c).demand
	size := *s.holds(&x)
	at := s.placeOfKept(c)
	s.reserved = slices.Delete(s.reserved, at, at+1)
	s.keptOf[d.class]--
	s.keepings[x.kept] = keeping{}
	s.freeKeepings = append(s.freeKeepings, x.kept)
	s.endContainer(c)
	d.reservations--
	back := s.calc.Negative(&size)
	s.chargeReserved(x.app, &s.apps[x.app], &back)
	s.nodes[x.node].reserved = handle.NoContainer
	s.reindexWhole(x.node)
	s.announce(Decision{
		Kind: Unreserve, Container: c, App: x.app, Node: x.node, Resource: size, Priority: d.priority,
		AllocationRequestID: d.requestID, ExecutionType: d.execution,
	})
}

// unreserve undoes a reservation and offers its node to others.
func (s *Scheduler) unreserve(c handle.Container) {
	app, node := s.containers[c].app, s.containers[c].node
	s.unkeep(c)
	s.freed(node)
	s.unparkLimited()
	s.settle(app)
}

// Unreserve undoes a reservation, so that others may have its node, and its application goes on asking. It reports whether
// there is such a reservation.
func (s *Scheduler) Unreserve(c handle.Container) bool {
	if c < 0 || int(c) >= len(s.containers) || !s.containers[c].live() || !s.containers[c].reserved() {
		return false
	}
	s.unreserve(c)
	return true
}

// MoveReservation keeps another node for what a node is kept for. It reports whether it could: there must be such a
// reservation, and the other node must be kept for nobody, large enough and one that the application wants.
func (s *Scheduler) MoveReservation(c handle.Container, to handle.Node) bool {
	if c < 0 || int(c) >= len(s.containers) || !s.containers[c].live() || !s.containers[c].reserved() || to < 0 || int(to) >= len(s.nodes) {
		return false
	}
	k := *s.keepingOf(c)
	h, n := s.containers[c].app, &s.nodes[to]
	if a := &s.apps[h]; !n.live || !s.reservable(n, &k.demand.size) || a.blacklisted(n) || !k.demand.relaxAny {
		return false
	}
	from := s.containers[c].node
	s.unkeep(c)
	s.keep(h, &s.apps[h], k.demand, to)
	s.keepingOf(s.nodes[to].reserved).since = k.since
	s.freed(from)
	s.freed(to)
	return true
}

// Reservation is a node that is kept for a container of an application.
type Reservation struct {
	App      handle.App
	Node     handle.Node
	Resource records.Resource
	// Priority and AllocationRequestID tell for which of the application's requests.
	Priority            int32
	AllocationRequestID int64
}

// Reservations returns all reservations, the oldest first.
func (s *Scheduler) Reservations() []Reservation {
	out := make([]Reservation, len(s.reserved))
	for i, c := range s.reserved {
		x := &s.containers[c]
		d := s.keepingOf(c).demand
		out[i] = Reservation{
			App: x.app, Node: x.node, Resource: *s.holds(x), Priority: d.priority, AllocationRequestID: d.requestID,
		}
	}
	return out
}

// trim undoes the reservations that a demand has beyond those that it may have for so many containers. In Fair queues several
// nodes may be kept for one container, whichever has room first.
func (s *Scheduler) trim(d *demand, most int32) {
	if most > 0 && !s.capacity {
		return
	}
	for i := len(s.reserved) - 1; i >= 0 && d.reservations > most; i-- {
		if c := s.reserved[i]; s.keepingOf(c).demand == d {
			s.unreserve(c)
		}
	}
}

// unreserveAll undoes all reservations of an application.
func (s *Scheduler) unreserveAll(h handle.App) {
	for i := len(s.reserved) - 1; i >= 0; i-- {
		if i < len(s.reserved) && s.containers[s.reserved[i]].app == h {
			s.unreserve(s.reserved[i])
		}
	}
}

// within reports whether all queues above an application are within their maximum with what is reserved for a demand. They
// were when the node was kept; the cluster, the configuration or, in Fair queues, what is used may have changed.
func (s *Scheduler) within(h handle.App, d *demand) bool {
	var more records.Resource
	if !s.capacity {
		more = d.size
	}
	return s.belowMaximum(s.apps[h].leaf, &more)
}

// level is how near a node is to where the demand wants its containers.
func (d *demand) level(n *node) Locality {
	switch {
	case d.wants(n.host) > 0:
		return NodeLocal
	case d.relaxes(n.rack):
		return RackLocal
	}
	return OffSwitch
}

func (s *Scheduler) explainReservation(_ *app, d *demand, r *Reason) bool {
	if d.reservations == 0 {
		return false
	}
	x := &s.containers[s.keptLast(d)]
	n := &s.nodes[x.node]
	r.Limit, r.Node, r.Eligible = HasReservation, x.node, 1
	r.Used, r.Bound = n.used, *s.capability(n)
	r.Short = lacks(d.size, s.free(n))
	many := fmt.Sprintf(" (%d of %d reservations)", d.reservations, d.pending)
	if !s.capacity {
		many = fmt.Sprintf(" (one of %d nodes, for %d containers)", d.reservations, d.pending)
	}
	r.Text = fmt.Sprintf("%s is kept for it%s, and lacks %s yet", s.name(n.host), many, s.format(r.Short))
	r.Free = "the end of containers on that node, or room for it on another"
	return true
}
