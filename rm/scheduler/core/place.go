package core

import (
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
	"heddle/rm/scheduler/nodeset"
)

// place tries to give the application that was picked a container for its most urgent demand that may have one. Where there
// is none, it records that, so that the same isn't tried again.
func (s *Core) place(h handle.App) {
	a := &s.Apps[h]
	d := s.Demanded.First(&a.Set, s.Picked)
	if d == nil {
		panic("scheduler: an application was picked that has nothing to place")
	}
	if s.Rules.OwnFirst && s.Policy.HeldByOwn(a, d) {
		s.park(d, demand.BehindOwn)
		return
	}
	if a.guided && s.holdBack(a, d) {
		return
	}
	s.placeDemand(h, a, d)
}

func (s *Core) placeDemand(h handle.App, a *App, d *Demand) {
	if d.Class == class.Shared && !s.BelowMaximum(a.Leaf, &d.Size) {
		s.park(d, demand.OverLimit)
		return
	}
	if d.Placed && s.Unmet.PutsOff(d, s.Now) {
		s.park(d, demand.Unmet)
		return
	}
	if n := s.findHost(a, d); n != handle.NoNode {
		s.allocate(h, d, n, NodeLocal)
		return
	}
	if s.reserveNear(h, a, d, NodeLocal) {
		return
	}
	rack, anywhere := s.Delays(d)
	if rack > 0 && s.Nodes.Index.Has(&d.Size) && s.delayed(a, d, rack, false) {
		return
	}
	if n := s.findRack(a, d); n != handle.NoNode {
		s.allocate(h, d, n, RackLocal)
		return
	}
	if !d.RelaxAny {
		switch {
		case s.reserveNear(h, a, d, RackLocal):
		case s.heldByOwn(a, d):
			s.park(d, demand.BehindOwn)
		default:
			s.park(d, demand.NoPlace)
		}
		return
	}
	if anywhere > 0 && s.Nodes.Index.Has(&d.Size) && s.delayed(a, d, anywhere, true) {
		return
	}
	n, held := s.FindAny(a, d)
	switch {
	case n != handle.NoNode:
		s.allocate(h, d, n, OffSwitch)
	case held:
		s.park(d, demand.BehindOwn)
	default: // also where there is room, but the application shuns it
		s.reserveFor(h, a, d)
	}
}

// reserveFor reserves a node for a demand that has room nowhere, or records that there is nothing to reserve for it.
func (s *Core) reserveFor(h handle.App, a *App, d *Demand) {
	switch done, none := s.reserveAnywhere(h, a, d); {
	case done:
	case d.Placed:
		s.park(d, demand.Unmet)
	case d.Class == class.Shared || s.Rules.OnePerContainer && d.Reservations >= d.Pending || s.BarsSome(a) || !d.RelaxAny:
		s.park(d, demand.NoRoom)
	case none:
		s.Classes.CloseFrom(&s.Calc.Smallest)
		fallthrough // it may be smaller in some type
	default:
		s.Classes.Close(d.Class)
	}
}

// findHost finds a node on one of the preferred hosts, of these one that has input of the application in memory if there is one.
func (s *Core) findHost(a *App, d *Demand) handle.Node {
	if !d.Hosts || !d.Choosy {
		return handle.NoNode
	}
	if s.Staged.Has(d.App) {
		if nh := s.Staged.Best(d.App, func(nh handle.Node) bool {
			n := &s.Nodes.At[nh]
			return d.Wants(n.Host) > 0 && s.Nodes.HasRoom(n, &d.Size) && !s.Shuns(a, d, n)
		}); nh != handle.NoNode {
			return nh
		}
	}
	for k := range d.Places {
		i := d.LastPlace + k
		if i >= len(d.Places) {
			i -= len(d.Places)
		}
		if p := &d.Places[i]; p.Count > 0 {
			for _, nh := range s.Nodes.Sites[p.Name].Nodes {
				if n := &s.Nodes.At[nh]; s.Nodes.HasRoom(n, &d.Size) && !s.Shuns(a, d, n) {
					d.LastPlace = i
					return nh
				}
			}
		}
	}
	d.Hosts = false
	return handle.NoNode
}

