package container

import (
	"context"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
)

// The call of a ResourceManager that is killed ends while a container is let go on. The next ResourceManager gives the same order, and the container
// goes on: nobody else would have it do so.
func TestAnOrderToGoOnIsTriedAgain(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(true))
	c, file := l.counter()
	order(t, c, level(suspend.Reclaimed, 256, 0, 1))
	settled(t, c, suspend.Reclaimed)
	ctx, killed := context.WithCancel(t.Context())
	h.set(func(h *hooked) {
		h.memory = &cgroup.Memory{Anon: 100 << 20, Swapped: 10 << 20}
		h.pageIn = func(ctx context.Context, _ cgroup.Group) error {
			killed()
			<-ctx.Done()
			return ctx.Err()
		}
	})
	goOn := level(suspend.Running, 256, 1, 2)
	if err := c.Order(ctx, goOn); err == nil {
		t.Fatal("it went on, though the call was over")
	}
	if s := c.Status(); s.State != Paused || !s.Suspension.Stuck() {
		t.Fatalf("%s, %+v", s.State, s.Suspension)
	}
	h.set(func(h *hooked) { h.pageIn, h.memory = nil, nil })
	order(t, c, goOn)
	settled(t, c, suspend.Running)
	before := size(t, file)
	await.Until(t, "progress", func() bool { return size(t, file) > before })
	order(t, c, level(suspend.Frozen, 256, 0, 2))
	if s := c.State(); s != Running {
		t.Errorf("another order of the same version counts: %s", s)
	}
}

// A container that runs with less memory is looked after once in a while. When it is to stand still with less, that isn't waited for.
func TestSuspendedAfterItWasShrunk(t *testing.T) {
	l := newLab(t, (&hooked{}).able(true))
	l.node.settlePause = time.Hour
	c, _ := l.counter()
	order(t, c, level(suspend.Shrunk, 128, 1, 1))
	settled(t, c, suspend.Shrunk)
	order(t, c, level(suspend.Reclaimed, 64, 0, 2))
	settled(t, c, suspend.Reclaimed)
	order(t, c, level(suspend.Running, 256, 1, 3))
	settled(t, c, suspend.Running)
}
