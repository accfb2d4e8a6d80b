// Package origins finds the processes that were started in a group, wherever they are now, by the group's name in their
// environment.
package origins

import (
	"errors"
	"os"
	"sync"
	"time"

	"heddle/internal/claims"
	"heddle/nm/proc"
)

// Origins knows of all processes of the machine in which group they were started, by a variable in their environment. It reads the environment of
// each once: that takes longer than to list them, and brings a page of the process back from swap. Only processes that are new and of no group
// are looked at again: until a program has begun they have the environment of another, or none. Make it with New.
//
// Any process can claim any group, and may block whoever reads its environment (heddle/internal/claims). Whoever uses it must not depend on
// processes of users who have nothing to do with the group: see Member.UID.
type Origins struct {
	variable string
	newFor   time.Duration // newFor but in tests

	mu   sync.Mutex
	seen map[int]origin // by pid
}

// New returns one for processes whose group is in a variable.
func New(variable string) *Origins { return &Origins{variable: variable, newFor: newFor} }

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

// Privileged reports whether the processes of a user may leave their groups: root's may, and so may those of the user to whom the groups belong.
func Privileged(uid int) bool { return uid == 0 || uid == os.Geteuid() }

// Started returns the processes that were started in a group, wherever they are. It is unsure if it has found a privileged one for the first time
// that has no environment: it may be about to begin a program.
func (o *Origins) Started(group string) (out []Member, unsure bool, err error) {
	table, err := proc.Snapshot()
	if err != nil {
		return nil, false, err
	}
	out, unsure = o.StartedIn(table, group)
	return out, unsure, nil
}

// StartedIn is Started for a table of all processes.
func (o *Origins) StartedIn(table *proc.Table, group string) (out []Member, unsure bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	begin := time.Now()
	now := make(map[int]origin, len(o.seen))
	table.All(func(p proc.Process) bool {
		is, known := o.seen[p.PID]
		if known = known && is.start == p.Start; !known {
			is = origin{start: p.Start, until: begin.Add(o.newFor)}
		}
		if !is.until.IsZero() && is.look(p.PID, o.variable, known, begin) {
			unsure = true
		}
		if is.group == group && group != "" {
			if p.Dead() {
				is.group, unsure = "", unsure || Privileged(is.uid) // it may have left others behind
			} else {
				out = append(out, Member{p.ID, is.uid})
			}
		}
		now[p.PID] = is
		return true
	})
	o.seen = now
	return out, unsure
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

// Forget forgets a process that has ended: nobody may have reaped it yet.
func (o *Origins) Forget(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if is, ok := o.seen[pid]; ok {
		is.group, is.until = "", time.Time{}
		o.seen[pid] = is
	}
}
