package probe

import "slices"

// Places in a queue that aren't one.
const (
	none = -1 // no probe may ask
	last = -2 // the first of those that are laid by
)

// layBy takes the entry at a place out of the way: all tasks of its job were launched, so that it asks when nothing else waits, and nothing overtakes it. A
// queue may have hundreds of these, and each search for the next probe would pass them.
func (l *line) layBy(i int) {
	e := l.all()[i]
	l.cut(i)
	late := l.more.late
	l.more.late = slices.Insert(late, placeOf(late, e.number), e)
}

// placeOf returns where a number is among entries, or would be.
func placeOf(entries []entry, number uint32) int {
	low, high := 0, len(entries)
	for low < high {
		if at := int(uint(low+high) / 2); int32(entries[at].number-number) < 0 {
			low = at + 1
		} else {
			high = at
		}
	}
	return low
}

// wake puts the first entry of those laid by back to its place, which it returns.
func (l *line) wake() int {
	e := l.more.late[0]
	if late := l.more.late; len(late) > few {
		l.more.late = late[1:] // hundreds would be moved each time
	} else {
		l.more.late = late[:copy(late, late[1:])] // and their room is used again
	}
	return l.back(e)
}

// back puts an entry to its place, which it returns.
func (l *line) back(e entry) int {
	at := placeOf(l.all(), e.number)
	l.insert(at, e)
	l.more.least = 0 // unknown
	return at
}

// recall puts those laid by back of which the job is one of these.
func (l *line) recall(of func(Handle) bool) {
	if l.more == nil {
		return
	}
	l.more.late = slices.DeleteFunc(l.more.late, func(e entry) bool {
		is := of(e.job)
		if is {
			l.back(e)
		}
		return is
	})
}

// recall puts the probes back that were laid by, and of whose jobs tasks wait again: some have failed.
func (w *Worker) recall() {
	if w.revived == w.jobs.revived {
		return
	}
	w.revived = w.jobs.revived
	if c := w.jobs.tally; c != nil {
		for _, h := range c.revived {
			j := &w.jobs.rest[h]
			if at, u := w.at(j.Priority, j.User); u >= 0 {
				w.classes[at].users[u].recall(func(x Handle) bool { return x == h && w.jobs.hot[h].remaining >= 0 })
			}
		}
		c.revived = c.revived[:0]
		return
	}
	for c := range w.classes {
		for u := range w.classes[c].users {
			w.classes[c].users[u].recall(func(h Handle) bool { return w.jobs.hot[h].remaining >= 0 })
		}
	}
}

// jobAt returns the job of the probe at a place that pick has found.
func (l *line) jobAt(place int) Handle {
	if place == last {
		return l.more.late[0].job
	}
	return l.all()[place].job
}
