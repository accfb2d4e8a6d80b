package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// crowd has an application ask for so many sizes that fit nowhere that no class of its own is left for others.
func (c *cluster) crowd() {
	var rows []core.Ask
	for i := range int32(70) {
		r := row(1, 100+int64(i))
		r.Priority = i
		rows = append(rows, r)
	}
	c.app("root.b", "crowd", 0, rows...)
	c.run(c.Now)
}

// plainAndCrowded runs a test for requests of classes of their own, and for those that share one.
func plainAndCrowded(t *testing.T, f func(t *testing.T, crowd func(*cluster))) {
	t.Run("plain", func(t *testing.T) { f(t, func(*cluster) {}) })
	t.Run("crowded", func(t *testing.T) { f(t, func(c *cluster) { c.crowd() }) })
}

// gets fails unless an application gets so many containers now, and returns them.
func (c *cluster) gets(h handle.App, want int, when string) []handle.Container {
	c.t.Helper()
	_, got := c.run(c.Now)
	if len(got[h]) != want {
		c.t.Errorf("%s: %d containers, want %d", when, len(got[h]), want)
	}
	return got[h]
}

// Each event of which something could hang that others remember counts as a change.
func TestChangesAreCounted(t *testing.T) {
	c := start(t, nil, "n0")
	h := c.app("root.a", "u", 0)
	c.run(0)
	var n handle.Node
	var k handle.Container
	for _, x := range []struct {
		name string
		do   func()
	}{
		{"a node comes", func() { n = c.AddNode(nodeset.Spec{Host: "n1", Rack: "/r", Capability: gb(10)}) }},
		{"a node has another size", func() { c.SetCapability(n, gb(8)) }},
		{"a node is closed", func() { c.SetOpen(n, nodeset.NoWork) }},
		{"a node goes", func() { c.RemoveNode(n) }},
		{"something is asked for", func() { c.UpdateAsks(h, []core.Ask{row(1, 1)}) }},
		{"nothing is asked for", func() { c.ClearAsks(h) }},
		{"a container is there", func() { k = c.Restore(h, 0, gb(1)) }},
		{"a container ends", func() { c.Free(k) }},
		{"limits are others", func() {
			if err := c.SetTree(schedulertest.Halves(t, map[string]string{"root.a.maximum-capacity": "90"})); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		before := c.Changes
		if x.do(); c.Changes <= before {
			t.Errorf("%s, and changes go from %d to %d", x.name, before, c.Changes)
		}
	}
}

// An application that moves gives up its reservations, which count for no queue any more, and goes on asking in its new one. In its
// own queue it stays with what it has.
func TestMovedApplicationsGiveUpReservations(t *testing.T) {
	c := start(t, nil, "n0", "n1", "n2")
	for n := range handle.Node(3) {
		c.Restore(c.app("root.b", "v", 0), n, gb(6))
	}
	c.run(0)
	h := c.app("root.a", "u", 0, row(2, 5))
	c.run(0)
	a, b := &c.Queues[c.ByPath["root.a"]], &c.Queues[c.ByPath["root.b"]]
	if len(c.Reserved) != 2 || a.Reserved != gb(10) || a.Used != gb(10) {
		t.Fatalf("%d reservations of %v, which is used: %v", len(c.Reserved), a.Reserved, a.Used)
	}
	if c.MoveApp(h, "root.a"); len(c.Reserved) != 2 {
		t.Error("it has moved to its own queue, and given up reservations")
	}
	c.MoveApp(h, "root.b")
	if len(c.Reserved) != 0 || !a.Reserved.IsZero() || !a.Used.IsZero() || !b.Reserved.IsZero() || b.Used != gb(18) || a.Total != 0 || b.Total != 4 || b.Pending != gb(10) {
		t.Errorf("%d reservations; root.a has %v and %v reserved, root.b %v and %v", len(c.Reserved), a.Used, a.Reserved, b.Used, b.Reserved)
	}
	if got := c.Apps[h]; got.Spec.Queue != "root.b" || !got.Reserved.IsZero() || !got.Active || c.Queues[got.Leaf].Cfg.Path != "root.b" {
		t.Errorf("the application is in %s, with %v reserved", got.Spec.Queue, got.Reserved)
	}
	if c.run(0); len(c.Reserved) != 2 || b.Reserved != gb(10) || c.Queues[core.Root].Reserved != gb(10) {
		t.Errorf("%d reservations of %v in its new queue", len(c.Reserved), b.Reserved)
	}
}

// The containers of an application count in its new queue, and for its user there.
func TestMovedApplicationsTakeTheirContainersAlong(t *testing.T) {
	c := start(t, map[string]string{"root.b.maximum-capacity": "60"}, "n0")
	h := c.app("root.a", "u", 0, row(2, 2))
	stays := c.app("root.a", "u", 0, row(1, 1))
	_, got := c.run(0)
	c.MoveApp(h, "root.b")
	a, b := &c.Queues[c.ByPath["root.a"]], &c.Queues[c.ByPath["root.b"]]
	ua, ub := &c.Users[c.Apps[stays].User], &c.Users[c.Apps[h].User]
	if a.Used != gb(1) || a.Containers != 1 || b.Used != gb(4) || b.Containers != 2 || ua.Used != gb(1) || ub.Used != gb(4) || ub.AmUsed != gb(1) || c.Queues[core.Root].Containers != 3 {
		t.Errorf("root.a has %v in %d containers, root.b %v in %d; the user has %v and %v", a.Used, a.Containers, b.Used, b.Containers, ua.Used, ub.Used)
	}
	c.UpdateAsks(h, []core.Ask{row(9, 2)})
	c.gets(h, 1, "below the maximum of 6 GB of its new queue")
	c.Free(got[h][0])
	c.gets(h, 1, "in place of one that ended")
}

// Waiting for a better place is worth it if there is one: a host that takes containers, or a node of a preferred rack.
func TestWhoWaitsForABetterPlace(t *testing.T) {
	for name, x := range map[string]struct {
		rows  []core.Ask
		spoil func(c *cluster, h handle.App)
		waits bool
	}{
		"a host":                     {[]core.Ask{row(1, 1), at(row(1, 1), "full")}, nil, true},
		"a host that isn't there":    {[]core.Ask{row(1, 1), at(row(1, 1), "gone")}, nil, false},
		"a host that is closed":      {[]core.Ask{row(1, 1), at(row(1, 1), "full")}, func(c *cluster, _ handle.App) { c.SetOpen(1, nodeset.NoWork) }, false},
		"one of several hosts":       {[]core.Ask{row(1, 1), at(row(1, 1), "gone"), at(row(1, 1), "full")}, nil, true},
		"no container on the host":   {[]core.Ask{row(1, 1), at(row(1, 1), "full"), at(row(0, 1), "full")}, nil, false},
		"a rack":                     {[]core.Ask{row(1, 1), at(row(1, 1), "/s")}, nil, true},
		"a rack that isn't there":    {[]core.Ask{row(1, 1), at(row(1, 1), "/t")}, nil, false},
		"a rack for its hosts only":  {[]core.Ask{row(1, 1), only(at(row(1, 1), "/s"))}, nil, false},
		"no container in the rack":   {[]core.Ask{row(1, 1), at(row(1, 1), "/s"), at(row(0, 1), "/s")}, nil, false},
		"the rack of a host":         {[]core.Ask{row(1, 1), at(row(1, 1), "gone"), at(row(1, 1), "/s")}, nil, true},
		"a rack whose node is gone":  {[]core.Ask{row(1, 1), at(row(1, 1), "/s")}, func(c *cluster, _ handle.App) { c.Free(0); c.RemoveNode(1) }, false},
		"a host that it excludes":    {[]core.Ask{row(1, 1), at(row(1, 1), "full")}, func(c *cluster, h handle.App) { c.UpdateBlacklist(h, []string{"full"}, nil) }, false},
		"a host that comes later":    {[]core.Ask{row(1, 1), at(row(1, 1), "new")}, func(c *cluster, _ handle.App) { c.AddNode(nodeset.Spec{Host: "new", Rack: "/s", Capability: gb(0)}) }, true},
		"the host itself, with room": {[]core.Ask{row(1, 1), at(row(1, 1), "free")}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, map[string]string{"node-locality-delay": "1", "rack-locality-additional-delay": "1"})
			c.AddNode(nodeset.Spec{Host: "free", Rack: "/r", Capability: gb(10)})
			c.AddNode(nodeset.Spec{Host: "full", Rack: "/s", Capability: gb(10)})
			c.Restore(c.app("root.b", "v", 0), 1, gb(10))
			h := c.app("root.a", "u", 0)
			c.run(0)
			if x.spoil != nil {
				x.spoil(c, h)
			}
			c.UpdateAsks(h, x.rows)
			want := 1
			if x.waits {
				want = 0
			}
			c.gets(h, want, "at once")
			if (c.NextWake() > 0) != x.waits {
				t.Errorf("wakes at %d", c.NextWake())
			}
			if x.waits {
				c.Now = 10_000
				c.gets(h, 1, "after the delay")
			}
		})
	}
}

