package container

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// Memory that a container has locked stays, and counts as held, also after a breath and after it was read ahead. The container goes on as if nothing had been.
func TestLockedMemoryCountsAsHeld(t *testing.T) {
	const locked = 128 << 20
	swapfile.On(t, 512<<20)
	l := newLab(t, pressure(12<<30))
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	c := l.remembers(512, fmt.Sprint("locked ", locked))
	o := level(suspend.Reclaimed, 64, 0, 1)
	o.BreathEvery = 500 * time.Millisecond
	order(t, c, o)
	held := func() (suspend.State, bool) {
		s := c.Status().Suspension
		return s, s.Lags() && strings.Contains(s.Reason, "can't be paged out") && s.Holds.MemoryMB() >= locked>>20 && s.Holds.MemoryMB() < 300
	}
	await.Value(t, "it says so", held)
	await.Until(t, "a breath", func() bool { return !c.Status().Suspension.LastBreath.IsZero() })
	await.Value(t, "it says so after a breath", held)
	l.node.Ahead(c, true)
	await.Until(t, "it is read ahead", func() bool { return c.Status().Suspension.Warm })
	l.node.Ahead(c, false)
	await.Value(t, "it says so again", held)
	order(t, c, level(suspend.Running, 512, 1, 2))
	remembers(t, c, locked)
}

// A kill waits for no reading ahead, and nothing of the container is left. newLab checks the latter.
func TestKilledWhileItIsReadAhead(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(true), pressure(12<<30))
	c, _ := l.counter()
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, c, suspend.Reclaimed)
	reached := make(chan struct{})
	h.set(func(h *hooked) {
		h.memory = &cgroup.Memory{Swapped: 100 << 20}
		h.pageIn = func(ctx context.Context, _ cgroup.Group) error {
			close(reached)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	l.node.Ahead(c, true)
	<-reached
	c.Kill(records.ExitKilledByAppMaster, "")
	if s := waitDone(t, c); s.Suspended || s.Suspension.Warm || l.node.room.Used().MemoryMB() != 0 {
		t.Errorf("after its end %+v, and %v are in use", s, l.node.room.Used())
	}
}
