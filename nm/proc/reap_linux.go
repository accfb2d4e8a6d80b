package proc

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes this process the parent of its orphaned descendants (prctl(2)).
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// Reap reaps ended orphans until ctx ends. Code that starts a child in this process waits for it, and reaps it at
// once. So Reap takes only those that were dead an interval ago already.
func Reap(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	seen := make(map[ID]bool)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			seen = reap(seen)
		}
	}
}

func reap(seen map[ID]bool) (dead map[ID]bool) {
	dead = make(map[ID]bool)
	table, err := Snapshot()
	if err != nil {
		return dead
	}
	table.All(func(p Process) bool {
		if p.Parent != os.Getpid() || p.State != 'Z' {
			return true
		}
		if !seen[p.ID] {
			dead[p.ID] = true
			return true
		}
		_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil)
		return true
	})
	return dead
}