// Nobody is woken for a request that was withdrawn, served elsewhere or changed meanwhile.
func TestDelaysEndWithTheirRequests(t *testing.T) {
	c := start(t, map[string]string{"node-locality-delay": "1", "rack-locality-additional-delay": "0"}, "n0", "n1")
	c.Restore(c.app("root.b", "v", 0), 0, gb(10))
	first := c.app("root.a", "u", 0, row(1, 1), at(row(1, 1), "n0"))
	c.run(0)
	wake := c.NextWake()
	second := c.app("root.a", "u", 0, row(1, 1), at(row(1, 1), "n0"))
	if c.run(wake - 1); c.NextWake() != wake {
		t.Fatalf("wakes at %d, then at %d", wake, c.NextWake())
	}
	c.ClearAsks(second)
	c.Now = wake
	c.gets(first, 1, "after its delay")
	if c.NextWake() != 0 {
		t.Errorf("wakes at %d, for nothing", c.NextWake())
	}
}

// A node can be reserved instead of another one if it is free for that, large enough, and one that the application wants.
func TestReservationsThatCannotBeMoved(t *testing.T) {
	for name, x := range map[string]struct {
		rows  []core.Ask
		spoil func(c *cluster, h handle.App)
		moves bool
	}{
		"anywhere":              {[]core.Ask{row(1, 5)}, nil, true},
		"an excluded node":      {[]core.Ask{row(1, 5)}, func(c *cluster, h handle.App) { c.UpdateBlacklist(h, []string{"n1"}, nil) }, false},
		"a closed node":         {[]core.Ask{row(1, 5)}, func(c *cluster, _ handle.App) { c.SetOpen(1, nodeset.NoWork) }, false},
		"a node for other work": {[]core.Ask{row(1, 5)}, func(c *cluster, _ handle.App) { c.SetOpen(1, nodeset.WorkOf(3)) }, false},
		"a smaller node":        {[]core.Ask{row(1, 5)}, func(c *cluster, _ handle.App) { c.SetCapability(1, gb(4)) }, false},
		"one that just fits":    {[]core.Ask{row(1, 5)}, func(c *cluster, _ handle.App) { c.SetCapability(1, gb(5)) }, true},
		"a strict request":      {[]core.Ask{only(row(1, 5)), at(row(1, 5), "n0"), at(row(1, 5), "n1")}, nil, false},
		"a reserved node": {[]core.Ask{row(1, 5)}, func(c *cluster, _ handle.App) {
			c.app("root.a", "w", 0, row(1, 6))
			c.run(0)
		}, false},
		"a node that is gone": {[]core.Ask{row(1, 5)}, func(c *cluster, _ handle.App) {
			for k := range c.Containers {
				if x := &c.Containers[k]; x.Live() && x.Node == 1 {
					c.Free(handle.Container(k))
				}
			}
			c.RemoveNode(1)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, map[string]string{"reservations-continue-look-all-nodes": "false"}, "n0", "n1", "n2")
			b := c.app("root.b", "v", 0)
			c.Restore(b, 0, gb(6))
			c.Restore(b, 1, gb(6))
			c.Restore(b, 2, gb(6))
			h := c.app("root.a", "u", 0, x.rows...)
			c.run(0)
			if len(c.Reserved) != 1 || c.Containers[c.Reserved[0]].Node != 0 {
				t.Fatalf("%d reservations", len(c.Reserved))
			}
			k := c.Reserved[0]
			if x.spoil != nil {
				x.spoil(c, h)
			}
			since := c.ReservationOf(k).Since
			c.Now += 7
			if got := c.MoveReservation(k, 1); got != x.moves {
				t.Fatalf("moved: %t", got)
			}
			if !x.moves {
				if !c.Containers[k].Live() || c.Containers[k].Node != 0 || c.Nodes.At[0].Reserved != k {
					t.Error("the reservation isn't what it was")
				}
				return
			}
			moved := c.Nodes.At[1].Reserved
			if moved == handle.NoContainer || c.ReservationOf(moved).Since != since || c.Containers[moved].App != h {
				t.Error("the new reservation isn't as old as the first one")
			}
			var kinds []core.DecisionKind
			for _, d := range c.Schedule(c.Now) {
				kinds = append(kinds, d.Kind)
			}
			if !slices.Equal(kinds, []core.DecisionKind{core.Unreserve, core.Reserve}) {
				t.Errorf("decisions are %v", kinds)
			}
		})
	}
	c := start(t, nil, "n0", "n1")
	h := c.app("root.a", "u", 0, row(1, 1))
	k := c.gets(h, 1, "at once")[0]
	for _, wrong := range []handle.Container{k, -1, 99} {
		if c.MoveReservation(wrong, 1) || c.Unreserve(wrong) {
			t.Errorf("container %d is no reservation", wrong)
		}
	}
}

