package probe

import "time"

// SetAhead says for how many tasks Next may ask before there is room for them, 0 by default. Their turn has come, and the room is theirs before any other
// probe's: the round trip of the ask passes while another task runs. A task that has come waits at this node, whatever happens elsewhere. So a caller asks
// ahead for no more tasks than will end within a few round trips.
func (w *Worker) SetAhead(n int) { w.ahead = n }

// Early reports whether a slot has no room yet: what it was bound to waits until Start returns the slot.
func (w *Worker) Early(s Slot) bool { return w.slots.runs[s].early }

// Hopeless reports whether a slot can't have room any more, as its task takes more than all that is lent.
func (w *Worker) Hopeless(s Slot) bool {
	return w.slots.runs[s].early && !w.jobs.rest[w.slots.runs[s].job].room().Fits(w.lent)
}

// Start gives room to slots that were asked for ahead, in their order. It returns the next one that was bound to a task, which starts now. Those that wait for
// an answer start with it. A caller that asks ahead calls it before Next, until there is no other.
func (w *Worker) Start(now time.Duration) (Slot, bool) {
	for len(w.early) > 0 && !w.pause.expired {
		s := w.early[0]
		r := &w.slots.runs[s]
		used := w.used.add(w.jobs.rest[r.job].room())
		if !used.Fits(w.lent) {
			break
		}
		w.used, r.early = used, false
		w.early = append(w.early[:0], w.early[1:]...)
		if r.phase != asked {
			r.begun = now
			return s, true
		}
	}
	return -1, false
}
