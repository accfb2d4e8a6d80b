package scheduler

import (
	"cmp"
	"math/bits"
	"slices"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
)

// kept says which reservations need to be looked at. There may be as many as nodes, of which an event concerns one or none:
// a reservation is filled when its own node gets room, or when some other node has room for containers of its class, and
// undone when something else changes that it hangs on.
type kept struct {
	keptOf  [class.Shared + 1]int32 // reservations of each class
	ready   []handle.Node           // kept nodes that got room for what they are kept for
	recheck bool                    // all must be looked at
	turns   int64                   // reservations that there ever were
}

// noteReady notes that a kept node may have room for what it is kept for.
func (s *Scheduler) noteReady(n *node) {
	if c := &s.containers[n.reserved]; s.fitsOn(n, s.keepings[c.kept].demand) {
		s.ready = append(s.ready, c.node)
	}
}

func (s *Scheduler) fitsOn(n *node, d *demand) bool { return d.size.FitsIn(s.free(n)) }

// placeOfKept is the index of a reservation in Scheduler.reserved, which is in order of turns.
func (s *Scheduler) placeOfKept(c handle.Container) int {
	at, _ := slices.BinarySearchFunc(s.reserved, s.keepingOf(c).turn, func(c handle.Container, turn int64) int {
		return cmp.Compare(s.keepingOf(c).turn, turn)
	})
	return at
}

// countKept counts reservations anew, as the classes of their demands may have changed.
func (s *Scheduler) countKept() {
	s.keptOf = [len(s.keptOf)]int32{}
	for _, c := range s.reserved {
		s.keptOf[s.keepingOf(c).demand.class]++
	}
}

// nextReady is the index, from i on, of the first reservation whose own node has room for it, or the end.
func (s *Scheduler) nextReady(i int) int {
	first, left := len(s.reserved), s.ready[:0]
	for _, h := range s.ready {
		n := &s.nodes[h]
		if n.reserved == handle.NoContainer || !s.fitsOn(n, s.keepingOf(n.reserved).demand) {
			continue
		}
		left = append(left, h)
		if at := s.placeOfKept(n.reserved); at >= i {
			first = min(first, at)
		}
	}
	s.ready = left
	return first
}

// roomElsewhere is the classes of reservations for which some node that isn't kept has room.
func (s *Scheduler) roomElsewhere() (m order.Mask) {
	for left := s.classes.Taken(); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); s.keptOf[i] > 0 && s.index.Has(s.classes.Size(i)) {
			m |= 1 << i
		}
	}
	return m
}

// fill turns reservations into containers: where their nodes have room now, or on other nodes where the tree says that
// reservations may look on (Hadoop: reservations-continue-look-all-nodes).
func (s *Scheduler) fill() {
	for s.roomier {
		s.roomier = false
		s.fillOnce()
	}
}

func (s *Scheduler) fillOnce() {
	elsewhere := s.capacity && s.tree.Settings.ReservationsContinue
	all := s.recheck || s.keptOf[class.Shared] > 0
	s.recheck = false
	var open order.Mask
	changed := elsewhere
	for i := 0; i < len(s.reserved); {
		if !all {
			if changed {
				open, changed = s.roomElsewhere(), false
			}
			if open == 0 {
				if i = s.nextReady(i); i == len(s.reserved) {
					return
				}
			}
		}
		c := s.reserved[i]
		x := &s.containers[c]
		d, n, app, at := s.keepings[x.kept].demand, &s.nodes[x.node], x.app, x.node
		if !all && open&(1<<d.class) == 0 && !s.fitsOn(n, d) {
			i++
			continue
		}
		a := &s.apps[app]
		switch {
		case !n.open || !d.size.FitsIn(s.calc.Measure(*s.capability(n))) || a.blacklisted(n) || !s.within(app, d):
			s.unreserve(c)
		case s.fitsOn(n, d):
			s.unkeep(c)
			s.allocate(app, d, at, d.level(n))
			s.freed(at)
		case elsewhere && s.index.Has(&d.size):
			other := s.findHost(a, d)
			switch {
			case other != handle.NoNode:
			case d.relaxAny:
				other, _ = s.findAny(a, d)
			default:
				other = s.findRack(a, d)
			}
			if other == handle.NoNode {
				i++
				continue
			}
			s.unkeep(c)
			s.allocate(app, d, other, d.level(&s.nodes[other]))
			s.freed(at)
		default:
			i++
			continue
		}
		changed = elsewhere
	}
}