// Preempted room is set aside until the next look, or until the application ends. Then the first application comes first again.
func TestPreemptedRoomIsSetAsideOnce(t *testing.T) {
	for name, x := range map[string]struct {
		spoil func(c *cluster, to handle.App)
		first bool // the application that room was preempted for is served first
	}{
		"it is served first":       {func(*cluster, handle.App) {}, true},
		"the application has gone": {func(c *cluster, to handle.App) { c.RemoveApp(to); c.app("root.b", "x", 0) }, false},
		"another one has gone":     {func(c *cluster, _ handle.App) { c.RemoveApp(c.app("root.b", "x", 0)) }, true},
		"another node has gone":    {func(c *cluster, _ handle.App) { c.RemoveNode(1) }, true},
		"a look in between":        {func(c *cluster, _ handle.App) { c.run(0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, nil, "n0", "n1")
			hog := c.app("root.b", "v", 9)
			k := c.Restore(hog, 0, gb(4))
			c.Restore(hog, 0, gb(6))
			to := c.app("root.b", "u", 0)
			c.run(0)
			c.OfferRoom(to, false, 0, c.Held(k))
			x.spoil(c, to)
			c.UpdateAsks(hog, []core.Ask{only(row(1, 4)), at(row(1, 4), "n0")})
			c.UpdateAsks(to, []core.Ask{only(row(1, 2)), at(row(1, 2), "n0")})
			c.Free(k)
			want := [2]int{0, 1}
			if x.first {
				want = [2]int{1, 0}
			}
			if _, got := c.run(0); [2]int{len(got[to]), len(got[hog])} != want {
				t.Errorf("the application gets %d containers, the one before it %d", len(got[to]), len(got[hog]))
			}
		})
	}
}

