package core

import (
	"cmp"
	"math/bits"
	"slices"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
)

// reservations says which reservations need to be looked at. There may be as many as nodes, of which an event concerns one or none:
// a reservation is filled when its own node gets room, or when some other node has room for containers of its class, and
// undone when something else changes that it hangs on.
type reservations struct {
	ReservedOf       [class.Shared + 1]int32 // reservations of each class
	reservedClasses  []uint8                 // classes of Scheduler.Reserved, in its order, so that a search stays in one place
	ready            []handle.Node           // reserved nodes that got room for the container that they are reserved for
	Recheck          bool                    // all must be looked at
	reservationsMade int64                   // reservations that there ever were
}

// NoteReady notes that a reserved node may have room for the container that it is reserved for.
func (s *Core) NoteReady(n *nodeset.Node) {
	if c := &s.Containers[n.Reserved]; s.fitsOn(n, s.reservationAt[c.Reservation].Demand) {
		s.ready = append(s.ready, c.Node)
	}
}

func (s *Core) fitsOn(n *nodeset.Node, d *Demand) bool { return d.Size.FitsIn(s.Nodes.Free(n)) }

// placeOfReservation returns the index of a reservation in Scheduler.reserved, which is in order of turns.
func (s *Core) placeOfReservation(c handle.Container) int {
	at, _ := slices.BinarySearchFunc(s.Reserved, s.ReservationOf(c).Seq, func(c handle.Container, seq int64) int {
		return cmp.Compare(s.ReservationOf(c).Seq, seq)
	})
	return at
}

// countReservations counts reservations again, as the classes of their demands may have changed.
func (s *Core) countReservations() {
	s.ReservedOf = [len(s.ReservedOf)]int32{}
	s.reservedClasses = s.reservedClasses[:0]
	for _, c := range s.Reserved {
		of := s.ReservationOf(c).Demand.Class
		s.ReservedOf[of]++
		s.reservedClasses = append(s.reservedClasses, uint8(of))
	}
}

// nextOpen returns the index, from i on, of the first reservation that is to be looked at: its own node has room for it, or it is of a class for which
// some other node has. It is the end if there is none.
func (s *Core) nextOpen(i int, open ranking.Mask) int {
	ready := s.nextReady(i)
	if open == 0 {
		return ready
	}
	for ; i < ready && open&(1<<s.reservedClasses[i]) == 0; i++ {
	}
	return i
}

// nextReady returns the index, from i on, of the first reservation whose own node has room for it, or the end.
func (s *Core) nextReady(i int) int {
	first, left := len(s.Reserved), s.ready[:0]
	for _, h := range s.ready {
		n := &s.Nodes.At[h]
		if n.Reserved == handle.NoContainer || !s.fitsOn(n, s.ReservationOf(n.Reserved).Demand) {
			continue
		}
		left = append(left, h)
		if at := s.placeOfReservation(n.Reserved); at >= i {
			first = min(first, at)
		}
	}
	s.ready = left
	return first
}

// roomElsewhere returns the classes of reservations for which some node that isn't reserved has room.
func (s *Core) roomElsewhere() (m ranking.Mask) {
	for left := s.Classes.Taken(); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); s.ReservedOf[i] > 0 && s.Nodes.Index.Has(s.Classes.Size(i)) {
			m |= 1 << i
		}
	}
	return m
}

// fill turns reservations into containers: where their nodes have room now, or on other nodes where the tree says that
// reservations may look on (Hadoop: reservations-continue-look-all-nodes).
func (s *Core) fill() {
	for s.Roomier {
		s.Roomier = false
		s.fillOnce()
	}
}

func (s *Core) fillOnce() {
	elsewhere := s.Rules.FillElsewhere
	all := s.Recheck || s.ReservedOf[class.Shared] > 0
	s.Recheck = false
	var open ranking.Mask
	changed := elsewhere
	for i := 0; i < len(s.Reserved); {
		if !all {
			if changed {
				open, changed = s.roomElsewhere(), false
			}
			if i = s.nextOpen(i, open); i == len(s.Reserved) {
				return
			}
		}
		c := s.Reserved[i]
		x := &s.Containers[c]
		d, n, app, at := s.reservationAt[x.Reservation].Demand, &s.Nodes.At[x.Node], x.App, x.Node
		a, wait := &s.Apps[app], s.HoldsBack(&s.Apps[app], d)
		switch {
		case wait.Policy != "" && !wait.Capped || a.Bars(d, n) || !d.Size.FitsIn(s.Calc.Measure(*s.Nodes.Capability(n))) || !s.within(app, d):
			s.Withdraw(c)
		case s.fitsOn(n, d):
			s.dropReservation(c)
			s.allocate(app, d, at, d.LocalityOn(n))
			s.NodeFreed(at)
		case elsewhere && s.Nodes.Index.Has(&d.Size):
			other := s.findHost(a, d)
			switch {
			case other != handle.NoNode:
			case d.RelaxAny:
				other, _ = s.FindAny(a, d)
			default:
				other = s.findRack(a, d)
			}
			if other == handle.NoNode {
				i++
				continue
			}
			s.dropReservation(c)
			s.allocate(app, d, other, d.LocalityOn(&s.Nodes.At[other]))
			s.NodeFreed(at)
		default:
			i++
			continue
		}
		changed = elsewhere
	}
}
