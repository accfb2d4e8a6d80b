package probe

import (
	"math"
	"slices"
	"time"
)

// entry is a probe in a queue, and those behind it that differ from it in nothing: a job's probes come together, and most wait together.
type entry struct {
	passed time.Duration // estimates of what overtook it
	job    Handle
	more   int32  // probes behind it that are the same; 0 for one that a slot has
	id     uint32 // tells the probes apart that slots have, or had
	held   bool   // a slot has it: its task is asked for or, as it sticks, runs
	sticks bool   // it has had a task
}

// line is probes in the order of their arrival.
type line struct {
	head    int // where the first one is
	probes  int
	entries []entry
}

// len is how many entries there are.
func (l *line) len() int { return len(l.entries) - l.head }

// all are the entries, for reading and changing them in place.
func (l *line) all() []entry { return l.entries[l.head:] }

// push adds a probe of a job at the end.
func (l *line) push(h Handle) {
	l.probes++
	if n := len(l.entries); n > l.head {
		if last := &l.entries[n-1]; *last == (entry{job: h, more: last.more}) && last.more < math.MaxInt32 {
			last.more++
			return
		}
	}
	if l.head > 32 && l.head*2 > len(l.entries) {
		n := copy(l.entries, l.entries[l.head:])
		l.entries, l.head = l.entries[:n], 0
	}
	l.entries = append(l.entries, entry{job: h})
}

// single makes the first probe of an entry an entry of its own, at the same place.
func (l *line) single(i int) *entry {
	at := l.head + i
	if l.entries[at].more == 0 {
		return &l.entries[at]
	}
	one := l.entries[at]
	one.more = 0
	l.entries[at].more--
	if i == 0 && l.head > 0 {
		l.head--
		at--
		l.entries[at] = one
	} else {
		l.entries = slices.Insert(l.entries, at, one)
	}
	return &l.entries[at]
}

// remove takes out the first probe of the entry at a place, counted from the first.
func (l *line) remove(i int) {
	l.probes--
	if l.entries[l.head+i].more > 0 {
		l.entries[l.head+i].more--
		return
	}
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