// Preempted room lifts no maximum of a queue.
func TestPreemptedRoomAndMaxima(t *testing.T) {
	for has, want := range map[int64]int{8: 1, 9: 0} {
		c := start(t, map[string]string{"root.a.maximum-capacity": "50"}, "n0", "n1")
		k := c.Restore(c.app("root.b", "v", 0), 0, gb(10))
		c.Restore(c.app("root.a", "u", 0), 1, gb(has))
		to := c.app("root.a", "u", 0)
		c.run(0)
		c.UpdateAsks(to, []core.Ask{only(row(1, 2)), at(row(1, 2), "n0")})
		c.OfferRoom(to, false, 0, c.Held(k))
		c.Free(k)
		c.gets(to, want, fmt.Sprintf("of a queue that has %d of 10 GB", has))
	}
}

// Room that was preempted on a node that has gone is not set aside on the node that comes in its place.
func TestPreemptedRoomEndsWithItsNode(t *testing.T) {
	c := start(t, nil, "n0")
	hog := c.app("root.b", "v", 9)
	k := c.Restore(hog, 0, gb(10))
	to := c.app("root.b", "u", 0)
	c.run(0)
	c.OfferRoom(to, false, 0, c.Held(k))
	c.Free(k)
	c.RemoveNode(0)
	if n := c.AddNode(nodeset.Spec{Host: "n1", Rack: "/r", Capability: gb(2)}); n != 0 {
		t.Fatalf("the new node is %d", n)
	}
	c.UpdateAsks(hog, []core.Ask{row(1, 2)})
	c.UpdateAsks(to, []core.Ask{row(1, 2)})
	c.gets(hog, 1, "on the new node")
}

// A reservation is filled when what is on its node shrinks or is suspended, and given up when it can't be filled any more.
func TestReservationsAreLookedAtAgain(t *testing.T) {
	plainAndCrowded(t, func(t *testing.T, crowd func(*cluster)) {
		for name, x := range map[string]struct {
			change func(c *cluster, h handle.App, k handle.Container)
			filled int
			stays  bool // its node stays reserved
		}{
			"nothing has changed":      {func(*cluster, handle.App, handle.Container) {}, 0, true},
			"suspended":                {func(c *cluster, _ handle.App, k handle.Container) { c.SetHeld(k, gb(1)) }, 1, false},
			"not suspended enough":     {func(c *cluster, _ handle.App, k handle.Container) { c.SetHeld(k, gb(6)) }, 0, true},
			"smaller":                  {func(c *cluster, _ handle.App, k handle.Container) { c.ResizeContainer(k, gb(5)) }, 1, false},
			"not small enough":         {func(c *cluster, _ handle.App, k handle.Container) { c.ResizeContainer(k, gb(6)) }, 0, true},
			"a larger node":            {func(c *cluster, _ handle.App, _ handle.Container) { c.SetCapability(0, gb(12)) }, 1, false},
			"a node that is too small": {func(c *cluster, _ handle.App, _ handle.Container) { c.SetCapability(0, gb(4)) }, 0, false},
			"a closed node":            {func(c *cluster, _ handle.App, _ handle.Container) { c.SetOpen(0, nodeset.NoWork) }, 0, false},
			"an excluded node":         {func(c *cluster, h handle.App, _ handle.Container) { c.UpdateBlacklist(h, []string{"n0"}, nil) }, 0, false},
			"an excluded rack":         {func(c *cluster, h handle.App, _ handle.Container) { c.UpdateBlacklist(h, []string{"/r"}, nil) }, 0, false},
			"another node": {func(c *cluster, _ handle.App, _ handle.Container) {
				c.AddNode(nodeset.Spec{Host: "n3", Rack: "/r", Capability: gb(5)})
			}, 1, false},
			"another node, too small": {func(c *cluster, _ handle.App, _ handle.Container) {
				c.AddNode(nodeset.Spec{Host: "n3", Rack: "/r", Capability: gb(4)})
			}, 0, true},
			"a lower maximum": {func(c *cluster, _ handle.App, _ handle.Container) {
				if err := c.SetTree(schedulertest.Halves(c.t, map[string]string{"root.a.capacity": "15", "root.b.capacity": "85", "root.a.maximum-capacity": "15"})); err != nil {
					c.t.Fatal(err)
				}
			}, 0, false},
			"less asked for":     {func(c *cluster, h handle.App, _ handle.Container) { c.UpdateAsks(h, []core.Ask{row(0, 5)}) }, 0, false},
			"smaller containers": {func(c *cluster, h handle.App, _ handle.Container) { c.UpdateAsks(h, []core.Ask{row(1, 3)}) }, 1, false},
			"other work": {func(c *cluster, h handle.App, _ handle.Container) {
				c.SetOpen(0, nodeset.WorkOf(0))
				r := row(1, 5)
				r.Work = 1
				c.UpdateAsks(h, []core.Ask{r})
			}, 0, false},
		} {
			t.Run(name, func(t *testing.T) {
				c := start(t, nil, "n0", "n1", "n2")
				crowd(c)
				k := c.Restore(c.app("root.b", "v", 0), 0, gb(7))
				c.Restore(c.app("root.b", "v", 0), 1, gb(6))
				c.Restore(c.app("root.b", "v", 0), 2, gb(6))
				h := c.app("root.a", "u", 0, row(1, 5))
				c.run(0)
				if len(c.Reserved) != 1 || c.Containers[c.Reserved[0]].Node != 0 {
					t.Fatalf("%d reservations", len(c.Reserved))
				}
				x.change(c, h, k)
				c.SetCapability(2, gb(10)) // they are looked at when something happens on a node
				c.gets(h, x.filled, name)
				if stays := c.Nodes.At[0].Reserved != handle.NoContainer; stays != x.stays {
					t.Errorf("node 0 stays reserved: %t", stays)
				}
			})
		}
	})
}

