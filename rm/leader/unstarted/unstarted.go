// Package unstarted lists granted containers that must be started by a deadline, the soonest first. A leader adds what it grants, and once a
// second takes out what is due.
//
// Most containers are started within seconds, and the deadline is minutes away. So the package drops started containers earlier, a few with
// each addition: a look at hundreds of thousands at once would stall the loop.
package unstarted

import (
	"slices"
	"time"

	"heddle/yarn/records"
)

// List is such a list. The zero value is empty. Its methods are for one goroutine.
type List struct {
	parts [][]waiting // none is empty, and only the last one grows
	next  int         // the part that is looked through next
}

// waiting has no pointers: hundreds of thousands may wait, and the collector of garbage needn't look at them.
type waiting struct {
	id       records.ContainerID
	deadline int64 // in ns since 1970
}

// partLength is the length of a part. With each new part Add looks through two others.
const partLength = 512

// Add appends a container, whose deadline is not before the others'. stillWaits says of each whether it is neither started nor gone.
func (l *List) Add(id records.ContainerID, deadline time.Time, stillWaits func(records.ContainerID) bool) {
	last := len(l.parts) - 1
	if last < 0 || len(l.parts[last]) >= partLength {
		l.drop(stillWaits)
		l.drop(stillWaits)
		l.parts = append(l.parts, make([]waiting, 0, partLength))
		last = len(l.parts) - 1
	}
	l.parts[last] = append(l.parts[last], waiting{id, deadline.UnixNano()})
}

// drop drops from the next part those that wait no more. The rests of it and of the part before become one where they fit.
func (l *List) drop(stillWaits func(records.ContainerID) bool) {
	if len(l.parts) == 0 {
		return
	}
	if l.next >= len(l.parts) {
		l.next = 0
	}
	i := l.next
	part := slices.DeleteFunc(l.parts[i], func(w waiting) bool { return !stillWaits(w.id) })
	l.parts[i] = part
	switch {
	case len(part) == 0:
		l.parts = slices.Delete(l.parts, i, i+1)
	case i > 0 && len(l.parts[i-1])+len(part) <= partLength:
		l.parts[i-1] = append(l.parts[i-1], part...)
		l.parts = slices.Delete(l.parts, i, i+1)
	default:
		l.next++
	}
}

// Due takes out those whose time is up.
func (l *List) Due(now time.Time) []records.ContainerID {
	var ids []records.ContainerID
	for len(l.parts) > 0 {
		part := l.parts[0]
		n := 0
		for n < len(part) && now.UnixNano() > part[n].deadline {
			ids = append(ids, part[n].id)
			n++
		}
		if n < len(part) {
			l.parts[0] = part[n:]
			break
		}
		l.parts = l.parts[1:]
		l.next = max(l.next-1, 0)
	}
	return ids
}
