package container

import (
	"errors"
	"sync/atomic"
	"testing"

	"heddle/internal/await"
	"heddle/nm/suspend"
)

// Whoever has a container stand still is asked before it goes on: the ResourceManager and its own application are counted apart, also by the
// next NodeManager. The groups are this machine's.
func TestOwnersOfASuspensionAreCountedApart(t *testing.T) {
	own, back := func(c *Container) error { return c.Suspend(t.Context()) }, func(c *Container) error { return c.Resume(t.Context()) }
	var version atomic.Int32
	lend := func(low suspend.Level) func(*Container) error {
		return func(c *Container) error {
			o := level(low, 256, 0, version.Add(1))
			o.For = "root.short"
			return c.Order(t.Context(), o)
		}
	}
	giveBack := func(c *Container) error {
		return c.Order(t.Context(), level(suspend.Running, 256, 1, version.Add(1)))
	}
	type step struct {
		what  string
		do    func(*Container) error
		still bool
		have  suspend.Level
	}
	shrink, freeze := step{"shrunk", lend(suspend.Shrunk), false, suspend.Shrunk}, step{"frozen", lend(suspend.Frozen), true, suspend.Frozen}
	app := int32(0)
	for name, steps := range map[string][]step{
		"frozen by its own, then shrunk": {
			{"own", own, true, suspend.Frozen},
			{"shrunk", lend(suspend.Shrunk), true, suspend.Frozen},
			{"given back", giveBack, true, suspend.Frozen},
			{"own goes on", back, false, suspend.Running},
		},
		"shrunk, then frozen by its own": {
			shrink,
			{"own", own, true, suspend.Frozen},
			{"again", own, true, suspend.Frozen},
			{"given back", giveBack, true, suspend.Frozen},
			{"own goes on", back, false, suspend.Running},
		},
		"its own ends first": {
			shrink, {"own", own, true, suspend.Frozen}, {"own goes on", back, false, suspend.Shrunk}, {"given back", giveBack, false, suspend.Running},
		},
		"frozen by both": {
			freeze, {"own", own, true, suspend.Frozen}, {"given back", giveBack, true, suspend.Frozen}, {"own goes on", back, false, suspend.Running},
		},
		"frozen by both, its own ends first": {
			freeze, {"own", own, true, suspend.Frozen}, {"own goes on", back, true, suspend.Frozen}, {"given back", giveBack, false, suspend.Running},
		},
		"frozen by its own, then by both": {
			{"own", own, true, suspend.Frozen}, freeze, {"given back", giveBack, true, suspend.Frozen}, {"own goes on", back, false, suspend.Running},
		},
	} {
		app++
		mine := app // of two with one id a NodeManager would take the other's for a stray, while it is not in its group yet
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.app = mine
			c, file := l.counter()
			check := func(s step) {
				t.Helper()
				await.Until(t, s.what+": level "+s.have.String(), func() bool {
					at := c.Status()
					return c.Group() != nil && at.Suspension.Have == s.have && !at.Suspension.Lags() && at.Suspended == s.still
				})
				if frozen, err := c.Group().Frozen(); err != nil || frozen != s.still {
					t.Errorf("%s: frozen %v, %v", s.what, frozen, err)
				}
			}
			for _, s := range steps {
				if err := s.do(c); err != nil {
					t.Fatalf("%s: %v", s.what, err)
				}
				check(s)
				l.restart()
				c = l.container(c.ID())
				check(s)
			}
			before := size(t, file)
			await.Until(t, "progress", func() bool { return size(t, file) > before })
			if l := c.box.Limits(); l.High != 0 || l.Swap != 0 || l.CPU != 0 {
				t.Errorf("at last it is held to %+v", l)
			}
			if err := c.Resume(t.Context()); err != nil && !errors.Is(err, ErrNotSuspended) {
				t.Error(err)
			}
		})
	}
}
