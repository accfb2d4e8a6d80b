package probe

import "slices"

// claimant is the claims of one user, of one priority, that have no room yet, in the order of their coming.
type claimant struct {
	priority, user int32
	slots          []Slot
}

// claims are those for which there is no room.
type claims struct {
	claimants []claimant
	claimed   int // slots of all
}

// want makes a claim wait for room.
func (w *Worker) want(s Slot) {
	r := &w.slots.runs[s]
	w.claimed++
	w.jobs.owns(r.user, 1)
	for i := range w.claimants {
		if c := &w.claimants[i]; c.priority == r.priority && c.user == r.user {
			c.slots = append(c.slots, s)
			return
		}
	}
	w.claimants = append(w.claimants, claimant{r.priority, r.user, []Slot{s}})
}

// unwant ends a claim's wait for room.
func (w *Worker) unwant(s Slot) {
	r := &w.slots.runs[s]
	w.claimed--
	w.jobs.owns(r.user, -1)
	for i := range w.claimants {
		c := &w.claimants[i]
		if c.priority != r.priority || c.user != r.user {
			continue
		}
		if c.slots[0] == s {
			c.slots = c.slots[1:]
		} else {
			at := slices.Index(c.slots, s)
			c.slots = slices.Delete(c.slots, at, at+1)
		}
		if len(c.slots) == 0 {
			w.claimants = slices.Delete(w.claimants, i, i+1)
		}
		return
	}
}

// claim returns the claim that gets room first; none if no claim waits for it. Priorities and shares are as for probes, so that no scheduler that binds early has all of
// the node.
func (w *Worker) claim() Slot {
	var best *claimant
	var next float64
	for i := range w.claimants {
		c := &w.claimants[i]
		if mine := w.nextOf(c); best == nil || c.priority > best.priority || c.priority == best.priority && mine < next {
			best, next = c, mine
		}
	}
	if best == nil {
		return none
	}
	return best.slots[0]
}

// nextOf returns the virtual time at which the next task of a claimant is to start.
func (w *Worker) nextOf(c *claimant) float64 {
	if at, u := w.at(c.priority, c.user); u >= 0 {
		return w.classes[at].users[u].next
	}
	return 0
}

// yields reports whether a claim that waits for room gives way to the probes of a user.
func (w *Worker) yields(s Slot, c *class, u *user) bool {
	r := &w.slots.runs[s]
	if r.priority != c.priority {
		return r.priority < c.priority
	}
	at, i := w.at(r.priority, r.user)
	return i >= 0 && w.classes[at].users[i].next > u.next
}
