package core

import (
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
)

// A demand whose constraint no node with room satisfies waits until something changes that the constraint may hang on: containers with tags that come or go,
// attributes, nodes, room. There may be tens of thousands that nothing will ever satisfy, so that each look at them is short: some of each application in
// turn, every few milliseconds.

const (
	unmetInterval = 10   // ms between two looks
	unmetBudget   = 2000 // nodes that one look is about, and demands for which none needs to be looked at
)

// unmet are the demands that wait so. The zero value has none.
type unmet struct {
	of      map[handle.App][]*Demand
	turns   []handle.App // whose turn it is, each once
	state   int32        // changes with what they wait for
	changes int64        // of constraint.Table.Changes that state has seen
	due     int64        // when they are looked at next, in ms; 0: nothing has changed
	all     int          // how many wait
	unseen  int          // how many have to be looked at for the state of now, at most
}

func (u *unmet) any() bool { return len(u.turns) > 0 }

// parkUnmet has a demand wait for what its constraint hangs on.
func (s *Core) parkUnmet(d *Demand) {
	u := &s.unmet
	if u.of == nil {
		u.of = map[handle.App][]*Demand{}
	}
	if len(u.of[d.App]) == 0 {
		u.turns = append(u.turns, d.App)
	}
	d.Seen = u.state
	if !d.Queued {
		d.Queued = true
		u.of[d.App] = append(u.of[d.App], d)
		u.all++
	}
	s.setWhy(d, demand.Unmet)
	s.settle(d.App)
}

// stirUnmet notes that a node has room now.
func (s *Core) stirUnmet() {
	if s.unmet.any() {
		s.changeUnmet()
	}
}

func (s *Core) changeUnmet() {
	u := &s.unmet
	u.state++
	u.unseen = u.all
	if u.due == 0 {
		u.due = s.Now + unmetInterval
	}
	s.WakeAt(u.due)
}

// stirred looks whether tags, attributes or nodes have changed.
func (s *Core) stirred() {
	if u := &s.unmet; u.changes != s.Placing.Changes {
		u.changes = s.Placing.Changes
		s.changeUnmet()
	}
}

// Unaware reports whether demands here wait for changes elsewhere that this partition hasn't looked at.
func (s *Core) Unaware() bool { return s.unmet.any() && s.unmet.changes != s.Placing.Changes }

// wakeUnmet has some of the demands be tried again, if it is time.
func (s *Core) wakeUnmet() {
	u := &s.unmet
	if u.due == 0 || s.Now < u.due {
		if u.due != 0 {
			s.WakeAt(u.due)
		}
		return
	}
	u.due = 0
	for budget := unmetBudget; budget > 0 && u.unseen > 0 && u.any(); u.unseen-- {
		budget -= s.wakeNextUnmet()
	}
	if u.unseen > 0 && u.any() {
		u.due = s.Now + unmetInterval
		s.WakeAt(u.due)
	}
}

// wakeNextUnmet looks at one demand of the application whose turn it is, and returns what of the budget that takes.
func (s *Core) wakeNextUnmet() int {
	u := &s.unmet
	h := u.turns[0]
	list := u.of[h]
	d := list[0]
	u.turns, list = u.turns[1:], list[1:]
	u.all--
	took := 1
	switch waits := !d.Gone() && d.Why == demand.Unmet; {
	case !waits:
		d.Queued = false
	case d.Seen == u.state || !d.Possible():
		d.Seen = u.state
		list = append(list, d)
		u.all++
	default:
		d.Queued = false
		took = max(1, 3*len(s.Nodes.At)) // it looks for room, for one to reserve, and on racks
		defer s.Unpark(d)
	}
	if u.of[h] = list; len(list) > 0 {
		u.turns = append(u.turns, h)
	} else {
		delete(u.of, h)
	}
	return took
}
