package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

var gb, row, at, only = schedulertest.GB, schedulertest.Row, schedulertest.At, schedulertest.Only

// cluster is a core with two capacity queues, a and b, and nodes of 10 GB.
type cluster struct {
	*core.Core
	t    *testing.T
	apps int64
}

func start(t *testing.T, more map[string]string, hosts ...string) *cluster {
	c := &cluster{t: t}
	c.Core = core.NewCore(core.Config{Tree: schedulertest.Halves(t, more), Minimum: gb(1), Heartbeat: time.Second}, func(s *core.Core, k queue.Kind) core.Policy {
		return policy.New(k, s)
	})
	for _, h := range hosts {
		c.AddNode(nodeset.Spec{Host: h, Rack: "/r", Capability: gb(10)})
	}
	return c
}

func (c *cluster) app(path, user string, priority int32, rows ...core.Ask) handle.App {
	c.apps++
	h := c.AddApp(core.AppSpec{Queue: path, User: user, Priority: priority, Seq: c.apps, AM: gb(1)})
	c.UpdateAsks(h, rows)
	return h
}

// run returns the applications that became active, and the containers that were granted, by application.
func (c *cluster) run(now int64) (active []handle.App, granted map[handle.App][]handle.Container) {
	c.t.Helper()
	granted = map[handle.App][]handle.Container{}
	for _, d := range c.Schedule(now) {
		switch d.Kind {
		case core.Activate:
			active = append(active, d.App)
		case core.Allocate:
			granted[d.App] = append(granted[d.App], d.Container)
		}
	}
	if err := c.Check(); err != nil {
		c.t.Fatal(err)
	}
	return active, granted
}

func (c *cluster) activates(want ...handle.App) {
	c.t.Helper()
	got, _ := c.run(c.Now)
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Fatalf("(- wanted, + activated)\n%s", diff)
	}
}

// Applications that too many others keep from running are let in by submission, those that wait for ApplicationMasters' limit by
// priority first.
func TestApplicationsBecomeActiveInTheirOrder(t *testing.T) {
	c := start(t, map[string]string{"root.a.max-parallel-apps": "2", "user.u.max-parallel-apps": "2"}, "n0")
	first, second := c.app("root.a", "v", 0), c.app("root.a", "v", 0)
	third, urgent := c.app("root.a", "v", 0), c.app("root.a", "v", 9)
	c.activates(first, second)
	if ok, full := c.MayRun(&c.Apps[third]); ok || full != c.ByPath["root.a"] {
		t.Errorf("may run: %v, full is %d", ok, full)
	}
	c.RemoveApp(first)
	c.activates(third)
	c.RemoveApp(third)
	c.activates(urgent)
	fourth := c.app("root.a", "v", 0)
	c.activates()
	c.MoveApp(second, "root.b")
	c.activates(fourth)
	held := c.app("root.a", "v", 0)
	c.RemoveApp(held)
	c.activates()
	c.app("root.b", "u", 0)
	c.app("root.b", "u", 0)
	last := c.app("root.b", "u", 0)
	c.run(c.Now)
	if ok, full := c.MayRun(&c.Apps[last]); ok || full >= 0 || c.Apps[last].Active || c.Running["u"] != 2 {
		t.Errorf("of a user's three applications %d count; another may run: %v, %d", c.Running["u"], ok, full)
	}
}

func TestApplicationsWaitByPriorityForTheLimitOnMasters(t *testing.T) {
	c := start(t, map[string]string{"root.a.maximum-am-resource-percent": "0.1"}, "n0")
	first := c.app("root.a", "u", 0)
	c.activates(first)
	later, urgent, raised := c.app("root.a", "u", 1), c.app("root.a", "u", 2), c.app("root.a", "u", 0)
	c.activates()
	if c.NextWake() != c.Now+500 {
		t.Errorf("looks again at %d", c.NextWake())
	}
	c.SetPriority(raised, 3)
	for _, next := range [][2]handle.App{{first, raised}, {raised, urgent}, {urgent, later}} {
		c.RemoveApp(next[0])
		c.activates(next[1])
	}
	q := &c.Queues[c.ByPath["root.a"]]
	if q.Active != 1 || q.AmUsed != gb(1) || len(q.Waiting) != 0 {
		t.Errorf("%d are active with %v; %d wait", q.Active, q.AmUsed, len(q.Waiting))
	}
}

