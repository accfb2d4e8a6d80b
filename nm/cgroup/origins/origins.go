// Package origins finds the processes that were started in a group, wherever they are now, by the group's name in their
// environment.
package origins

import (
	"errors"
	"os"
	"sync"
	"time"

	"heddle/internal/claims"
	"heddle/internal/together"
	"heddle/nm/proc"
)

// Origins knows of all processes of the machine in which group they were started, by a variable in their environment. It reads the environment of
// each once: that takes longer than to list them, and brings a page of the process back from swap. Only processes that are new and of no group
// are looked at again: until a program has begun they have the environment of another, or none. Make it with New.
//
// Any process can claim any group, and may block readers of its environment (heddle/internal/claims). Callers must not depend on
// processes of users that are unrelated to the group: see Member.UID.
type Origins struct {
	variable string
	newFor   time.Duration               // newFor but in tests
	snapshot func() (*proc.Table, error) // proc.Snapshot but in tests

	looks together.Group[sighting]

	mu   sync.Mutex
	seen map[int]origin // by pid
}

// New returns one for processes whose group is in a variable.
func New(variable string) *Origins {
	return &Origins{variable: variable, newFor: newFor, snapshot: proc.Snapshot}
}

// newFor is for how long a process that was first seen may be about to begin another program.
const newFor = time.Second

// origin is where a process was started.
type origin struct {
	start uint64    // of the process: another one may have got its pid
	until time.Time // it is looked at again if that is before this; zero: never
	group string    // "": none
	uid   int       // real; valid if group is
}

// Member is a process that was started in a group, or says so.
type Member struct {
	proc.ID
	UID int // real
}

// Privileged reports whether the processes of a user may leave their groups: root's may, and so may those of the groups' owner.
func Privileged(uid int) bool { return uid == 0 || uid == os.Geteuid() }

// Started returns the processes that were started in a group, wherever they are. It is unsure if it has found a privileged one for the first time
// that has no environment: it may be about to begin a program. Concurrent callers share one look at all processes of the machine, as when a
// NodeManager with hundreds of containers starts or ends.
func (o *Origins) Started(group string) (out []Member, unsure bool, err error) {
	found := o.looks.Get(func() sighting {
		table, err := o.snapshot()
		if err != nil {
			return sighting{err: err}
		}
		return o.sight(table)
	})
	if found.err != nil {
		return nil, false, found.err
	}
	out, unsure = o.take(found, group)
	return out, unsure, nil
}

// StartedIn is Started for a table of all processes.
func (o *Origins) StartedIn(table *proc.Table, group string) (out []Member, unsure bool) {
	return o.take(o.sight(table), group)
}

// sighting holds the result of a look at all processes. It is immutable.
type sighting struct {
	living, dead map[string][]Member // by group
	unsure       bool                // see Started
	err          error
}

// take returns the part of a sighting that is of a group. Those of its processes that have ended make it unsure once: they may have left others behind.
func (o *Origins) take(found sighting, group string) (out []Member, unsure bool) {
	unsure = found.unsure
	for _, m := range found.dead[group] {
		unsure = unsure || Privileged(m.UID)
		o.Forget(m.ID)
	}
	return found.living[group], unsure
}

// sight looks at all processes in a table.
func (o *Origins) sight(table *proc.Table) sighting {
	o.mu.Lock()
	defer o.mu.Unlock()
	begin := time.Now()
	now := make(map[int]origin, len(o.seen))
	found := sighting{living: map[string][]Member{}, dead: map[string][]Member{}}
	table.All(func(p proc.Process) bool {
		is, known := o.seen[p.PID]
		if known = known && is.start == p.Start; !known {
			is = origin{start: p.Start, until: begin.Add(o.newFor)}
		}
		if !is.until.IsZero() && is.look(p.PID, o.variable, known, begin) {
			found.unsure = true
		}
		if is.group != "" {
			of := found.living
			if p.Dead() {
				of = found.dead
			}
			of[is.group] = append(of[is.group], Member{p.ID, is.uid})
		}
		now[p.PID] = is
		return true
	})
	o.seen = now
	return found
}

// look reads the environment of a process. It returns true for a privileged one that is seen for the first time and has none.
func (o *origin) look(pid int, variable string, known bool, now time.Time) (unsure bool) {
	v, err := claims.Environ(pid, variable) // other users' can't be read, and are none of ours
	uid, notOf := claims.UID(pid)
	switch {
	case errors.Is(err, claims.ErrSilent):
		o.until = now.Add(newFor) // it costs little to ask again
		return false
	case err == nil && notOf == nil && v.Found:
		o.group, o.uid, o.until = v.First, uid, time.Time{}
		return false
	case known && now.After(o.until):
		o.until = time.Time{}
	}
	return !known && err == nil && v.Blank && notOf == nil && Privileged(uid)
}

// Forget forgets a process that has ended: it may not be reaped yet.
func (o *Origins) Forget(id proc.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if is, ok := o.seen[id.PID]; ok && is.start == id.Start {
		is.group, is.until = "", time.Time{}
		o.seen[id.PID] = is
	}
}
