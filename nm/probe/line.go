package probe

import "time"

// entry is a probe in a queue.
type entry struct {
	passed time.Duration // estimates of what overtook it
	job    Handle
	id     uint32 // tells the probes of a worker apart
	held   bool   // a slot has it: its task is asked for or, as it sticks, runs
	sticks bool   // it has had a task
}

// line is probes in the order of their arrival.
type line struct {
	head    int // where the first one is
	entries []entry
}

func (l *line) len() int { return len(l.entries) - l.head }

// all are the probes, for reading and changing them in place.
func (l *line) all() []entry { return l.entries[l.head:] }

func (l *line) push(e entry) {
	if l.head > 32 && l.head*2 > len(l.entries) {
		n := copy(l.entries, l.entries[l.head:])
		l.entries, l.head = l.entries[:n], 0
	}
	l.entries = append(l.entries, e)
}

// remove takes out the probe at a place, counted from the first.
func (l *line) remove(i int) {
	if i == 0 {
		if l.head++; l.head == len(l.entries) {
			l.head, l.entries = 0, l.entries[:0]
		}
		return
	}
	at := l.head + i
	copy(l.entries[at:], l.entries[at+1:])
	l.entries = l.entries[:len(l.entries)-1]
}

// find returns the place of a probe that was at a given one before, or −1.
func (l *line) find(id uint32, before int) int {
	all := l.all()
	if before < len(all) && all[before].id == id {
		return before
	}
	for i := range all {
		if all[i].id == id {
			return i
		}
	}
	return -1
}