// Room on another node goes to a reservation before it goes to anybody whose turn comes first, whether or not its size has a class of its own.
func TestReservationsComeFirstElsewhere(t *testing.T) {
	plainAndCrowded(t, func(t *testing.T, crowd func(*cluster)) {
		c := start(t, nil, "n0", "n1", "n2")
		crowd(c)
		var held []handle.Container
		for n := range handle.Node(3) {
			held = append(held, c.Restore(c.app("root.b", "v", 0), n, gb(6)))
		}
		small := c.Restore(c.app("root.b", "v", 0), 2, gb(1))
		h := c.app("root.a", "u", 0, row(1, 6))
		if c.run(0); len(c.Reserved) != 1 || c.Containers[c.Reserved[0]].Node != 0 {
			t.Fatalf("%d reservations", len(c.Reserved))
		}
		c.Free(small)
		c.gets(h, 0, "too little is free")
		urgent := c.app("root.a", "u", 9, row(1, 6))
		c.Free(held[1])
		if _, granted := c.run(c.Now); len(granted[h]) != 1 || len(granted[urgent]) != 0 {
			t.Errorf("who has a reservation got %d containers, and who is more urgent got %d", len(granted[h]), len(granted[urgent]))
		}
	})
}

// A request that its queue's maximum keeps waiting is served as soon as the queue has less, or may have more.
func TestRequestsAboveAMaximumAreTriedAgain(t *testing.T) {
	plainAndCrowded(t, func(t *testing.T, crowd func(*cluster)) {
		for name, change := range map[string]func(c *cluster, k handle.Container){
			"a container ends":    func(c *cluster, k handle.Container) { c.Free(k) },
			"a container shrinks": func(c *cluster, k handle.Container) { c.ResizeContainer(k, gb(1)) },
			"a larger cluster": func(c *cluster, _ handle.Container) {
				c.AddNode(nodeset.Spec{Host: "n2", Rack: "/r", Capability: gb(10)})
			},
			"a higher maximum": func(c *cluster, _ handle.Container) {
				if err := c.SetTree(schedulertest.Halves(c.t, map[string]string{"root.a.maximum-capacity": "70"})); err != nil {
					c.t.Fatal(err)
				}
			},
			"an application moves": func(c *cluster, k handle.Container) { c.MoveApp(c.Containers[k].App, "root.b") },
		} {
			t.Run(name, func(t *testing.T) {
				c := start(t, map[string]string{"root.a.maximum-capacity": "50"}, "n0", "n1")
				crowd(c)
				k := c.Restore(c.app("root.a", "v", 0), 0, gb(4))
				c.Restore(c.app("root.a", "v", 0), 1, gb(4))
				h := c.app("root.a", "u", 0, row(1, 4))
				c.gets(h, 0, "at the maximum of 10 GB")
				change(c, k)
				c.gets(h, 1, name)
			})
		}
	})
}

// A request whose application wants none of the nodes with room is served when one comes, or gets room, or is excluded no more.
func TestRequestsWithoutAWantedNodeAreTriedAgain(t *testing.T) {
	plainAndCrowded(t, func(t *testing.T, crowd func(*cluster)) {
		for name, x := range map[string]struct {
			change func(c *cluster, h handle.App, k handle.Container)
			want   int
		}{
			"nothing has changed": {func(*cluster, handle.App, handle.Container) {}, 0},
			"a node comes": {func(c *cluster, _ handle.App, _ handle.Container) {
				c.AddNode(nodeset.Spec{Host: "n2", Rack: "/r", Capability: gb(4)})
			}, 1},
			"a node comes, too small": {func(c *cluster, _ handle.App, _ handle.Container) {
				c.AddNode(nodeset.Spec{Host: "n2", Rack: "/r", Capability: gb(3)})
			}, 0},
			"a wanted node gets room":       {func(c *cluster, _ handle.App, k handle.Container) { c.Free(k) }, 1},
			"the other is excluded no more": {func(c *cluster, h handle.App, _ handle.Container) { c.UpdateBlacklist(h, nil, []string{"n1"}) }, 1},
			"the other is open to its work": {func(c *cluster, h handle.App, _ handle.Container) {
				c.UpdateBlacklist(h, nil, []string{"n1"})
				c.SetOpen(1, nodeset.WorkOf(1))
			}, 0},
		} {
			t.Run(name, func(t *testing.T) {
				c := start(t, nil, "n0", "n1")
				crowd(c)
				k := c.Restore(c.app("root.b", "v", 0), 0, gb(10))
				h := c.app("root.a", "u", 0)
				c.UpdateBlacklist(h, []string{"n1"}, nil)
				c.UpdateAsks(h, []core.Ask{row(1, 4)})
				c.gets(h, 0, "with nodes that are full or excluded")
				x.change(c, h, k)
				c.gets(h, x.want, name)
			})
		}
	})
}

