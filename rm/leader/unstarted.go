package leader

import (
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// unstarted are granted containers that must be started by a deadline, the soonest first.
type unstarted struct {
	list []waiting
	// full is the length at which those that are started or gone by now are dropped: most are within seconds, and the deadline is minutes
	// away.
	full int
}

type waiting struct {
	id       records.ContainerID
	deadline time.Time
}

// minUnstarted is the length below which dropping isn't worth it.
const minUnstarted = 1024

// add appends a container, whose deadline is not before the others'. stillWaits says of each whether it is neither started nor gone.
func (u *unstarted) add(id records.ContainerID, deadline time.Time, stillWaits func(records.ContainerID) bool) {
	if len(u.list) >= max(u.full, minUnstarted) {
		u.list = slices.DeleteFunc(u.list, func(w waiting) bool { return !stillWaits(w.id) })
		u.full = 2 * len(u.list)
	}
	u.list = append(u.list, waiting{id, deadline})
}

// due takes out those whose time is up.
func (u *unstarted) due(now time.Time) []records.ContainerID {
	var ids []records.ContainerID
	for _, w := range u.list {
		if !now.After(w.deadline) {
			break
		}
		ids = append(ids, w.id)
	}
	if len(ids) > 0 {
		u.list = slices.Delete(u.list, 0, len(ids))
	}
	return ids
}

// waitsForStart reports whether a container was granted and is neither started nor gone.
func (l *Leader) waitsForStart(id records.ContainerID) bool {
	c := l.work.Container(id)
	return c != nil && c.State == ledger.ContainerAllocated
}
