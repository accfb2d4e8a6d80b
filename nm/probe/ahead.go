package probe

import (
	"slices"
	"time"
)

// ahead are asks ahead of room.
type ahead struct {
	most     int    // so many at a time
	roomless []Slot // in the order of their asks
}

// SetAhead says for how many tasks Next may ask before there is room for them, 0 by default. Their turn has come, and the room is theirs before any other
// probe's: the round trip of the ask passes while another task runs. A task that has come waits at this node, whatever happens elsewhere. So a caller asks
// ahead for no more tasks than will end within a few round trips.
func (a *ahead) SetAhead(n int) { a.most = n }

// Early reports whether a slot has no room yet: its task waits until Start returns the slot.
func (w *Worker) Early(s Slot) bool { return w.slots.runs[s].early }

// Ahead returns the slots that were asked for ahead and have no room yet, in the order in which Start gives it to them. The slice is good until the next call of another method.
func (a *ahead) Ahead() []Slot { return a.roomless }

// Hopeless reports whether a slot can't have room any more, as its task takes more than all that is lent.
func (w *Worker) Hopeless(s Slot) bool {
	return w.slots.runs[s].early && !w.jobs.rest[w.slots.runs[s].job].room().Fits(w.lent)
}

// Start gives room to slots that have none yet: first to those that were asked for ahead, in their order, and then to claims. It returns the next one that
// was bound to a task, which starts now. Those that wait for an answer start with it. A caller calls it before Next, until there is no other.
func (w *Worker) Start(now time.Duration) (Slot, bool) {
	for len(w.roomless)+w.claimed > 0 && !w.pause.expired {
		s := w.lacking()
		if s == none {
			break
		}
		r := &w.slots.runs[s]
		used := w.used.add(w.jobs.rest[r.job].room())
		if !used.Fits(w.lent) {
			break
		}
		w.used, r.early, r.begun = used, false, now
		w.roomed(s)
		if r.phase != asked {
			return s, true
		}
	}
	return -1, false
}

// lacking returns the slot that gets the next room; none if that is to be a probe's.
func (w *Worker) lacking() Slot {
	if len(w.roomless) > 0 {
		return w.roomless[0]
	}
	s := w.claim()
	if s != none && w.queued > w.held {
		if c, u, place := w.pick(); place != none && w.yields(s, c, u) {
			return none
		}
	}
	return s
}

// Began says that a slot's task runs in the room that another slot has just given back: the caller began it there without asking Start.
func (w *Worker) Began(now time.Duration, s Slot) {
	r := &w.slots.runs[s]
	if !r.early {
		return
	}
	w.roomed(s)
	w.used = w.used.add(w.jobs.rest[r.job].room())
	r.early, r.begun = false, now
}

// lack makes a slot wait for room.
func (w *Worker) lack(s Slot) {
	w.roomless = append(w.roomless, s)
	w.jobs.owns(w.slots.runs[s].user, 1)
}

// roomed ends a slot's wait for room.
func (w *Worker) roomed(s Slot) {
	if w.slots.runs[s].claim {
		w.unwant(s)
		return
	}
	w.roomless = slices.DeleteFunc(w.roomless, func(x Slot) bool { return x == s })
	w.jobs.owns(w.slots.runs[s].user, -1)
}