// Which resources count can change while applications run: cores that are in use count from then on, or don't any more.
func TestAnotherCalculator(t *testing.T) {
	set := func(c *cluster, calculator string) {
		c.t.Helper()
		if err := c.SetTree(schedulertest.Halves(c.t, map[string]string{"resource-calculator": "org.apache.hadoop.yarn.util.resource." + calculator})); err != nil {
			c.t.Fatal(err)
		}
	}
	plainAndCrowded(t, func(t *testing.T, crowd func(*cluster)) {
		c := start(t, nil, "n0")
		crowd(c)
		r := row(1, 1)
		r.Capability = records.NewResource(1<<10, 8)
		h := c.app("root.a", "u", 0, r)
		first := c.gets(h, 1, "of 10 cores")[0]
		c.UpdateAsks(h, []core.Ask{r})
		second := c.gets(h, 1, "with 16 of 10 cores, which don't count")[0]
		set(c, "DominantResourceCalculator")
		c.UpdateAsks(h, []core.Ask{r})
		c.gets(h, 0, "with cores that count")
		c.Free(first)
		c.gets(h, 0, "with 8 of 10 cores")
		c.Free(second)
		c.gets(h, 1, "with all cores")
		c.UpdateAsks(h, []core.Ask{r})
		c.gets(h, 0, "with 8 cores in use")
		set(c, "DefaultResourceCalculator")
		c.gets(h, 1, "with cores that count no more")
	})
}

