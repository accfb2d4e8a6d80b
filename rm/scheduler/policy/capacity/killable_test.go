package capacity_test

import (
	"slices"
	"testing"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
)

// Containers become killable once, while they are there and no reservations, and stop to be when they end or are spared.
func TestWhichContainersAreKillable(t *testing.T) {
	c := start(t, 2, nil)
	b := c.app("root.b", "v", 0, 0)
	first, second, third := c.Restore(b, 0, gb(30)), c.Restore(b, 1, gb(30)), c.Restore(b, 1, gb(1))
	h := c.app("root.a", "u", 0, 0)
	c.UpdateAsks(h, []core.Ask{row(1, 21)})
	c.Schedule(0)
	if len(c.Reserved) != 1 {
		t.Fatalf("%d reservations", len(c.Reserved))
	}
	expect := func(when string, want ...handle.Container) {
		t.Helper()
		if got := c.p.Killable(); !slices.Equal(got, want) {
			t.Errorf("%s: %v are killable, want %v", when, got, want)
		}
	}
	for _, k := range []handle.Container{first, second, third} {
		if !c.p.MakeKillable(k) || c.p.MakeKillable(k) {
			t.Errorf("container %d becomes killable never, or twice", k)
		}
	}
	for _, k := range []handle.Container{c.Reserved[0], handle.NoContainer, handle.Container(len(c.Containers))} {
		if c.p.MakeKillable(k) {
			t.Errorf("container %d becomes killable", k)
		}
	}
	expect("chosen", first, second, third)
	c.Free(second)
	expect("one has ended", first, third)
	if c.p.MakeKillable(second) {
		t.Error("a container becomes killable that has ended")
	}
	c.p.SpareKillable()
	expect("spared")
	c.Free(third)
	expect("one has ended that was spared")
}

// A request of a queue below its guarantee takes the killable containers that it needs, of other queues, and its node with it. A queue
// that has its guarantee takes none.
func TestWhoTakesKillableContainers(t *testing.T) {
	for name, x := range map[string]struct {
		a, asks int64
		killed  int
	}{
		"what it lacks":      {0, 15, 1},
		"twice as much":      {0, 25, 2},
		"what there is":      {0, 5, 0},
		"with its guarantee": {60, 15, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, nil)
			b := c.app("root.b", "v", 0, 0)
			if x.a > 0 {
				c.app("root.a", "w", x.a, 0)
			} else {
				c.Restore(b, 0, gb(60))
			}
			for range 3 {
				c.p.MakeKillable(c.Restore(b, 0, gb(10)))
			}
			h := c.app("root.a", "u", 0, 0)
			c.UpdateAsks(h, []core.Ask{row(1, x.asks)})
			killed, reserved := 0, 0
			for _, d := range c.Schedule(0) {
				switch d.Kind {
				case core.Kill:
					if killed++; d.App != b || d.Resource != gb(10) {
						t.Errorf("killed: %+v", d)
					}
				case core.Reserve:
					reserved++
				}
			}
			if killed != x.killed || (reserved > 0) != (x.killed > 0) || len(c.p.Killable()) != 3-x.killed {
				t.Errorf("%d are killed for %d reservations, %d are left", killed, reserved, len(c.p.Killable()))
			}
		})
	}
}