// Restored applications count as active, whatever held them.
func TestRestoredApplicationsAreActive(t *testing.T) {
	c := start(t, map[string]string{"root.max-parallel-apps": "1"}, "n0")
	c.app("root.a", "u", 0)
	held := c.app("root.b", "u", 0)
	k := c.Restore(held, 0, gb(3))
	c.run(0)
	if a := &c.Apps[held]; !a.Active || !a.Runnable || a.Used != gb(3) || a.Running != 1 || c.Held(k) != gb(3) {
		t.Errorf("%+v", *a)
	}
	if c.Queues[core.Root].Runnable != 2 || c.Queues[core.Root].Used != gb(3) {
		t.Errorf("%d run, with %v", c.Queues[core.Root].Runnable, c.Queues[core.Root].Used)
	}
}

// A container may take less on its node than it is charged with; the rest is room for others. It gets that back if it is still there.
func TestHeldAmounts(t *testing.T) {
	c := start(t, map[string]string{"root.b.maximum-capacity": "100"}, "n0")
	a := c.app("root.a", "u", 0, row(1, 6))
	_, got := c.run(0)
	k := got[a][0]
	for _, to := range []records.Resource{gb(7), records.NewResource(-1, 1), records.NewResource(1024, 7)} {
		if c.SetHeld(k, to) || c.Held(k) != gb(6) {
			t.Errorf("holds %v after %v", c.Held(k), to)
		}
	}
	if !c.SetHeld(k, gb(2)) || c.Held(k) != gb(2) || c.Nodes.At[0].Used != gb(2) || c.Queues[core.Root].Used != gb(2) || c.Apps[a].Used != gb(6) {
		t.Fatalf("holds %v, its node %v, the root %v, its application %v", c.Held(k), c.Nodes.At[0].Used, c.Queues[core.Root].Used, c.Apps[a].Used)
	}
	if diff := cmp.Diff(map[handle.Container]records.Resource{k: gb(2)}, c.Lowered()); diff != "" {
		t.Errorf("lowered (- wanted, + got)\n%s", diff)
	}
	other := c.Restore(c.app("root.b", "v", 0), 0, gb(5))
	c.run(0)
	if c.SetHeld(k, gb(6)) || !c.SetHeld(k, gb(5)) || c.Held(k) != gb(5) {
		t.Errorf("beside 5 of 10 GB it holds %v", c.Held(k))
	}
	c.SetOpen(0, nodeset.NoWork)
	c.Free(other)
	if !c.SetHeld(k, gb(6)) || c.Nodes.At[0].Used != gb(6) {
		t.Errorf("on a closed node it has room on it holds %v", c.Held(k))
	}
	c.SetHeld(k, gb(1))
	if c.Free(k); !c.Nodes.At[0].Used.IsZero() || !c.Apps[a].Used.IsZero() || c.SetHeld(k, gb(0)) {
		t.Errorf("left on the node: %v, with the application: %v", c.Nodes.At[0].Used, c.Apps[a].Used)
	}
	c.run(0)
}

// A container that is to have its claim again takes what its node has free, as far as its queues may have that.
func TestContainersRegainWhatIsFree(t *testing.T) {
	for name, x := range map[string]struct {
		maximum  string // of the queue, in percent
		own      int64  // what another container of the queue has
		other    int64  // and one of another queue
		held     int64  // afterwards, of 6 GB
		complete bool
	}{
		"all is free":               {"100", 0, 0, 6, true},
		"just enough":               {"100", 0, 4, 6, true},
		"a part":                    {"100", 0, 7, 3, false},
		"nothing":                   {"100", 0, 9, 1, false},
		"the node has too much":     {"100", 0, 12, 1, false},
		"the queue may have it all": {"80", 2, 0, 6, true},
		"the queue may not have it": {"80", 4, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, map[string]string{"root.a.maximum-capacity": x.maximum}, "n0")
			a := c.app("root.a", "u", 0, row(1, 6))
			_, got := c.run(0)
			k := got[a][0]
			c.SetHeld(k, gb(1))
			if x.own > 0 {
				c.Restore(a, 0, gb(x.own))
			}
			if x.other > 0 {
				c.Restore(c.app("root.b", "v", 0), 0, gb(x.other))
			}
			for range 2 { // the second time nothing is left to take
				if done := c.Regain(k); done != x.complete || c.Held(k)[records.Memory] != x.held<<10 {
					t.Errorf("it holds %v, which is all: %t", c.Held(k), done)
				}
			}
			c.run(0)
		})
	}
}

