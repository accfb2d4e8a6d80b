package demand

import (
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/handle"
)

// A demand whose constraint no node with room satisfies waits until something changes that the constraint may hang on: containers with tags that come or go,
// attributes, nodes, room. There may be tens of thousands that nothing will ever satisfy, and new ones all the time. So searches for them have an
// allowance (constraint.Table.Allowance). What is beyond it lines up, and applications take turns.

const (
	unmetInterval = 10   // ms between two looks
	maxUnmetLooks = 2000 // demands that one look is about
)

// Unmets are the demands that wait so. The zero value has none.
type Unmets struct {
	of      map[handle.App][]*Demand
	turns   []handle.App // whose turn it is, each once
	state   int32        // changes with what they wait for
	changes int64        // of constraint.Table.Changes that state has seen
	due     int64        // when they are looked at next, in ms; 0: nothing has changed
	all     int          // how many wait
	unseen  int          // how many have to be looked at for the state of now, at most
	looks   int          // how many may be looked at yet at this time
	lineUp  bool         // the allowance was used up, so that new ones line up, too
}

// Any reports whether there are any.
func (u *Unmets) Any() bool { return len(u.turns) > 0 }

// PutsOff reports whether nodes aren't to be searched for a demand with a SchedulingRequest now: none can satisfy its constraint, or it isn't its turn. It is to be
// entered then.
func (u *Unmets) PutsOff(d *Demand, now int64) bool {
	p := d.scheduling
	if p.putOff = false; p.Constraint == nil {
		return false
	}
	if p.permit == once { // Retry has looked whether it is possible
		p.permit = more
		return false
	}
	if p.permit == notYet && u.lineUp || p.table.Allowance(now) <= 0 {
		p.putOff, u.lineUp = true, true
		return true
	}
	p.table.Spend(p.weight)
	return !d.Possible()
}

// Add enters a demand for which no node was found, or that was put off. wake is called with the time at which Wake is due, if it is.
func (u *Unmets) Add(d *Demand, now int64, wake func(int64)) {
	if u.of == nil {
		u.of = map[handle.App][]*Demand{}
	}
	p := d.scheduling
	p.permit, p.seen = notYet, u.state
	if !d.queued {
		if len(u.of[d.App]) == 0 {
			u.turns = append(u.turns, d.App)
		}
		d.queued = true
		u.of[d.App] = append(u.of[d.App], d)
		u.all++
	}
	if p.putOff {
		p.seen--
		u.Look(now, wake)
	}
}

// Look has all be looked at soon: those that are gone are forgotten, and those that were put off tried. wake is called with the time at which Wake is due.
func (u *Unmets) Look(now int64, wake func(int64)) {
	if u.Any() {
		u.look(now, wake)
	}
}

func (u *Unmets) look(now int64, wake func(int64)) {
	u.unseen = u.all
	if u.due == 0 {
		u.due = now + unmetInterval
	}
	wake(u.due)
}

// Stir notes that a node has room now. wake is called with the time at which Wake is due.
func (u *Unmets) Stir(now int64, wake func(int64)) {
	u.state++
	u.Look(now, wake)
}

// Unaware reports whether tags, attributes or nodes have changed since they were looked at: changes is constraint.Table.Changes.
func (u *Unmets) Unaware(changes int64) bool { return u.Any() && u.changes != changes }

// Wake has Retry try some of the demands again, if it is time. later is called with the time of the next look if it isn't.
func (u *Unmets) Wake(now int64, later func(int64)) {
	switch {
	case u.due == 0:
	case now < u.due:
		later(u.due)
	default:
		u.due, u.looks = 0, maxUnmetLooks
	}
}

// Retry has some of the demands be tried again while Wake has found that it is time: try is called for each. nodes is how many there are. It reports whether
// there were any; if so, there may be more when these have been.
func (u *Unmets) Retry(now int64, table *constraint.Table, nodes int, try func(*Demand)) (any bool) {
	return u.looks > 0 && u.retry(now, table, nodes, try)
}

func (u *Unmets) retry(now int64, table *constraint.Table, nodes int, try func(*Demand)) (any bool) {
	var retry []*Demand
	for left := table.Allowance(now); left > 0 && u.looks > 0 && u.unseen > 0 && u.Any(); u.looks-- {
		u.unseen--
		before := table.Looked
		if d := u.next(); d != nil {
			left -= d.scheduling.weight * int64(2*nodes) // it looks for room, and for a node to reserve
			retry = append(retry, d)
		}
		left -= table.Looked - before
	}
	for _, d := range retry {
		try(d)
	}
	return len(retry) > 0
}

// End ends a time of decisions; changes is constraint.Table.Changes, which these may have caused.
func (u *Unmets) End(changes, now int64, wake func(int64)) {
	if u.looks = 0; u.Any() {
		u.end(changes, now, wake)
	} else {
		u.lineUp = false
	}
}

func (u *Unmets) end(changes, now int64, wake func(int64)) {
	if u.changes != changes { // tags, attributes or nodes
		u.changes = changes
		u.Stir(now, wake)
	}
	switch waits := u.unseen > 0 && u.Any(); {
	case !waits:
		u.lineUp = false
	case u.due == 0:
		u.due = now + unmetInterval
		wake(u.due)
	}
}

// next takes the next demand of the application whose turn it is. It returns one that is to be tried; the others stay, or are forgotten.
func (u *Unmets) next() (try *Demand) {
	h := u.turns[0]
	list := u.of[h]
	d := list[0]
	u.turns, list = u.turns[1:], list[1:]
	u.all--
	p := d.scheduling
	switch waits := !d.gone && d.Why == Unmet; {
	case !waits:
		d.queued = false
	case p.seen == u.state || !u.possible(d):
		list = append(list, d)
		u.all++
	default:
		d.queued, p.permit = false, once
		try = d
	}
	if u.of[h] = list; len(list) > 0 {
		u.turns = append(u.turns, h)
	} else {
		delete(u.of, h)
	}
	return try
}

// possible is Demand.Possible of one that waits.
func (u *Unmets) possible(d *Demand) bool {
	p := d.scheduling
	if p.table.Spend(p.weight); d.Possible() {
		return true
	}
	p.seen, p.putOff = u.state, false
	return false
}
