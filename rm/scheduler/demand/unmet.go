package demand

import "heddle/rm/scheduler/handle"

// A demand whose constraint no node with room satisfies waits until something changes that the constraint may hang on: containers with tags that come or go,
// attributes, nodes, room. There may be tens of thousands that nothing will ever satisfy, so that each look at them is short: some of each application in
// turn, every few milliseconds.

const (
	unmetInterval = 10   // ms between two looks
	unmetBudget   = 2000 // nodes that one look is about, and demands for which none needs to be looked at
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
}

// Any reports whether there are any.
func (u *Unmets) Any() bool { return len(u.turns) > 0 }

// Add enters a demand that was just tried in vain.
func (u *Unmets) Add(d *Demand) {
	if u.of == nil {
		u.of = map[handle.App][]*Demand{}
	}
	if d.seen = u.state; d.queued {
		return
	}
	if len(u.of[d.App]) == 0 {
		u.turns = append(u.turns, d.App)
	}
	d.queued = true
	u.of[d.App] = append(u.of[d.App], d)
	u.all++
}

// Stir notes that a node has room now. wake is called with the time at which Wake is due.
func (u *Unmets) Stir(now int64, wake func(int64)) {
	if !u.Any() {
		return
	}
	u.state++
	u.unseen = u.all
	if u.due == 0 {
		u.due = now + unmetInterval
	}
	wake(u.due)
}

// Unaware reports whether tags, attributes or nodes have changed since they were looked at: changes is constraint.Table.Changes.
func (u *Unmets) Unaware(changes int64) bool { return u.Any() && u.changes != changes }

// Aware is Stir where tags, attributes or nodes have changed.
func (u *Unmets) Aware(changes, now int64, wake func(int64)) {
	if u.Unaware(changes) {
		u.changes = changes
		u.Stir(now, wake)
	}
}

// Wake has some of the demands be tried again, if it is time: try is called for each. nodes is how many there are. later is called with the time of the
// next look.
func (u *Unmets) Wake(now int64, nodes int, try func(*Demand), later func(int64)) {
	switch {
	case u.due == 0:
		return
	case now < u.due:
		later(u.due)
		return
	}
	u.due = 0
	var retry []*Demand
	for budget := unmetBudget; budget > 0 && u.unseen > 0 && u.Any(); u.unseen-- {
		budget--
		if d := u.next(); d != nil {
			budget -= 3 * nodes // it looks for room, for a node to reserve, and on racks
			retry = append(retry, d)
		}
	}
	for _, d := range retry {
		try(d)
	}
	if u.unseen > 0 && u.Any() {
		u.due = now + unmetInterval
		later(u.due)
	}
}

// next takes the next demand of the application whose turn it is. It returns one that is to be tried; the others stay, or are forgotten.
func (u *Unmets) next() (try *Demand) {
	h := u.turns[0]
	list := u.of[h]
	d := list[0]
	u.turns, list = u.turns[1:], list[1:]
	u.all--
	switch waits := !d.gone && d.Why == Unmet; {
	case !waits:
		d.queued = false
	case d.seen == u.state || !d.Possible():
		d.seen = u.state
		list = append(list, d)
		u.all++
	default:
		d.queued = false
		try = d
	}
	if u.of[h] = list; len(list) > 0 {
		u.turns = append(u.turns, h)
	} else {
		delete(u.of, h)
	}
	return try
}
