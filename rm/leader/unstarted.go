package leader

import (
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// unstarted are granted containers that must be started by a deadline, the soonest first.
//
// Most are started within seconds, and the deadline is minutes away. So those that wait no more are dropped before, a few with each
// that is added: to look at all of them at once would stall the loop where hundreds of thousands wait.
type unstarted struct {
	parts [][]waiting // none is empty, and only the last one grows
	next  int         // the part that is looked through next
}

// waiting has no pointers: hundreds of thousands may wait, and the collector of garbage needn't look at them.
type waiting struct {
	id       records.ContainerID
	deadline int64 // in ns since 1970
}

// unstartedPart is the length of a part. With each new part two others are looked through.
const unstartedPart = 512

// add appends a container, whose deadline is not before the others'. stillWaits says of each whether it is neither started nor gone.
func (u *unstarted) add(id records.ContainerID, deadline time.Time, stillWaits func(records.ContainerID) bool) {
	last := len(u.parts) - 1
	if last < 0 || len(u.parts[last]) >= unstartedPart {
		u.drop(stillWaits)
		u.drop(stillWaits)
		u.parts = append(u.parts, make([]waiting, 0, unstartedPart))
		last = len(u.parts) - 1
	}
	u.parts[last] = append(u.parts[last], waiting{id, deadline.UnixNano()})
}

// drop drops from the next part those that wait no more. What is left of it and of the part before becomes one where it fits.
func (u *unstarted) drop(stillWaits func(records.ContainerID) bool) {
	if len(u.parts) == 0 {
		return
	}
	if u.next >= len(u.parts) {
		u.next = 0
	}
	i := u.next
	part := slices.DeleteFunc(u.parts[i], func(w waiting) bool { return !stillWaits(w.id) })
	u.parts[i] = part
	switch {
	case len(part) == 0:
		u.parts = slices.Delete(u.parts, i, i+1)
	case i > 0 && len(u.parts[i-1])+len(part) <= unstartedPart:
		u.parts[i-1] = append(u.parts[i-1], part...)
		u.parts = slices.Delete(u.parts, i, i+1)
	default:
		u.next++
	}
}

// due takes out those whose time is up.
func (u *unstarted) due(now time.Time) []records.ContainerID {
	var ids []records.ContainerID
	for len(u.parts) > 0 {
		part := u.parts[0]
		n := 0
		for n < len(part) && now.UnixNano() > part[n].deadline {
			ids = append(ids, part[n].id)
			n++
		}
		if n < len(part) {
			u.parts[0] = part[n:]
			break
		}
		u.parts = u.parts[1:]
		u.next = max(u.next-1, 0)
	}
	return ids
}

// waitsForStart reports whether a container was granted and is neither started nor gone.
func (cs *containers) waitsForStart(id records.ContainerID) bool {
	c := cs.work.Container(id)
	return c != nil && c.State == ledger.ContainerAllocated
}