// findRack finds a node in one of the preferred racks, each time another one.
func (s *Core) findRack(a *App, d *Demand) handle.Node {
	if !d.Racks || !d.Choosy {
		return handle.NoNode
	}
	for i := range d.Places {
		p := &d.Places[i]
		r := s.Nodes.Sites[p.Name].Rack
		if r == nil || !p.Relax || p.Count == 0 {
			continue
		}
		if nh, _ := s.nextWithRoom(a, d, s.Nodes.IndexOf(r), &r.Cursor, r.Nodes); nh != handle.NoNode {
			return nh
		}
	}
	d.Racks = false
	return handle.NoNode
}

// FindAny finds any node with room, each time another one, or the first by the order of the queue. If it finds none, held says that there is
// one on which a more urgent request of the application comes first.
func (s *Core) FindAny(a *App, d *Demand) (h handle.Node, held bool) {
	x, of, cursor := s.Nodes.RoundRobin(s.Queues[a.Leaf].Cfg.SortNodes, s.Now, &s.cursor)
	return s.nextWithRoom(a, d, x, cursor, of)
}

// nextWithRoom finds the node of an index whose turn it is among those with room, and starts the next search behind it. of is which nodes
// the index is of; nil is all. held is as findAny tells it.
func (s *Core) nextWithRoom(a *App, d *Demand, x *nodeindex.Index, cursor *int, of []handle.Node) (h handle.Node, held bool) {
	n := len(s.Nodes.At)
	if of != nil {
		n = len(of)
	}
	// a whole round without a node that takes the container ends the search
	for skipped := 0; skipped <= n; skipped++ {
		at := x.Next(*cursor, &d.Size)
		if at < 0 {
			if at = x.Next(0, &d.Size); at < 0 {
				return handle.NoNode, held
			}
		}
		if *cursor = at + 1; *cursor >= n {
			*cursor = 0
		}
		if h = handle.Node(at); of != nil {
			h = of[at]
		}
		if !s.Shuns(a, d, &s.Nodes.At[h]) {
			return h, false
		}
		held = held || s.Rules.OwnFirst && !a.Bars(d, &s.Nodes.At[h])
	}
	return handle.NoNode, held
}

func (a *App) Blacklisted(n *nodeset.Node) bool {
	if !a.excludes {
		return false
	}
	if _, on := a.Blacklist[n.Host]; on {
		return true
	}
	_, on := a.Blacklist[n.Rack]
	return on
}

func (s *Core) allocate(h handle.App, d *Demand, nh handle.Node, level Locality) {
	a := &s.Apps[h]
	d.Served(&s.Nodes.At[nh], level)
	if d.Guest || len(s.sharers) > 0 {
		s.countServed(a, d)
		s.grantedTo(h, d, &s.Nodes.At[nh], level)
	} else { // as countServed does
		a.askFor(-1)
		back := s.Calc.Negative(&d.Capability)
		s.Calc.Add(&a.PendingSum, &back)
		s.askedFor(a, &back)
	}
	s.placedAt(d, level)
	if level == NodeLocal && s.Staged.Has(h) {
		s.Staged.Took(h, nh)
	}
	c := s.holdOn(h, nh, &d.Capability)
	if d.Placed {
		s.Placing.Placed(c, h, nh, d.Scheduling().Tags)
	}
	if a.guided {
		guides{s}.toldGranted(h, d, c)
	}
	s.Out = append(s.Out, Decision{
		Kind:                Allocate,
		Container:           c,
		App:                 h,
		Node:                nh,
		Resource:            d.Capability,
		Priority:            d.Priority,
		AllocationRequestID: d.RequestID,
		ExecutionType:       d.Execution,
		Locality:            level,
	})
	if d.Pending > 0 {
		s.trim(d, d.Pending)
	} else {
		s.served(a, d)
	}
	s.settle(h)
}