// A reservation that was made before another calculator came is filled on any node, whatever its class is now.
func TestReservationsOutlastACalculator(t *testing.T) {
	c := start(t, nil, "n0", "n1")
	c.Restore(c.app("root.b", "v", 0), 0, gb(7))
	c.Restore(c.app("root.b", "v", 0), 1, gb(6))
	other := c.app("root.b", "w", 0, row(1, 50))
	h := c.app("root.a", "u", 0, row(1, 5))
	c.run(0)
	if len(c.Reserved) != 1 {
		t.Fatalf("%d reservations", len(c.Reserved))
	}
	c.ClearAsks(other)
	if err := c.SetTree(schedulertest.Halves(t, map[string]string{"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})); err != nil {
		t.Fatal(err)
	}
	c.run(0)
	c.AddNode(nodeset.Spec{Host: "n2", Rack: "/r", Capability: gb(8)})
	if k := c.gets(h, 1, "on a node that comes"); len(k) == 1 && c.Containers[k[0]].Node != 2 || len(c.Reserved) != 0 {
		t.Errorf("%d reservations are left", len(c.Reserved))
	}
}

// Which paths take applications: leaves, and in Fair queues what can be made; not a queue that holds queues, or below a leaf in use.
func TestWhichPathsTakeApplications(t *testing.T) {
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="a"/><queue name="p" type="parent"><queue name="x"/></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t}
	c.Core = core.NewCore(core.Config{Tree: fair, Minimum: gb(1), Heartbeat: time.Second}, func(s *core.Core, k queue.Kind) core.Policy {
		return policy.New(k, s)
	})
	c.AddNode(nodeset.Spec{Host: "n0", Rack: "/r", Capability: gb(10)})
	expect := func(when string, want map[string]bool) {
		t.Helper()
		for path, takes := range want {
			if got := c.TakesApps(path); got != takes {
				t.Errorf("%s: %s takes applications: %t", when, path, got)
			}
		}
	}
	expect("as configured", map[string]bool{"root.a": true, "root.p.x": true, "root.p": false, "root.a.below": false, "root.new": true, "root.new.er": true, "root.p.y": true, "root": false})
	h := c.app("root.new", "u", 0)
	expect("with an application in a new one", map[string]bool{"root.new": true, "root.new.er": false})
	c.RemoveApp(h)
	expect("without it", map[string]bool{"root.new": true, "root.new.er": true})
	c.app("root.new.er", "u", 0)
	expect("with one further below", map[string]bool{"root.new": false, "root.new.er": true, "root.new.est": true})
	if q := &c.Queues[c.ByPath["root.new"]]; q.Leaf || q.Total != 1 || !c.Queues[c.ByPath["root.new.er"]].Leaf {
		t.Errorf("root.new has %d applications", q.Total)
	}
}

// What an application asks for is served by priority, then by id, where it is preferred first, and each container is told of so.
func TestDecisionsTellWhatTheyAreFor(t *testing.T) {
	c := start(t, nil)
	for i, rack := range []string{"/r", "/r", "/s"} {
		c.AddNode(nodeset.Spec{Host: fmt.Sprintf("n%d", i), Rack: rack, Capability: gb(1)})
	}
	r := row(3, 1)
	r.Priority, r.AllocationRequestID, r.ExecutionType = 4, 9, pb.ExecutionType_OPPORTUNISTIC
	host, rack := at(r, "n1"), at(r, "/r")
	host.Count, rack.Count = 1, 2
	h := c.app("root.a", "u", 0, r, host, rack)
	var got []core.Decision
	for _, d := range c.Schedule(0) {
		if d.Kind == core.Allocate {
			got = append(got, d)
		}
	}
	if len(got) != 3 {
		t.Fatalf("%d containers", len(got))
	}
	for i, want := range []struct {
		node     handle.Node
		locality core.Locality
	}{{1, core.NodeLocal}, {0, core.RackLocal}, {2, core.OffSwitch}} {
		d := got[i]
		if d.Node != want.node || d.Locality != want.locality || d.App != h || d.Priority != 4 || d.AllocationRequestID != 9 || d.ExecutionType != pb.ExecutionType_OPPORTUNISTIC || d.Resource != gb(1) {
			t.Errorf("container %d: %+v", i, d)
		}
	}
	if requests, places := c.Requests(h); requests != 0 || places != 0 {
		t.Errorf("%d requests for %d places are left", requests, places)
	}
}

// A path need not begin with the root. Where a queue with applications in it is in the way, that one takes the application, and what was made
// for applications that have gone is made anew.
func TestLeavesThatAreMadeForApplications(t *testing.T) {
	fair, err := queue.ParseFair([]byte(`<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault><queue name="a"/><queue name="p" type="parent"/></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t}
	c.Core = core.NewCore(core.Config{Tree: fair, Minimum: gb(1), Heartbeat: time.Second}, func(s *core.Core, k queue.Kind) core.Policy {
		return policy.New(k, s)
	})
	c.AddNode(nodeset.Spec{Host: "n0", Rack: "/r", Capability: gb(10)})
	var last handle.App
	var held []handle.Container
	for _, x := range [][2]string{
		{"new", "root.new"},
		{"root.new.below", "root.new"},
		{"root.a.below", "root.a"},
		{"root", "root.default"},
		{"root.p", "root.p.default"},
		{"root.x.y.z", "root.x.y.z"},
		{"rootless", "root.rootless"},
	} {
		last = c.app(x[0], "u", 0, row(1, 1))
		if got := c.Queues[c.Apps[last].Leaf].Cfg.Path; got != x[1] {
			t.Errorf("an application for %s is in %s, not in %s", x[0], got, x[1])
		}
		_, granted := c.run(0)
		if held = granted[last]; len(held) != 1 {
			t.Fatalf("an application for %s is granted %v", x[0], granted)
		}
	}
	c.Free(held[0])
	c.RemoveApp(last)
	again := c.app("root.rootless.deeper", "u", 0)
	if got := c.Queues[c.Apps[again].Leaf].Cfg.Path; got != "root.rootless.deeper" {
		t.Errorf("it is in %s", got)
	}
	c.run(0)
}

// A request whose size or kind of work changes has no node reserved any more, as that was for another one.
func TestReservationsEndWithTheRequestThatTheyWereFor(t *testing.T) {
	for name, change := range map[string]func(*core.Ask){
		"another size":         func(r *core.Ask) { r.Capability = gb(6) },
		"another kind of work": func(r *core.Ask) { r.Work = 1 },
	} {
		c := start(t, nil, "n0", "n1")
		for n := range handle.Node(2) {
			c.Restore(c.app("root.b", "v", 0), n, gb(5))
		}
		r := row(1, 7)
		h := c.app("root.a", "u", 0, r)
		c.run(0)
		c.UpdateAsks(h, []core.Ask{r})
		if len(c.Reserved) != 1 {
			t.Fatalf("%s: %d reservations, and the request is the same", name, len(c.Reserved))
		}
		change(&r)
		if c.UpdateAsks(h, []core.Ask{r}); len(c.Reserved) != 0 {
			t.Errorf("%s: %d reservations", name, len(c.Reserved))
		}
	}
}

// A container that takes more on its node, as the node says, may leave its queue nothing of what is reserved in it.
func TestReservationsEndWhenTheirQueueHoldsTooMuch(t *testing.T) {
	c := start(t, map[string]string{"root.a.maximum-capacity": "50"}, "n0", "n1")
	h := c.app("root.a", "u", 0, row(1, 8))
	_, got := c.run(0)
	k := got[h][0]
	n := c.Containers[k].Node
	c.SetHeld(k, gb(1))
	b := c.app("root.b", "v", 0)
	c.Restore(b, n, gb(8))
	c.Restore(b, 1-n, gb(6))
	c.UpdateAsks(h, []core.Ask{only(row(1, 5)), at(row(1, 5), []string{"n0", "n1"}[n])})
	if c.run(0); len(c.Reserved) != 1 {
		t.Fatalf("%d reservations", len(c.Reserved))
	}
	c.NoteHeld(k, gb(8))
	if c.run(0); len(c.Reserved) != 0 {
		t.Error("the queue has 13 of 10 GB with what is reserved")
	}
}

// A request that found no better node waits for one when one has come.
func TestHostsThatComeAreWaitedFor(t *testing.T) {
	c := start(t, map[string]string{"node-locality-delay": "40"}, "n0", "n1")
	k := c.Restore(c.app("root.b", "v", 0), 1, gb(10))
	h := c.app("root.a", "u", 0)
	c.UpdateBlacklist(h, []string{"n0"}, nil)
	c.UpdateAsks(h, []core.Ask{row(1, 2), at(row(1, 2), "n2")})
	c.gets(h, 0, "while there is room on a node only that it excludes")
	c.AddNode(nodeset.Spec{Host: "n2", Rack: "/r", Capability: gb(1)})
	c.Free(k)
	c.gets(h, 0, "while it may wait for the host that has come")
}

// A reservation says what it is for, as a container does.
func TestReservationsTellWhatTheyAreFor(t *testing.T) {
	c := start(t, nil, "n0", "n1")
	other := c.app("root.b", "v", 0)
	c.Restore(other, 0, gb(8))
	c.Restore(other, 1, gb(9))
	r := row(1, 3)
	r.Priority, r.AllocationRequestID, r.ExecutionType = 4, 9, pb.ExecutionType_OPPORTUNISTIC
	h := c.app("root.a", "u", 0, r)
	for _, d := range c.Schedule(0) {
		if d.Kind != core.Reserve {
			continue
		}
		want := core.Decision{
			Kind: core.Reserve, Container: d.Container, App: h, Node: d.Node, Resource: gb(3), Priority: 4, AllocationRequestID: 9,
			ExecutionType: pb.ExecutionType_OPPORTUNISTIC,
		}
		if d != want {
			t.Errorf("%+v, want %+v", d, want)
		}
		return
	}
	t.Error("no node is reserved")
}

// Room is offered to a request on the node where it is, and only if the request may have it there.
func TestRoomIsOfferedWhereItIs(t *testing.T) {
	c := start(t, nil, "n0", "n1")
	h := c.app("root.a", "u", 0)
	c.Restore(c.app("root.b", "v", 0), 0, gb(10))
	c.run(0)
	c.UpdateAsks(h, []core.Ask{only(row(1, 2)), at(row(1, 2), "n1")})
	d := request(c, h, 0)
	if c.Offer(d, 0) {
		t.Error("it is offered room on n0, which is full, and where it may not go")
	}
	if !c.Offer(d, 1) {
		t.Fatal("it is offered no room on n1")
	}
	if k := c.gets(h, 1, "what it was offered"); c.Containers[k[0]].Node != 1 {
		t.Errorf("it got it on node %d", c.Containers[k[0]].Node)
	}
}

// A user's turn is that of the most urgent application that he has yet: when that ends, others may come first.
func TestUsersLoseTheirTurnWithTheirApplication(t *testing.T) {
	c := start(t, nil, "n0")
	urgent := c.app("root.a", "u", 9)
	second := c.app("root.a", "u", 0)
	other := c.app("root.a", "v", 5)
	hog := c.Restore(c.app("root.b", "w", 0), 0, gb(10))
	c.run(0)
	c.UpdateAsks(second, []core.Ask{row(1, 1)})
	c.UpdateAsks(other, []core.Ask{row(1, 1)})
	c.RemoveApp(urgent)
	c.run(0)
	c.ResizeContainer(hog, gb(9))
	c.gets(other, 1, "the more urgent of two")
}

// In a preferred rack the next containers may go there at once. Elsewhere they go when the rest of the delay has passed since then.
func TestARackLetsTheNextContainersComeAtOnce(t *testing.T) {
	c := start(t, map[string]string{
		"node-locality-delay": "1", "rack-locality-additional-delay": "1", "rack-locality-full-reset": "false",
	}, "n0")
	c.AddNode(nodeset.Spec{Host: "s0", Rack: "/s", Capability: gb(2)})
	c.AddNode(nodeset.Spec{Host: "s1", Rack: "/s", Capability: gb(10)})
	c.AddNode(nodeset.Spec{Host: "n1", Rack: "/r", Capability: gb(10)})
	c.Restore(c.app("root.b", "v", 0), 2, gb(10))
	c.run(1000)
	h := c.app("root.a", "u", 0, row(3, 1), at(row(3, 1), "s1"), at(row(3, 1), "/s"))
	c.gets(h, 0, "while it waits for its host")
	c.Now = c.NextWake() // a delay of one node in four: 250 ms
	if got := c.gets(h, 2, "in its rack"); c.Now != 1250 || c.Containers[got[0]].Node != 1 || c.Containers[got[1]].Node != 1 {
		t.Errorf("at %d: %v", c.Now, got)
	}
	if wake := c.NextWake(); wake != 1500 {
		t.Errorf("it may go anywhere at %d, want 1500: two of four nodes let pass", wake)
	}
	c.Now = 1499
	c.gets(h, 0, "before that")
	c.Now = 1500
	c.gets(h, 1, "anywhere")
}

// In capacity queues applications may name a leaf without those above it.
func TestLeavesGoByTheirNames(t *testing.T) {
	c := start(t, nil, "n0")
	if h := c.app("b", "u", 0); c.Queues[c.Apps[h].Leaf].Cfg.Path != "root.b" {
		t.Errorf("an application of b is in %s", c.Queues[c.Apps[h].Leaf].Cfg.Path)
	}
}

// Clients choose sizes. A size that no container has any more gives its number back, or ever new sizes would fill the memory.
func TestSizesThatNobodyHasAreForgotten(t *testing.T) {
	c := start(t, nil, "n0")
	h := c.app("root.a", "u", 0)
	for i := range int64(20) {
		k := c.Restore(h, 0, gb(i))
		c.ResizeContainer(k, gb(i+100))
		if n := c.SizeNumber(k); n > 1 { // while it changes it has two
			t.Fatalf("the only container's size is number %d", n)
		}
		c.Free(k)
	}
}