// What an application lacks of its claims goes with it into another queue. A container gets nothing back that its queue may not have,
// unless its node says that it has it.
func TestQueuesAreChargedWhatIsHeld(t *testing.T) {
	c := start(t, map[string]string{"root.a.maximum-capacity": "80", "root.b.maximum-capacity": "50"}, "n0")
	a := c.app("root.a", "u", 0, row(1, 8))
	_, got := c.run(0)
	k := got[a][0]
	if !c.SetHeld(k, gb(1)) || c.Withheld(core.Root) != gb(7) {
		t.Fatalf("%v are withheld", c.Withheld(core.Root))
	}
	c.MoveApp(a, "root.b")
	b := c.Apps[a].Leaf
	if c.Queues[b].Used != gb(1) || c.Withheld(b) != gb(7) || c.Users[c.Apps[a].User].Used != gb(8) {
		t.Errorf("after the move the queue holds %v without %v, the user claims %v", c.Queues[b].Used, c.Withheld(b), c.Users[c.Apps[a].User].Used)
	}
	c.run(0)
	if c.SetHeld(k, gb(6)) || !c.SetHeld(k, gb(5)) || c.NoteHeld(k, gb(9)) || !c.NoteHeld(k, gb(8)) || c.Queues[b].Used != gb(8) {
		t.Errorf("in a queue of 5 GB it takes %v", c.Queues[b].Used)
	}
	c.run(0)
	other := c.Restore(a, 0, gb(2))
	c.NoteHeld(other, gb(0))
	if c.NoteHeld(k, gb(1)); !c.NoteHeld(other, gb(2)) || c.Nodes.At[0].Used != gb(3) {
		t.Errorf("the node has %v", c.Nodes.At[0].Used)
	}
	c.NoteHeld(k, gb(8))
	if c.Restore(a, 0, gb(3)); c.Nodes.At[0].Used != gb(13) {
		t.Errorf("the node has %v of 10 GB", c.Nodes.At[0].Used)
	}
	c.run(0)
}

// A container grows as far as its node has room and its queues may have; what it holds less on its node stays so.
func TestContainersAreResized(t *testing.T) {
	c := start(t, map[string]string{"root.a.maximum-capacity": "80"}, "n0")
	a := c.app("root.a", "u", 0, row(1, 2))
	_, got := c.run(0)
	k := got[a][0]
	other := c.Restore(c.app("root.b", "v", 0), 0, gb(4))
	if c.ResizeContainer(k, gb(7)) || !c.ResizeContainer(k, gb(6)) || c.Nodes.At[0].Used != gb(10) || c.Apps[a].Used != gb(6) {
		t.Errorf("beside 4 of 10 GB: %v on the node, %v of the application", c.Nodes.At[0].Used, c.Apps[a].Used)
	}
	c.Free(other)
	if c.ResizeContainer(k, gb(9)) || !c.ResizeContainer(k, gb(8)) {
		t.Error("the queue's maximum is 8 GB")
	}
	c.SetHeld(k, gb(3))
	if !c.ResizeContainer(k, gb(5)) || c.Held(k) != gb(3) || c.Apps[a].Used != gb(5) || c.Nodes.At[0].Used != gb(3) {
		t.Errorf("holds %v of %v", c.Held(k), c.Apps[a].Used)
	}
	if !c.ResizeContainer(k, gb(2)) || c.Held(k) != gb(2) || c.Nodes.At[0].Used != gb(2) {
		t.Errorf("holds %v, its node %v", c.Held(k), c.Nodes.At[0].Used)
	}
	c.run(0)
}

// Preempted room goes once to the application that it was taken for, although others come before it.
func TestPreemptedRoomGoesToItsApplication(t *testing.T) {
	for name, x := range map[string]struct {
		rows    []core.Ask
		spoil   func(c *cluster, to handle.App)
		granted int
	}{
		"as many as fit":          {[]core.Ask{row(5, 2)}, nil, 2},
		"less than was preempted": {[]core.Ask{row(1, 3)}, nil, 1},
		"too large":               {[]core.Ask{row(1, 5)}, nil, 0},
		"strictly elsewhere":      {[]core.Ask{only(row(1, 2)), at(row(1, 2), "n1")}, nil, 0},
		"strictly there":          {[]core.Ask{only(row(1, 2)), at(row(1, 2), "n0")}, nil, 1},
		"excludes the node":       {[]core.Ask{row(5, 2)}, func(c *cluster, to handle.App) { c.UpdateBlacklist(to, []string{"n0"}, nil) }, 0},
		"wants nothing":           {nil, nil, 0},
		"a closed node":           {[]core.Ask{row(5, 2)}, func(c *cluster, _ handle.App) { c.SetOpen(0, nodeset.NoWork) }, 0},
	} {
		c := start(t, nil, "n0")
		hog := c.app("root.a", "u", 9, row(10, 2))
		_, got := c.run(0)
		k := c.Restore(c.app("root.b", "w", 0), 0, records.Resource{})
		to := c.app("root.a", "v", 0)
		c.run(0)
		c.UpdateAsks(to, x.rows)
		for _, h := range got[hog][:2] {
			c.OfferRoom(to, false, 0, c.Held(h))
			c.Free(h)
		}
		if x.spoil != nil {
			x.spoil(c, to)
		}
		if _, now := c.run(0); len(now[to]) != x.granted {
			t.Errorf("%s: %d containers, want %d", name, len(now[to]), x.granted)
		}
		c.Free(k)
	}
}

