package cgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/nm/proc"
)

// origins knows of all processes of the machine in which group they were started, by their environment (Marker). It reads the environment of
// each once: that takes longer than to list them, and brings a page of the process back from swap. Only processes that are new and of no group
// are looked at again: until a program has begun they have the environment of another, or none. The zero value is for use.
type origins struct {
	mu   sync.Mutex
	seen map[int]time.Time  // by pid: until when it is new; 0 if it isn't
	of   map[string]members // by group

	newFor time.Duration // 0 for the default
}

// newFor is for how long a process that was first seen may be about to begin another program.
const newFor = time.Second

// members are processes by their pids, with the time of their start.
type members map[int]uint64

// started returns the processes that were started in a group, wherever they are.
func (o *origins) started(group string) ([]proc.ID, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pids, err := proc.PIDs()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	now := make(map[int]time.Time, len(pids))
	for _, pid := range pids {
		until, known := o.seen[pid]
		switch {
		case known && until.IsZero():
		case o.note(pid), known && begin.After(until):
			until = time.Time{}
		case !known:
			until = begin.Add(cmp.Or(o.newFor, newFor))
		}
		now[pid] = until
	}
	o.seen = now
	var out []proc.ID
	for name, list := range o.of {
		for pid, start := range list {
			_, lives := now[pid]
			switch {
			case !lives:
				delete(list, pid)
			case name == group:
				out = append(out, proc.ID{PID: pid, Start: start})
			}
		}
		if len(list) == 0 {
			delete(o.of, name)
		}
	}
	return out, nil
}

// note notes where a process was started, and reports whether it was in a group. The lock is held.
func (o *origins) note(pid int) bool {
	env, err := proc.Environ(pid) // other users' can't be read, and are none of ours
	if err != nil {
		return false
	}
	i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, Marker+"=") })
	if i < 0 {
		return false
	}
	p, err := proc.Read(pid)
	if err != nil {
		return false
	}
	name := strings.TrimPrefix(env[i], Marker+"=")
	if o.of == nil {
		o.of = make(map[string]members)
	}
	if o.of[name] == nil {
		o.of[name] = make(members)
	}
	o.of[name][pid] = p.Start
	return true
}

// strayPatience is how many times in a row those that left a group are put back: one that forks all the time may have left once more
// meanwhile.
const strayPatience = 100

// noteOwner notes whether a process may leave the group: root may, and so may the user to whom the groups belong.
func (g *kernelGroup) noteOwner(pid int) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	text, err := g.d.tree.read(status)
	if err != nil {
		return // it has ended
	}
	if uid, err := inText(status, text, "Uid:"); err == nil && uid != 0 && uid != int64(os.Geteuid()) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loose = true
}

// strays returns the processes that were started in the group, and are in another one.
func (g *kernelGroup) strays() ([]proc.ID, error) {
	g.mu.Lock()
	loose := g.loose
	g.mu.Unlock()
	if !loose {
		return nil, nil
	}
	started, err := g.d.origins.started(g.name)
	if err != nil || len(started) == 0 {
		return nil, err
	}
	inside, err := g.d.holder.pids(g.name)
	return slices.DeleteFunc(started, func(p proc.ID) bool {
		if slices.Contains(inside, p.PID) {
			return true
		}
		now, err := proc.Read(p.PID)
		return err != nil || now.Start != p.Start || now.Dead() || g.isNamesake(p.PID)
	}), err
}

// isNamesake reports whether a process is in a group of the same name, of another NodeManager: its container has the same id, as in another
// cluster.
func (g *kernelGroup) isNamesake(pid int) bool {
	text, err := g.d.tree.read(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return true // it has ended
	}
	hierarchy := "" // the unified one
	if _, v1 := g.d.holder.(*freezer); v1 {
		hierarchy = "freezer"
	}
	for line := range strings.Lines(text) { // NUMBER:CONTROLLERS:PATH
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && f[1] == hierarchy {
			return slices.Contains(strings.Split(f[2], "/"), g.name)
		}
	}
	return false
}

// gather puts processes back that have left the group, and calls then after each time that there were any, until there are none.
func (g *kernelGroup) gather(ctx context.Context, then func() error) error {
	for range strayPatience {
		strays, err := g.strays()
		if err != nil || len(strays) == 0 {
			return err
		}
		for _, p := range strays {
			if err := g.put(p.PID); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d has left the group, and can't be put back: %w", p.PID, err)
			}
		}
		if err := errors.Join(ctx.Err(), then()); err != nil {
			return err
		}
	}
	return errors.New("its processes leave it as fast as they are put back")
}
