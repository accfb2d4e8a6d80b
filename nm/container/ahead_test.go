package container

import (
	"context"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/cgroup"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// pressure is of a machine that has so many bytes of memory to spare.
func pressure(available int64) func(o *Options) {
	return func(o *Options) {
		o.Pressure = func() (suspend.Pressure, error) {
			return suspend.Pressure{Total: 16 << 30, Available: available, SwapTotal: 8 << 30, SwapFree: 8 << 30, Some: -1, Full: -1}, nil
		}
	}
}

// A container whose room waits for it has its memory back before it goes on. It gives that to others who start meanwhile, and without memory to spare it doesn't get it.
func TestReadAheadGivesWayToOthers(t *testing.T) {
	for name, available := range map[string]int64{"memory to spare": 12 << 30, "none to spare": 5 << 30} {
		t.Run(name, func(t *testing.T) {
			h := &hooked{}
			l := newLab(t, h.able(true), pressure(available))
			c := l.run(job{id: containerID(1, 1), memory: 8000, command: "while :; do sleep 0.1; done"})
			await.Until(t, "RUNNING", func() bool { return c.State() == Running })
			order(t, c, level(suspend.Reclaimed, 64, 0, 1))
			settled(t, c, suspend.Reclaimed)
			h.set(func(h *hooked) {
				h.memory = &cgroup.Memory{Swapped: 3 << 30}
				h.pageIn = func(context.Context, cgroup.Group) error {
					h.set(func(h *hooked) { h.memory = &cgroup.Memory{Anon: 3 << 30} })
					return nil
				}
				h.reclaim = func(_ context.Context, _ cgroup.Group, _ int64) error {
					h.set(func(h *hooked) { h.memory = &cgroup.Memory{Swapped: 3 << 30} })
					return nil
				}
			})
			l.node.Ahead(c, true)
			if available > 6<<30 {
				await.Until(t, "it is read", func() bool {
					s := c.Status().Suspension
					return s.Warm && !s.Ahead && s.Swapped == 0 && l.node.room.Used().MemoryMB() == 8000
				})
			} else if s := c.Status().Suspension; s.Warm || s.Swapped == 0 {
				t.Errorf("%+v", s)
			}
			second := l.run(job{id: containerID(1, 2), memory: 4000, command: "while :; do sleep 0.1; done"})
			await.Until(t, "the other one runs", func() bool { return second.State() == Running })
			if s := c.Status(); s.State != Paused || s.Suspension.Warm || s.Suspension.Swapped != 3<<30 || l.node.room.Used().MemoryMB() != 4064 {
				t.Errorf("%+v, %v are in use", s, l.node.room.Used())
			}
			second.Kill(records.ExitKilledByAppMaster, "")
			order(t, c, level(suspend.Running, 8000, 1, 2))
		})
	}
}

// The contents are what they were when the memory was read ahead, paged out again and read ahead once more.
func TestContentsSurviveReadAhead(t *testing.T) {
	const bytes = 128 << 20
	swapfile.On(t, 512<<20)
	l := newLab(t, pressure(12<<30))
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	c := l.rememberer(512, bytes)
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, c, suspend.Reclaimed)
	for range 2 {
		l.node.Ahead(c, true)
		await.Until(t, "it is read", func() bool {
			use, err := c.Group().Usage()
			return err == nil && use.Memory > bytes*9/10 && !c.Status().Suspension.Ahead && l.node.room.Used().MemoryMB() == 512
		})
		l.node.Ahead(c, false)
		await.Until(t, "it is paged out again", func() bool {
			use, err := c.Group().Usage()
			s := c.Status().Suspension
			return err == nil && use.Memory <= 64<<20 && !s.Warm && !s.Lags() && l.node.room.Used().MemoryMB() == 64
		})
	}
	l.node.Ahead(c, true)
	order(t, c, level(suspend.Running, 512, 1, 2))
	remembers(t, c, bytes)
}

// Paging out may take longer than frameworks wait: it is interrupted for a breath.
func TestBreathsInterruptPagingOut(t *testing.T) {
	h := &hooked{}
	l := newLab(t, h.able(true))
	c, _ := l.counter()
	h.set(func(h *hooked) {
		h.memory = &cgroup.Memory{Anon: 200 << 20}
		h.reclaim = func(ctx context.Context, _ cgroup.Group, _ int64) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
	o := level(suspend.Reclaimed, 64, 0, 1)
	o.BreathEvery = 100 * time.Millisecond
	order(t, c, o)
	await.Until(t, "a breath", func() bool { return !c.Status().Suspension.LastBreath.IsZero() })
	if s := c.Status().Suspension; s.Have != suspend.Frozen || !s.Lags() {
		t.Errorf("%+v", s)
	}
}