// A request that its queue's maximum, or its application's choice of nodes, keeps waiting is served when that changes.
func TestParkedRequestsAreTriedAgain(t *testing.T) {
	c := start(t, map[string]string{"root.a.maximum-capacity": "50", "node-locality-delay": "-1"}, "n0", "n1")
	hog := c.app("root.a", "u", 0, row(9, 1))
	_, got := c.run(0)
	over := c.app("root.a", "v", 0, row(1, 2))
	if _, now := c.run(0); len(now[over]) != 0 {
		t.Fatal("the queue has more than its maximum")
	}
	c.Free(got[hog][0])
	if _, now := c.run(0); len(now[over]) != 1 {
		t.Error("isn't served although its queue has room")
	}
	picky := c.app("root.b", "w", 0)
	c.UpdateBlacklist(picky, []string{"/r"}, nil)
	c.UpdateAsks(picky, []core.Ask{row(1, 1)})
	c.run(0)
	c.UpdateBlacklist(picky, []string{"n1"}, []string{"/r", "unknown"})
	if diff := cmp.Diff([]string{"n1"}, c.BlacklistOf(&c.Apps[picky])); diff != "" {
		t.Error(diff)
	}
	if _, now := c.run(0); len(now[picky]) != 1 || c.Containers[now[picky][0]].Node != 0 {
		t.Errorf("granted %v", now)
	}
	strict := c.app("root.b", "x", 0, only(row(1, 1)), at(row(1, 1), "new"))
	c.run(0)
	c.AddNode(nodeset.Spec{Host: "new", Rack: "/s", Capability: gb(1)})
	if _, now := c.run(0); len(now[strict]) != 1 {
		t.Error("isn't served on the host that has come")
	}
}

// A configuration that can't take what runs is refused with the queue's name, and changes nothing.
func TestConfigurationsThatAreRefused(t *testing.T) {
	c := start(t, nil, "n0")
	h := c.app("root.b", "u", 0, row(1, 1))
	c.run(0)
	before := c.Tree
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="b"/></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	for want, next := range map[string]*queue.Tree{
		"can't be replaced by those of another": fair,
		"queue root.b has 1 applications in it, and can't be removed": schedulertest.Halves(t, map[string]string{
			"root.queues": "a", "root.a.capacity": "100",
		}),
		"queue root.b has 1 applications in it, and can't be made a leaf or a parent": schedulertest.Halves(t, map[string]string{
			"root.b.queues": "x", "root.b.x.capacity": "100",
		}),
	} {
		if err := c.SetTree(next); err == nil || !strings.Contains(err.Error(), want) || c.Tree != before {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := c.SetTree(schedulertest.Halves(t, map[string]string{"root.queues": "b,c", "root.b.capacity": "25", "root.c.capacity": "75"})); err != nil {
		t.Fatal(err)
	}
	c.run(0)
	if q := &c.Queues[c.Apps[h].Leaf]; q.Cfg.Path != "root.b" || q.Used != gb(1) || q.Guaranteed[0] != 10<<10/4 {
		t.Errorf("%s has %v of %v", q.Cfg.Path, q.Used, q.Guaranteed)
	}
	if _, there := c.ByPath["root.a"]; there {
		t.Error("root.a is still there")
	}
}

// Reservations are moved to nodes that could be reserved as well, and undone once.
func TestReservationsAreMovedAndUndone(t *testing.T) {
	c := start(t, nil, "n0", "n1", "n2")
	for _, host := range []string{"n0", "n1", "n2"} {
		c.app("root.b", "v", 0, only(row(1, 6)), at(row(1, 6), host))
	}
	c.run(0)
	h := c.app("root.a", "u", 0, row(1, 5))
	c.run(0)
	if len(c.Reserved) != 1 {
		t.Fatalf("%d reservations", len(c.Reserved))
	}
	r := c.Reserved[0]
	if c.SetHeld(r, gb(1)) || c.NoteHeld(r, gb(1)) || len(c.Lowered()) > 0 {
		t.Errorf("a reservation holds something: %v", c.Lowered())
	}
	from := c.Containers[r].Node
	to := (from + 1) % 3
	for _, n := range []handle.Node{from, -1, 3} {
		if c.MoveReservation(r, n) {
			t.Errorf("moved from %d to %d", from, n)
		}
	}
	c.SetOpen(to, nodeset.NoWork)
	if c.MoveReservation(r, to) {
		t.Error("moved to a closed node")
	}
	c.SetOpen(to, nodeset.AllWork)
	if !c.MoveReservation(r, to) || len(c.Reserved) != 1 || c.Containers[c.Reserved[0]].Node != to || c.Nodes.At[from].Reserved != handle.NoContainer {
		t.Fatalf("not moved to %d", to)
	}
	if c.Apps[h].Reserved != gb(5) || c.Queues[core.Root].Reserved != gb(5) || c.Queues[core.Root].Used != gb(23) {
		t.Errorf("reserved: %v, and below the root %v of %v", c.Apps[h].Reserved, c.Queues[core.Root].Reserved, c.Queues[core.Root].Used)
	}
	if r = c.Reserved[0]; !c.Unreserve(r) || c.Unreserve(r) || c.Unreserve(-1) || c.Unreserve(1000) || c.Unreserve(handle.Container(len(c.Containers))) || len(c.Reserved) != 0 || c.Apps[h].Pending != 1 {
		t.Errorf("%d reservations for %d requests", len(c.Reserved), c.Apps[h].Pending)
	}
	c.run(0)
}

// What its caller must not do ends the scheduler with a message that names the culprit.
func TestMisusePanics(t *testing.T) {
	c := start(t, nil, "n0")
	h := c.app("root.a", "u", 0, row(1, 1))
	_, got := c.run(0)
	panics(t, "application 0 is removed with 1 containers", func() { c.RemoveApp(h) })
	panics(t, "node 0 is removed with 1 containers", func() { c.RemoveNode(0) })
	c.Free(got[h][0])
	panics(t, "container 0 is freed twice", func() { c.Free(got[h][0]) })
}

func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got, _ := recover().(string); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}()
	f()
}

