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
	number uint32 // of the first of them: a worker numbers its probes as they come
	held   bool   // a slot has it: its task is asked for or, as it sticks, runs
	sticks bool   // it has had a task
}

// line is probes in the order of their arrival.
type line struct {
	head    int // where the first one is
	probes  int // with those laid by
	entries []entry
	more    *more // nil: it was always short, and nothing is laid by
}

// more has the fields that few queues use. It is apart from the rest, as simulations of many nodes wait for memory most of the time.
type more struct {
	late []entry // laid by (layBy), in the order of their arrival
	watch
}

// laidBy returns the entries that are laid by.
func (l *line) laidBy() []entry {
	if l.more == nil {
		return nil
	}
	return l.more.late
}

// len returns how many entries there are.
func (l *line) len() int { return len(l.entries) - l.head }

// all returns the entries, for reading and changing them in place.
func (l *line) all() []entry { return l.entries[l.head:] }

// push adds a probe of a job at the end.
func (l *line) push(h Handle, number uint32) {
	l.probes++
	if n := len(l.entries); n > l.head {
		if last := &l.entries[n-1]; *last == (entry{job: h, more: last.more, number: last.number}) && last.more < math.MaxInt32 {
			last.more++
			return
		}
	}
	if l.head > 32 && l.head*2 > len(l.entries) {
		n := copy(l.entries, l.entries[l.head:])
		l.entries, l.head = l.entries[:n], 0
	}
	l.entries = append(l.entries, entry{job: h, number: number})
}

// single makes the first probe of an entry an entry of its own, at the same place.
func (l *line) single(i int) *entry {
	at := l.head + i
	if l.entries[at].more == 0 {
		return &l.entries[at]
	}
	one := l.entries[at].first()
	l.insert(i, one)
	return &l.entries[l.head+i]
}

// first takes the first probe off an entry of several.
func (e *entry) first() entry {
	one := *e
	one.more = 0
	e.more--
	e.number++ // below that of the next entry, as each of these probes had one of its own
	return one
}

// insert puts an entry in front of that at a place.
func (l *line) insert(i int, e entry) {
	if l.head > 0 && i <= l.len()/2 {
		l.head--
		all := l.all()
		copy(all, all[1:i+1])
		all[i] = e
		return
	}
	l.entries = slices.Insert(l.entries, l.head+i, e)
}

// remove takes out the first probe of the entry at a place, counted from the first.
func (l *line) remove(i int) {
	l.probes--
	if e := &l.entries[l.head+i]; e.more > 0 {
		e.first()
		return
	}
	l.cut(i)
}

// cut takes out the entry at a place.
func (l *line) cut(i int) {
	if all := l.all(); i < len(all)/2 || i == 0 {
		copy(all[1:], all[:i])
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
func (l *line) find(number uint32, before int) int {
	all := l.all()
	if before < len(all) && all[before].number == number {
		return before
	}
	if at := placeOf(all, number); at < len(all) && all[at].number == number {
		return at
	}
	return -1
}
