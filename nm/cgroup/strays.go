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

// started returns the processes that were started in a group, wherever they are. It is unsure if it has found one for the first time that has no
// environment: it may be about to begin a program.
func (o *origins) started(group string) (out []proc.ID, unsure bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pids, err := proc.PIDs()
	if err != nil {
		return nil, false, err
	}
	begin := time.Now()
	now := make(map[int]time.Time, len(pids))
	for _, pid := range pids {
		until, known := o.seen[pid]
		if known && until.IsZero() {
			now[pid] = until
			continue
		}
		noted, blank := o.note(pid)
		switch {
		case noted, known && begin.After(until):
			until = time.Time{}
		case !known:
			until = begin.Add(cmp.Or(o.newFor, newFor))
			unsure = unsure || blank
		}
		now[pid] = until
	}
	o.seen = now
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
	return out, unsure, nil
}

// forget forgets a process that has ended: nobody may have reaped it yet.
func (o *origins) forget(group string, pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of[group], pid)
}

// note notes where a process was started, and reports whether it was in a group, and whether it has no environment. The lock is held.
func (o *origins) note(pid int) (noted, blank bool) {
	env, err := proc.Environ(pid) // other users' can't be read, and are none of ours
	if err != nil || len(env) == 0 {
		return false, err == nil
	}
	i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, Marker+"=") })
	if i < 0 {
		return false, false
	}
	p, err := proc.Read(pid)
	if err != nil {
		return false, false
	}
	name := strings.TrimPrefix(env[i], Marker+"=")
	if o.of == nil {
		o.of = make(map[string]members)
	}
	if o.of[name] == nil {
		o.of[name] = make(members)
	}
	o.of[name][pid] = p.Start
	return true, false
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

// strays returns the processes that were started in the group, and are in another one. There may be others if it is unsure: some that were there
// when it looked have ended since, and may have left others behind, or one is just beginning a program.
func (g *kernelGroup) strays() (out []proc.ID, unsure bool, err error) {
	g.mu.Lock()
	loose := g.loose
	g.mu.Unlock()
	if !loose {
		return nil, false, nil
	}
	started, unsure, err := g.d.origins.started(g.name)
	if err != nil || len(started) == 0 {
		return nil, unsure, err
	}
	inside, err := g.d.holder.pids(g.name)
	if err != nil {
		return nil, false, err
	}
	for _, p := range started {
		now, err := proc.Read(p.PID)
		switch {
		case slices.Contains(inside, p.PID):
		case err != nil || now.Start != p.Start || now.Dead():
			g.d.origins.forget(g.name, p.PID)
			unsure = true
		case !g.isNamesake(p.PID):
			out = append(out, p)
		}
	}
	return out, unsure, nil
}

// isNamesake reports whether a process is in a group of the same name, of another NodeManager: its container has the same id, as in another
// cluster.
func (g *kernelGroup) isNamesake(pid int) bool {
	text, err := g.d.tree.read(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false // it has ended, which putting it back shows
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

// gather puts processes back that have left the group, and calls then after each look that has found any, or isn't sure, until one is sure that there
// are none.
func (g *kernelGroup) gather(ctx context.Context, then func() error) error {
	for range strayPatience {
		strays, unsure, err := g.strays()
		if err != nil || len(strays) == 0 && !unsure {
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