// The place that an application leaves in its leaf is another's at once, not with the next look at the limit.
func TestMovedApplicationsMakePlaceForOthers(t *testing.T) {
	c := start(t, map[string]string{"root.a.maximum-am-resource-percent": "0.1"}, "n0")
	first, second := c.app("root.a", "u", 0, row(1, 2)), c.app("root.a", "u", 0)
	c.activates(first)
	c.MoveApp(first, "root.b")
	c.activates(second)
	a, b := &c.Queues[c.ByPath["root.a"]], &c.Queues[c.ByPath["root.b"]]
	if !c.Apps[first].Active || a.Active != 1 || b.Active != 1 || b.AmUsed != gb(1) || !a.Used.IsZero() || b.Used != gb(2) || b.Containers != 1 {
		t.Errorf("root.a has %d active with %v, root.b %d with %v", a.Active, a.Used, b.Active, b.Used)
	}
}

// A delay for locality that begins at time 0 ends as any other does, and the scheduler wakes up for it.
func TestDelaysThatBeginAtTimeZeroEnd(t *testing.T) {
	c := start(t, map[string]string{"node-locality-delay": "1", "rack-locality-additional-delay": "0"}, "n0", "n1")
	c.app("root.b", "v", 0, only(row(1, 10)), at(row(1, 10), "n0"))
	c.run(0)
	h := c.app("root.a", "u", 0, row(1, 1), at(row(1, 1), "n0"))
	if _, got := c.run(0); len(got[h]) != 0 || c.NextWake() <= 0 || c.NextWake() > 500 {
		t.Fatalf("granted %v; wakes at %d", got, c.NextWake())
	}
	if _, got := c.run(c.NextWake() - 1); len(got[h]) != 0 {
		t.Errorf("granted %v before the delay is over", got)
	}
	if _, got := c.run(c.NextWake()); len(got[h]) != 1 || c.Containers[got[h][0]].Node != 1 {
		t.Errorf("granted %v after the delay, as node n1 has room", got)
	}
}

// A node that an application excludes is no better place to wait for.
func TestNobodyWaitsForANodeThatIsExcluded(t *testing.T) {
	c := start(t, map[string]string{"node-locality-delay": "1", "rack-locality-additional-delay": "0"}, "n0", "n1")
	h := c.app("root.a", "u", 0)
	c.UpdateBlacklist(h, []string{"n0"}, nil)
	c.UpdateAsks(h, []core.Ask{row(1, 1), at(row(1, 1), "n0")})
	if _, got := c.run(0); len(got[h]) != 1 || c.Containers[got[h][0]].Node != 1 {
		t.Errorf("granted %v", got)
	}
}
