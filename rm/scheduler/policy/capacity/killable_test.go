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

// killed returns the containers that must end by the next decisions.
func (c *cluster) killed(now int64) (ended []handle.Container) {
	for _, d := range c.Schedule(now) {
		if d.Kind == core.Kill {
			ended = append(ended, d.Container)
		}
	}
	return ended
}

// A request takes killable containers where it is placed best, and of those that do only as many as it needs. Containers of its own leaf
// are spared.
func TestWhichContainersAreTaken(t *testing.T) {
	for name, x := range map[string]struct {
		place            string // where it prefers to be
		strict, excludes bool   // it may go nowhere else; it excludes node 0
		size             int64
		node             handle.Node
		killed           []int // of two containers on each of two nodes
	}{
		"the first node":             {"", false, false, 8, 0, []int{0}},
		"a node that it prefers":     {"n1", false, false, 8, 1, []int{2}},
		"both of a node":             {"n1", false, false, 15, 1, []int{2, 3}},
		"only where it may go":       {"n1", true, false, 8, 1, []int{2}},
		"not where it may not":       {"", false, true, 8, 1, []int{2}},
		"none, as it isn't enough":   {"", false, false, 45, handle.NoNode, nil},
		"none, as it may go nowhere": {"n7", true, false, 8, handle.NoNode, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 2, map[string]string{"node-locality-delay": "-1"})
			b := c.app("root.b", "v", 0, 0)
			var held []handle.Container
			for _, n := range []handle.Node{0, 0, 1, 1} {
				held = append(held, c.Restore(b, n, gb(10)))
			}
			own := c.app("root.a", "w", 0, 0)
			for n := range handle.Node(2) {
				c.p.MakeKillable(c.Restore(own, n, gb(1))) // of the same leaf
				c.Restore(b, n, gb(29))                    // the node is full
			}
			for _, k := range held {
				c.p.MakeKillable(k)
			}
			h := c.app("root.a", "u", 0, 0)
			if x.excludes {
				c.UpdateBlacklist(h, []string{"n0"}, nil)
			}
			anywhere := row(1, x.size)
			anywhere.RelaxLocality = !x.strict
			rows := []core.Ask{anywhere}
			if x.place != "" {
				there := row(1, x.size)
				there.Name = x.place
				rows = append(rows, there)
			}
			c.UpdateAsks(h, rows)
			ended := c.killed(0)
			var want []handle.Container
			for _, i := range x.killed {
				want = append(want, held[i])
			}
			if !slices.Equal(ended, want) {
				t.Errorf("%v end, want %v", ended, want)
			}
			if len(want) > 0 && (len(c.Reserved) != 1 || c.Containers[c.Reserved[0]].Node != x.node) {
				t.Errorf("reserved: %v, want node %d", c.Reserved, x.node)
			}
			for _, k := range ended {
				c.Free(k)
			}
			granted := false
			for _, d := range c.Schedule(1) {
				granted = granted || d.Kind == core.Allocate && d.App == h && d.Node == x.node
			}
			if granted != (len(want) > 0) {
				t.Errorf("it gets its container when these have ended: %t", granted)
			}
		})
	}
}
