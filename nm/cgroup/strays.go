package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"heddle/nm/proc"
)

// strayPatience is how many times in a row those that left a group are put back: one that forks all the time may have left once more meanwhile.
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

// strays returns the processes that were started in the group, by their environment (Marker), and are in another one.
func (g *kernelGroup) strays() ([]int, error) {
	g.mu.Lock()
	loose := g.loose
	g.mu.Unlock()
	if !loose {
		return nil, nil
	}
	marked, err := proc.Marked(Marker + "=" + g.name)
	if err != nil || len(marked) == 0 {
		return nil, err
	}
	pids, err := g.d.holder.pids(g.name)
	return slices.DeleteFunc(marked, func(pid int) bool { return slices.Contains(pids, pid) }), err
}

// gather puts processes back that have left the group, and calls then after each time that there were any, until there are none.
func (g *kernelGroup) gather(ctx context.Context, then func() error) error {
	for range strayPatience {
		strays, err := g.strays()
		if err != nil || len(strays) == 0 {
			return err
		}
		for _, pid := range strays {
			if err := g.put(pid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d has left the group, and can't be put back: %w", pid, err)
			}
		}
		if err := errors.Join(ctx.Err(), then()); err != nil {
			return err
		}
	}
	return errors.New("its processes leave it as fast as they are put back")
}
