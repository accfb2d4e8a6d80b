package capacity_test

import (
	"slices"
	"testing"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/schedulertest"
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

// Where a queue would get above its maximum, killable containers below it end, no more than are needed; of others none do. They are not of
// the leaf itself. A request for which not enough may end holds those behind it, unless it waits for something else.
func TestKillingBelowMaxima(t *testing.T) {
	type held struct {
		path     string
		gb       int64
		killable bool
	}
	for name, x := range map[string]struct {
		held   []held
		asks   []core.Ask // of root.p.x: each of another application, of its own user
		killed []int
		nodes  int64
	}{
		"one for each request": {
			[]held{{"root.p.y", 10, true}, {"root.p.y", 10, true}, {"root.p.y", 10, true}, {"root.p.y", 30, false}},
			[]core.Ask{row(2, 10)},
			[]int{0, 1},
			4,
		},
		"two for a large one": {
			[]held{{"root.p.y", 10, true}, {"root.p.y", 10, true}, {"root.p.y", 10, true}, {"root.p.y", 30, false}},
			[]core.Ask{row(1, 20)},
			[]int{0, 1},
			1,
		},
		"none of the same leaf": {
			[]held{{"root.p.x", 10, true}, {"root.p.y", 10, true}, {"root.p.y", 40, false}},
			[]core.Ask{row(1, 10)},
			[]int{1},
			1,
		},
		"none of another family": {
			[]held{{"root.c", 10, true}, {"root.p.y", 60, false}},
			[]core.Ask{row(1, 10)},
			nil, 1,
		},
		"those that make room on the node count for the maximum": {
			[]held{{"root.c", 40, false}, {"root.p.y", 10, true}, {"root.p.y", 10, true}, {"root.p.y", 40, false}},
			[]core.Ask{row(1, 10)},
			[]int{1},
			1,
		},
		"room on the node, and room below the maximum": {
			[]held{{"root.c", 40, true}, {"root.p.y", 10, true}, {"root.p.y", 50, false}},
			[]core.Ask{row(1, 10)},
			[]int{0, 1},
			1,
		},
		"behind one for which there isn't enough": {
			[]held{{"root.p.y", 10, true}, {"root.p.y", 50, false}},
			[]core.Ask{row(1, 30), row(1, 10)},
			nil, 1,
		},
		"behind one that is larger than the maximum": {
			[]held{{"root.p.y", 10, true}, {"root.p.y", 50, false}},
			[]core.Ask{row(1, 61), row(1, 10)},
			[]int{0},
			1,
		},
		"behind one that may go nowhere": {
			[]held{{"root.p.y", 10, true}, {"root.p.y", 50, false}},
			[]core.Ask{schedulertest.Only(row(1, 10)), row(1, 10)},
			[]int{0},
			1,
		},
		"behind one that may go nowhere, and for which there isn't enough": {
			[]held{{"root.p.y", 10, true}, {"root.p.y", 50, false}},
			[]core.Ask{schedulertest.Only(row(1, 30)), row(1, 10)},
			nil, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, x.nodes, families)
			var all []handle.Container
			for i, k := range x.held {
				all = append(all, c.Restore(c.app(k.path, "v", 0, 0), handle.Node(int64(i)%x.nodes), gb(k.gb)))
			}
			var apps []handle.App
			for i := range x.asks {
				apps = append(apps, c.app("root.p.x", string(rune('a'+i)), 0, 0))
			}
			c.Schedule(0)
			for i, ask := range x.asks {
				c.UpdateAsks(apps[i], []core.Ask{ask})
			}
			for i, k := range x.held {
				if k.killable {
					c.p.MakeKillable(all[i])
				}
			}
			var want []handle.Container
			for _, i := range x.killed {
				want = append(want, all[i])
			}
			if got := c.killed(0); !slices.Equal(got, want) {
				t.Errorf("%v end, want %v", got, want)
			}
			if err := c.Check(); err != nil {
				t.Error(err)
			}
			for _, k := range want {
				c.Free(k)
			}
			granted := 0
			for _, d := range c.Schedule(0) {
				if d.Kind == core.Allocate {
					granted++
				}
			}
			if (granted > 0) != (len(want) > 0) {
				t.Errorf("%d containers are granted when these have ended", granted)
			}
		})
	}
}

