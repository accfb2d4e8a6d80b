package cgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"heddle/nm/cgroup/origins"
	"heddle/nm/proc"
)

// strayPatience is how many times in a row those that left a group are put back: one that forks all the time may have left once more
// meanwhile.
const strayPatience = 100

// noteOwner notes whether a process may leave the group: root may, and so may the groups' owner.
func (g *kernelGroup) noteOwner(pid int) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	text, err := g.d.tree.read(status)
	if err != nil {
		return // it has ended
	}
	if uid, err := inText(status, text, "Uid:"); err == nil && !origins.Privileged(int(uid)) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loose = true
}

// strays returns the processes that were started in the group, and are in another one. There may be others if it is unsure: some that were there
// when it looked have ended since, and may have left others behind, or one is just beginning a program.
func (g *kernelGroup) strays() (out []origins.Member, unsure bool, err error) {
	g.mu.Lock()
	loose := g.loose
	g.mu.Unlock()
	if !loose {
		return nil, false, nil
	}
	started, unsure, err := g.d.origins.Started(g.name)
	if err != nil || len(started) == 0 {
		return nil, unsure, err
	}
	pids, err := g.d.holder.pids(g.name)
	if err != nil {
		return nil, false, err
	}
	inside := make(map[int]bool, len(pids))
	for _, pid := range pids {
		inside[pid] = true
	}
	for _, p := range started {
		if inside[p.PID] {
			continue
		}
		now, err := proc.Read(p.PID)
		switch {
		case err != nil || now.Start != p.Start || now.Dead():
			g.d.origins.Forget(p.ID)
			unsure = unsure || origins.Privileged(p.UID)
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
//
// Users who may not leave groups can't have left this one, but a program of root's in the group may have become theirs. So their processes are put
// back too, and nothing depends on that: a user that starts process after process with the group's name keeps nothing waiting.
func (g *kernelGroup) gather(ctx context.Context, then func() error) error {
	privilegedLeft := false
	for range strayPatience {
		strays, unsure, err := g.strays()
		if err != nil || len(strays) == 0 && !unsure {
			return err
		}
		privilegedLeft = unsure || slices.ContainsFunc(strays, func(m origins.Member) bool { return origins.Privileged(m.UID) })
		for _, p := range strays {
			if err := g.put(p.PID); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d has left the group, and can't be put back: %w", p.PID, err)
			}
		}
		if err := errors.Join(ctx.Err(), then()); err != nil {
			return err
		}
	}
	if !privilegedLeft {
		return nil
	}
	return errors.New("its processes leave it as fast as they are put back")
}
