package scheduler

import (
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
	"heddle/yarn/records"
)

// place tries to give the application that was picked a container for its most urgent demand that may have one. Where there
// is none, it takes note of that, so that the same isn't tried again.
func (s *Scheduler) place(h handle.App) {
	a := &s.apps[h]
	d := s.firstDemand(a, s.picked)
	if d == nil {
		panic("scheduler: an application was picked that has nothing to place")
	}
	if a.sole != nil {
		s.starve.clearAhead()
	} else if s.setAhead(a, d) {
		s.park(d, behindOwn)
		return
	}
	s.placeDemand(h, a, d)
}

func (s *Scheduler) placeDemand(h handle.App, a *app, d *demand) {
	if d.class == class.Shared && !s.belowMaximum(a.leaf, &d.size) {
		s.park(d, overLimit)
		return
	}
	if n := s.findHost(a, d); n != handle.NoNode {
		s.allocate(h, d, n, NodeLocal)
		return
	}
	if s.reserveNear(h, a, d, NodeLocal) {
		return
	}
	rack, anywhere := s.delays(d)
	if rack > 0 && s.index.Has(&d.size) && s.delayed(a, d, rack, false) {
		return
	}
	if n := s.findRack(a, d); n != handle.NoNode {
		s.allocate(h, d, n, RackLocal)
		return
	}
	if !d.relaxAny {
		switch {
		case s.reserveNear(h, a, d, RackLocal):
		case s.heldByOwn(a, d):
			s.park(d, behindOwn)
		default:
			s.park(d, noPlace)
		}
		return
	}
	if anywhere > 0 && s.index.Has(&d.size) && s.delayed(a, d, anywhere, true) {
		return
	}
	n, held := s.findAny(a, d)
	switch {
	case n != handle.NoNode:
		s.allocate(h, d, n, OffSwitch)
	case held:
		s.park(d, behindOwn)
	default: // also where there is room, but the application shuns it
		s.reserveFor(h, a, d)
	}
}

// reserveFor keeps a node for a demand that has room nowhere, or takes note that there is nothing to keep for it.
func (s *Scheduler) reserveFor(h handle.App, a *app, d *demand) {
	switch done, none := s.reserve(h, a, d); {
	case done:
	case d.class == class.Shared || s.capacity && d.reservations >= d.pending || len(a.blacklist) > 0 || !d.relaxAny:
		s.park(d, noRoom)
	case none:
		s.classes.CloseFrom(&s.calc.Least)
	default:
		s.classes.Close(d.class)
	}
}

// findHost finds a node on one of the preferred hosts.
func (s *Scheduler) findHost(a *app, d *demand) handle.Node {
	if !d.hosts || !d.choosy {
		return handle.NoNode
	}
	for k := range d.places {
		i := d.at + k
		if i >= len(d.places) {
			i -= len(d.places)
		}
		if p := &d.places[i]; p.count > 0 {
			for _, nh := range s.sites[p.name].nodes {
				if n := &s.nodes[nh]; s.takes(n, &d.size) && !s.shuns(a, n) {
					d.at = i
					return nh
				}
			}
		}
	}
	d.hosts = false
	return handle.NoNode
}

// findRack finds a node in one of the preferred racks, each time another one.
func (s *Scheduler) findRack(a *app, d *demand) handle.Node {
	if !d.racks || !d.choosy {
		return handle.NoNode
	}
	for i := range d.places {
		p := &d.places[i]
		r := s.sites[p.name].rack
		if r == nil || !p.relax || p.count == 0 {
			continue
		}
		if nh, _ := s.turn(a, &d.size, s.indexOf(r), &r.cursor, r.nodes); nh != handle.NoNode {
			return nh
		}
	}
	d.racks = false
	return handle.NoNode
}

// findAny finds any node with room, each time another one. If it finds none, held says that there is one on which a more urgent
// request of the application comes first.
func (s *Scheduler) findAny(a *app, d *demand) (h handle.Node, held bool) {
	return s.turn(a, &d.size, &s.index, &s.cursor, nil)
}

// turn finds the node of an index whose turn it is among those with room, and has the next search begin behind it. of is which nodes
// the index is of; nil is all. held is as findAny tells it.
func (s *Scheduler) turn(a *app, need *records.Resource, x *nodeindex.Index, cursor *int, of []handle.Node) (h handle.Node, held bool) {
	n := len(s.nodes)
	if of != nil {
		n = len(of)
	}
	// a whole round without a node that takes the container ends the search
	for skipped := 0; skipped <= n; skipped++ {
		at := x.Next(*cursor, need)
		if at < 0 {
			if at = x.Next(0, need); at < 0 {
				return handle.NoNode, held
			}
		}
		if *cursor = at + 1; *cursor >= n {
			*cursor = 0
		}
		if h = handle.Node(at); of != nil {
			h = of[at]
		}
		if !s.shuns(a, &s.nodes[h]) {
			return h, false
		}
		held = held || !a.blacklisted(&s.nodes[h])
	}
	return handle.NoNode, held
}

func (a *app) blacklisted(n *node) bool {
	if len(a.blacklist) == 0 {
		return false
	}
	if _, on := a.blacklist[n.host]; on {
		return true
	}
	_, on := a.blacklist[n.rack]
	return on
}

func (s *Scheduler) allocate(h handle.App, d *demand, nh handle.Node, level Locality) {
	a := &s.apps[h]
	d.served(&s.nodes[nh], level)
	a.askFor(-1)
	back := s.calc.Negative(&d.capability)
	s.calc.Add(&a.pendingSum, &back)
	s.askedFor(a, &back)
	s.near(d, level)
	s.out = append(s.out, Decision{
		Kind:                Allocate,
		Container:           s.hold(h, nh, &d.capability),
		App:                 h,
		Node:                nh,
		Resource:            d.capability,
		Priority:            d.priority,
		AllocationRequestID: d.requestID,
		ExecutionType:       d.execution,
		Locality:            level,
	})
	s.trim(d, d.pending)
	if d.pending == 0 {
		s.show(d)
		s.unblock(a)
	}
	if d.pending == 0 && d.idle() {
		s.dropDemand(a, d)
	}
	s.settle(h)
}