// The decision tells which container must end, on which node, and whose it is.
func TestKillsTellWhatTheyAreFor(t *testing.T) {
	c := start(t, 2, nil)
	b := c.app("root.b", "v", 0, 0)
	c.Restore(b, 0, gb(50))
	k := c.Restore(b, 1, gb(50))
	c.p.MakeKillable(k)
	c.UpdateAsks(c.app("root.a", "u", 0, 0), []core.Ask{row(1, 10)})
	want := core.Decision{Kind: core.Kill, Container: k, App: b, Node: 1, Resource: gb(50)}
	if got := c.Schedule(0); got[len(got)-1] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A user above its limit has no containers ended for it; the next user has.
func TestUsersAboveTheirLimitKillNothing(t *testing.T) {
	c := start(t, 1, map[string]string{"root.a.user-limit-factor": "0.5"})
	b := c.app("root.b", "w", 0, 0)
	k := c.Restore(b, 0, gb(40))
	over := c.app("root.a", "u", 40, 0) // of 30
	v := c.app("root.a", "v", 15, 0)
	c.Restore(b, 0, gb(5))
	c.Schedule(0)
	c.p.MakeKillable(k)
	c.UpdateAsks(over, []core.Ask{row(1, 1)})
	if got := c.killed(0); len(got) > 0 {
		t.Errorf("%v end for a user above its limit", got)
	}
	c.UpdateAsks(v, []core.Ask{row(1, 1)})
	if got := c.killed(0); len(got) != 1 || c.Containers[c.Nodes.At[0].Reserved].App != v {
		t.Errorf("%v end", got)
	}
}

// A request that has a node reserved takes killable containers there, and otherwise moves to a node where there are enough. That takes nothing
// more of its queue. A node that is reserved for another request is none of its.
func TestReservationsMoveToKillableContainers(t *testing.T) {
	for name, x := range map[string]struct {
		killable handle.Node
		want     handle.Node
	}{
		"on its node":       {0, 0},
		"on another one":    {1, 1},
		"on another's node": {2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 4, map[string]string{"root.a.capacity": "12.5", "root.b.capacity": "87.5", "root.a.maximum-capacity": "12.5"}) // nodes of 25 GB
			b := c.app("root.b", "v", 0, 0)
			var on []handle.Container
			for n := range handle.Node(4) {
				on = append(on, c.Restore(b, n, gb(20)))
			}
			h := c.app("root.a", "u", 0, 0)
			c.UpdateAsks(h, []core.Ask{row(1, 12)})
			c.Schedule(0)
			strict := schedulertest.Only(row(1, 6))
			c.UpdateAsks(b, []core.Ask{strict, schedulertest.At(row(1, 6), "n2")})
			c.Schedule(0)
			if len(c.Reserved) != 2 || c.Containers[c.Nodes.At[0].Reserved].App != h || c.Nodes.At[2].Reserved == handle.NoContainer {
				t.Fatalf("reserved: %v", c.Reserved)
			}
			c.p.MakeKillable(on[x.killable])
			ended := c.killed(0)
			if k := c.Nodes.At[x.want].Reserved; k == handle.NoContainer || c.Containers[k].App != h {
				t.Errorf("node %d isn't reserved for it", x.want)
			}
			if took := len(ended) == 1 && ended[0] == on[x.killable]; took != (x.killable == x.want) {
				t.Errorf("%v end", ended)
			}
			if c.Apps[h].Reserved != gb(12) {
				t.Errorf("%v are reserved", c.Apps[h].Reserved)
			}
		})
	}
}

// A request that the policy of its leaf makes wait takes nothing from others.
func TestRequestsThatAreHeldBackTakeNothing(t *testing.T) {
	for policy, want := range map[string]int{"fifo": 1, "capped": 0} { // at 7 GB
		c := start(t, 1, map[string]string{"root.a.ordering-policy": policy})
		b := c.app("root.b", "v", 0, 0)
		c.Restore(b, 0, gb(60))
		for range 4 {
			c.p.MakeKillable(c.Restore(b, 0, gb(10)))
		}
		h := c.app("root.a", "u", 0, 0)
		c.UpdateAsks(h, []core.Ask{row(1, 8)})
		if got := c.killed(0); len(got) != want {
			t.Errorf("in a leaf ordered by %s a request of 8 GB ends %d containers, want %d", policy, len(got), want)
		}
	}
}
