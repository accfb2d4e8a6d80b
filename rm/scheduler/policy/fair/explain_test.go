package fair

import (
	"strings"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// reason is what is said of an application's request of some priority.
func (c *cluster) reason(name string, priority int32) explain.Reason {
	for _, r := range explain.New(c.Core, c.p).Explain(c.apps[name]) {
		if r.Ask.Priority == priority {
			return r
		}
	}
	c.t.Helper()
	c.t.Fatalf("nothing is said of %s's request of priority %d", name, priority)
	return explain.Reason{}
}

// Why nothing is reserved for a request that has room nowhere.
func TestWhyNothingIsReserved(t *testing.T) {
	for want, x := range map[string]struct {
		have int64
		rows []core.Ask
		on   int32
	}{
		"lacks <memory:1024, vCores:1>; none is reserved for it, as it is smaller than <memory:2048, vCores:2> (reservation-threshold.increment-multiple)": {
			0, []core.Ask{row(1, 1, 1)}, 1,
		},
		"lacks <memory:2048, vCores:2>; none is reserved for it, as the application has its fair share of <memory:8192, vCores:0>": {
			8, []core.Ask{row(1, 1, 2)}, 1,
		},
		"lacks <memory:3072, vCores:3>; none is reserved for it, as 1 of 4 nodes are reserved for the application (reservable-nodes)": {
			7, []core.Ask{row(1, 1, 2), row(2, 1, 3)}, 2,
		},
		"lacks <memory:2048, vCores:2>": {7, []core.Ask{row(1, 1, 2)}, 1}, // before the next look
	} {
		c := full(t, `<queue name="a"/>`, nil)
		c.app("a", "root.a")
		for range x.have {
			c.free("hog")
		}
		if x.have > 0 {
			c.ask("a", row(9, int32(x.have), 1))
		}
		c.run(0)
		c.ask("a", x.rows...)
		if len(x.rows) == 2 {
			c.run(500)
			for d := range c.Demands(&c.Apps[c.apps["a"]]) {
				if d.Priority == 2 { // as if it weren't behind the other
					d.Why = demand.NoRoom
				}
			}
		}
		r := c.reason("a", x.on)
		if r.Limit != explain.ClusterFull || !strings.HasSuffix(r.Text, want) {
			t.Errorf("said %s: %s\nwant %s", r.Limit, r.Text, want)
		}
	}
}

// A request that is held by a more urgent one of the same application is told which; one that can't be had holds nothing.
func TestWhatComesFirstIsNamed(t *testing.T) {
	c := start(t, `<queue name="hog"/><queue name="a"><maxResources>7168 mb, 7 vcores</maxResources></queue>`,
		func(f *queue.FairSettings) { f.ReservableNodes, f.UpdateInterval = 0, time.Hour })
	c.node("n", "/r", 8)
	c.app("hog", "root.hog")
	c.ask("hog", row(1, 7, 1))
	c.run(0)
	c.app("a", "root.a")
	c.ask("a", row(1, 1, 9), row(2, 1, 8), row(3, 1, 5), row(4, 1, 6), row(5, 1, 1))
	c.must(0)
	r := c.reason("a", 5)
	const text = "the application's request for <memory:5120, vCores:5>, of priority 3, is more urgent, and comes first on the nodes that are large enough for it"
	if r.Limit != explain.BehindOwn || r.Text != text || r.Free != "room for that request, or its withdrawal" || !r.Short.IsZero() {
		t.Errorf("said %+v", r)
	}
	if r := c.reason("a", 3); r.Limit != explain.ClusterFull {
		t.Errorf("of the most urgent one that can be had it is said: %+v", r)
	}
	q := &c.Queues[c.ByPath["root.a"]] // of which nobody has told the policy
	q.Maximum = gb(2)
	if r := c.reason("a", 5); r.Limit != explain.BehindOwn || !strings.HasPrefix(r.Text, "a more urgent request of the application came first when it was last looked at") ||
		r.Free != "the next update of shares" {
		t.Errorf("said %+v", r)
	}
}

// ApplicationMasters of a leaf may have a part of what it is due; of what isn't divided, of what is free.
func TestMastersOfALeafHaveAPartOfItsFairShare(t *testing.T) {
	c := start(t, `<queue name="hog"/><queue name="a"><maxAMShare>0.25</maxAMShare></queue><queue name="none"/><queue name="zero"><maxAMShare>0</maxAMShare></queue>`, nil)
	c.node("n", "/r", 8)
	c.app("hog", "root.hog")
	c.app("first", "root.a")
	c.app("second", "root.a")
	c.run(0)
	leaf := c.ByPath["root.a"]
	if got, want := c.p.AMLimit(leaf), records.NewResource(1024, 2); got != want { // of 4 GB that are due, and of 8 vcores
		t.Errorf("may have %v, want %v", got, want)
	}
	if a, b := c.Apps[c.apps["first"]].Active, c.Apps[c.apps["second"]].Active; !a || b {
		t.Errorf("the first is active: %v, the second: %v", a, b)
	}
	c.ask("second", row(1, 1, 1))
	r := c.reason("second", 1)
	if r.Limit != explain.QueueMasters || r.Queue != "root.a" || r.Used != gb(1) || r.Bound != records.NewResource(1024, 2) || r.Short != records.NewResource(1024, 0) {
		t.Errorf("said %+v", r)
	}
	const text = "ApplicationMasters of queue root.a have <memory:1024, vCores:1> and may have <memory:1024, vCores:2>; <memory:1024, vCores:1> more is too much"
	if r.Text != text || r.Free == "" {
		t.Errorf("said %s (%s)", r.Text, r.Free)
	}
	// no more than the queue's maximum of what isn't divided, rounded up
	c.Queues[leaf].Maximum = records.NewResource(8192, 5)
	if got, want := c.p.AMLimit(leaf), records.NewResource(1024, 2); got != want {
		t.Errorf("with at most 5 vcores may have %v, want %v", got, want)
	}
	c.Queues[leaf].Maximum = records.NewResource(8192, 4)
	if got, want := c.p.AMLimit(leaf), records.NewResource(1024, 1); got != want {
		t.Errorf("with at most 4 vcores may have %v, want %v", got, want)
	}
	for name, x := range map[string]struct {
		path      string
		am, limit records.Resource
		want      bool
	}{
		"one more":               {"root.a", gb(1), gb(1), false},
		"one that fits":          {"root.a", gb(1), gb(2), true},
		"nothing":                {"root.a", records.Resource{}, records.Resource{}, true},
		"no limit":               {"root.none", gb(9), gb(1), true},
		"a limit of nothing":     {"root.zero", gb(1), records.Resource{}, false},
		"an empty leaf":          {"root.zero", gb(1), gb(1), true},
		"too much for any other": {"root.zero", gb(2), gb(1), false},
	} {
		a := &core.App{Leaf: c.ByPath[x.path], Am: x.am, Spec: core.AppSpec{AM: x.am}}
		if got := c.p.mayActivate(a, &x.limit); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What queues are due is computed once in an interval, or when applications or nodes come and go. Looking computes it anew, once for
// all explanations, and changes no decision.
func TestSharesAreKnownForAnInterval(t *testing.T) {
	c := start(t, `<queue name="a"/><queue name="b"/>`, nil)
	c.node("n", "/r", 8)
	c.app("a", "root.a")
	c.run(0)
	due := func() int64 { return c.p.sharesNow()[c.ByPath["root.a"]].Fair[0] >> 10 }
	if !c.p.sharesKnown() || due() != 8 {
		t.Fatalf("due are %d GB, known %v", due(), c.p.sharesKnown())
	}
	c.Calc.Cluster = gb(4)
	c.p.updateShares()
	if c.Now = 499; due() != 8 {
		t.Errorf("within the interval %d GB are due", due())
	}
	c.Now = 500
	if c.p.sharesKnown() || due() != 4 || c.p.shares.of[c.ByPath["root.a"]].Fair[0] != 8<<10 {
		t.Errorf("after it %d GB are due, and looking changed that: %v", due(), c.p.shares.of)
	}
	c.p.Explaining(true)
	if due(); c.p.explained == nil {
		t.Fatal("nothing is reserved for the next explanation")
	}
	c.Calc.Cluster = gb(2)
	if due() != 4 {
		t.Errorf("while applications are explained %d GB are due", due())
	}
	if c.p.Explaining(false); due() != 2 || c.p.explained != nil {
		t.Errorf("afterwards %d GB are due", due())
	}
	if c.p.updateShares(); !c.p.sharesKnown() || c.p.shares.at != 500 || due() != 2 {
		t.Errorf("updated at %d: %d GB are due", c.p.shares.at, due())
	}
	if c.p.AppsChanged(); c.p.sharesKnown() {
		t.Error("shares are known although applications have changed")
	}
}

// Fair shares are those of applications that count as running, and at least minimum shares.
func TestWhatQueuesAreDue(t *testing.T) {
	c := start(t, `<queue name="a"><minResources>6144 mb, 6 vcores</minResources></queue><queue name="b"><maxRunningApps>1</maxRunningApps></queue>
		<queue name="c"><maxResources>1024 mb, 1 vcores</maxResources><maxRunningApps>0</maxRunningApps></queue>`, nil)
	c.node("n", "/r", 8)
	for name, path := range map[string]string{"a": "root.a", "b": "root.b", "c": "root.c"} {
		c.app(name, path)
	}
	c.app("gone", "root.a")
	c.RemoveApp(c.apps["gone"])
	c.app("held", "root.b")
	c.run(0)
	shares := c.p.Shares()
	for path, want := range map[string]int64{"root": 8, "root.a": 6, "root.b": 2, "root.c": 0} {
		if got := shares[c.ByPath[path]]; got.Fair[0] != want<<10 || got.Path != path {
			t.Errorf("%s: %v are due, want %d GB", path, got.Fair, want)
		}
	}
	for name, want := range map[string]int64{"a": 6, "b": 2, "c": 0, "held": 0} {
		if due := c.p.dueTo(c.apps[name], shares); due[0] != want<<10 {
			t.Errorf("%s is due %v, want %d GB", name, due, want)
		}
	}
	c.ask("b", row(1, 1, 1))
	c.ask("held", row(1, 1, 1))
	c.must(500, "b on n")
	if r := c.reason("held", 1); r.Limit != explain.ParallelApps || r.Queue != "root.b" {
		t.Errorf("said %+v", r)
	}
}

// Users have no limits of their own; an application may have what its queues have left.
func TestLimitsAreThoseOfQueues(t *testing.T) {
	c := start(t, `<queue name="a"><maxResources>6144 mb, 5 vcores</maxResources></queue><queue name="b"/>`, nil)
	c.node("n", "/r", 8)
	c.app("a", "root.a")
	c.app("b", "root.b")
	c.ask("a", row(1, 1, 2))
	c.ask("b", row(1, 1, 3))
	c.run(0)
	q := &c.Queues[c.ByPath["root.a"]]
	limit := records.NewResource(6144, 5)
	if c.p.UserLimit(q) != limit || c.p.UserAMShare(q, nil) != limit || c.p.UserLimitsOfAll() != nil || c.p.OverUserLimit(q, nil) {
		t.Errorf("users may have %v, and their ApplicationMasters %v", c.p.UserLimit(q), c.p.UserAMShare(q, nil))
	}
	if got, want := c.p.HeadroomOf(&c.Apps[c.apps["a"]]), records.NewResource(3072, 3); got != want {
		t.Errorf("root.a has %v left, want %v", got, want)
	}
	if got := c.p.LeafFor("root.a"); got != "root.a" {
		t.Errorf("the leaf is %s", got)
	}
	if am := gb(3); c.p.Master(am) != am {
		t.Errorf("an ApplicationMaster counts as %v", c.p.Master(am))
	}
}
