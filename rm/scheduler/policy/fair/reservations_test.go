package fair

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"heddle/internal/invariants"
	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"

	"github.com/google/go-cmp/cmp"
)

// full has four nodes of 4 GB, n1 and n2 in rack /r, n3 and n4 in rack /s, which an application of root.hog holds.
func full(t *testing.T, queues string, set func(*queue.FairSettings)) *cluster {
	c := start(t, `<queue name="hog"/>`+queues, set)
	for i, rack := range []string{"/r", "/r", "/s", "/s"} {
		c.node(fmt.Sprintf("n%d", i+1), rack, 4)
	}
	c.app("hog", "root.hog")
	c.ask("hog", row(1, 16, 1))
	c.run(0)
	return c
}

// An application has reservations on a share of the nodes, rounded up, however many containers it asks for.
func TestAnApplicationReservesAShareOfTheNodes(t *testing.T) {
	for share, want := range map[float64][]string{
		0.01: {"a reserves n1"},
		0.25: {"a reserves n1"},
		0.26: {"a reserves n1", "a reserves n2"},
		1:    {"a reserves n1", "a reserves n2", "a reserves n3", "a reserves n4"},
		0:    nil,
	} {
		c := full(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.ReservableNodes = share })
		c.app("a", "root.a")
		c.ask("a", row(1, 1, 2))
		if diff := cmp.Diff(want, c.run(500)); diff != "" {
			t.Errorf("share %v (- wanted, + decided):\n%s", share, diff)
		}
		if got := c.run(1000); len(got) > 0 {
			t.Errorf("share %v: at the next look %v", share, got)
		}
	}
}

// On hosts that a request prefers there are any number of reservations; in racks a share of the rack's nodes, beside those.
func TestPreferredHostsAreReservedBeyondTheShare(t *testing.T) {
	c := full(t, `<queue name="a"/>`, nil)
	c.app("a", "root.a")
	r := row(1, 3, 2)
	c.ask("a", only(r), at(r, "n1"), at(r, "n3"), at(r, "n4"))
	c.must(500, "a reserves n1", "a reserves n3", "a reserves n4")
	c.ask("a", row(1, 0, 2), at(row(1, 0, 2), "n1"), at(row(1, 0, 2), "n3"), at(row(1, 0, 2), "n4"))
	c.must(500, "a leaves n4", "a leaves n3", "a leaves n1")
	c.ask("a", only(r), at(r, "/s"))
	c.must(1000, "a reserves n3")
	c.must(1500)
	c.Tree.Settings.Fair.ReservableNodes = 0.75 // of the rack's two nodes
	c.must(2000, "a reserves n4")
}

// A rack row reserves in its own rack whatever the application has reserved in another one.
func TestReservationsOfRacksAreCountedByRack(t *testing.T) {
	c := full(t, `<queue name="a"/>`, nil)
	c.app("a", "root.a")
	r := row(1, 3, 2)
	c.ask("a", only(r), at(r, "/r"), at(r, "/s"))
	c.must(500, "a reserves n1", "a reserves n3")
	c.app("b", "root.a")
	c.ask("b", only(r), at(r, "/s"))
	c.must(1000, "b reserves n4")
}

// Nodes that are closed, too small or reserved already are reserved for nobody else.
func TestWhichNodesAreReserved(t *testing.T) {
	c := full(t, `<queue name="a"/><queue name="b"/>`, func(f *queue.FairSettings) { f.ReservableNodes = 1 })
	c.SetOpen(c.nodes["n1"], nodeset.NoWork)
	c.SetCapability(c.nodes["n2"], gb(2))
	c.app("a", "root.a")
	c.ask("a", row(1, 1, 3))
	c.must(500, "a reserves n3", "a reserves n4")
	c.app("b", "root.b")
	c.ask("b", row(1, 1, 2))
	c.must(1000, "b reserves n2")
	c.SetOpen(c.nodes["n1"], nodeset.AllWork)
	c.ask("a", row(1, 0, 3))
	c.must(1500, "a leaves n4", "a leaves n3", "b reserves n1", "b reserves n3", "b reserves n4")
}

// Who is looked at is as often as shares are computed anew; the scheduler wakes up for it, if somebody waits.
func TestReservationsAreMadeOnceInAnInterval(t *testing.T) {
	c := full(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.UpdateInterval = 2 * time.Second })
	c.app("a", "root.a")
	if c.NextWake() != 0 {
		t.Errorf("wakes at %d, and nobody waits", c.NextWake())
	}
	c.ask("a", row(1, 1, 2))
	c.must(1000)
	if c.NextWake() != 2000 {
		t.Errorf("wakes at %d, want 2000", c.NextWake())
	}
	c.must(1999)
	c.must(2000, "a reserves n1")
}

// Those who have their fair share get no reservations; two applications of a leaf are due half of it each.
func TestOnlyThoseBelowTheirFairShareReserve(t *testing.T) {
	c := full(t, `<queue name="a"/>`, nil)
	c.app("first", "root.a")
	c.app("second", "root.a")
	first := &c.Apps[c.apps["first"]]
	c.ask("first", row(1, 1, 2))
	for _, x := range []struct {
		used int64
		want bool
	}{{3, true}, {4, false}, {5, false}} { // of 16 GB, half is the leaf's, and half of that the application's
		first.Used = gb(x.used)
		c.p.updateShares()
		if due := c.p.dueTo(c.apps["first"], c.p.shares.of); due[0] != 4<<10 {
			t.Fatalf("due are %v", due)
		}
		if got := c.p.starves(c.apps["first"]); got != x.want {
			t.Errorf("with %d GB: starves %v", x.used, got)
		}
	}
	for i := range c.p.shares.of[first.Leaf].Apps {
		if x := &c.p.shares.of[first.Leaf].Apps[i]; x.Handle == int32(c.apps["second"]) {
			x.Fair = gb(7)
		}
	}
	if a, b := c.p.dueTo(c.apps["first"], c.p.shares.of), c.p.dueTo(c.apps["second"], c.p.shares.of); a[0] != 4<<10 || b != gb(7) {
		t.Errorf("due are %v and %v", a, b)
	}
	if due := c.p.dueTo(c.apps["first"], nil); !due.IsZero() {
		t.Errorf("in a leaf that isn't there %v are due", due)
	}
	c.p.shares.of[first.Leaf].Apps = nil
	if due := c.p.dueTo(c.apps["first"], c.p.shares.of); !due.IsZero() {
		t.Errorf("an application that isn't there is due %v", due)
	}
}

// In fair leaves memory alone counts, in drf leaves the dominant resource.
func TestSizesAndSharesAreMeasuredByThePolicyOfTheLeaf(t *testing.T) {
	c := full(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.ReservedFrom = records.NewResource(2048, 2) })
	a := c.app("a", "root.a")
	for _, x := range []struct {
		rule         ranking.Rule
		capability   records.Resource
		large, below bool // than the threshold; with so much, less than 4 GB and 8 vcores of 16 each
	}{
		{ranking.ByFairness, records.NewResource(2048, 1), true, true},
		{ranking.ByFairness, records.NewResource(2047, 9), false, true},
		{ranking.ByFairness, records.NewResource(4096, 1), true, false},
		{ranking.ByDominance, records.NewResource(2048, 1), false, true},
		{ranking.ByDominance, records.NewResource(1024, 2), false, true},
		{ranking.ByDominance, records.NewResource(2048, 2), true, true},
		{ranking.ByDominance, records.NewResource(1024, 3), true, true},
		{ranking.ByDominance, records.NewResource(8192, 2), true, false},
		{ranking.ByDominance, records.NewResource(2048, 8), true, false},
	} {
		c.Queues[a.Leaf].Apps = x.rule
		a.Used = x.capability
		due := records.NewResource(4096, 8)
		if got := c.p.isLarge(a, &core.Demand{Capability: x.capability}); got != x.large {
			t.Errorf("rule %d: %v is large: %v", x.rule, x.capability, got)
		}
		if got := c.p.isBelow(a, &due); got != x.below {
			t.Errorf("rule %d: with %v below its share: %v", x.rule, x.capability, got)
		}
	}
}

// Turns go by the queues below the lowest one that is above both applications, and within a leaf by the applications.
func TestTurnsAcrossTheTree(t *testing.T) {
	c := start(t, `<queue name="a"><queue name="x"/><queue name="y"><queue name="deep"/></queue></queue><queue name="b"/><queue name="c"><queue name="z"/></queue>`, nil)
	c.node("n", "/r", 64)
	for name, path := range map[string]string{"x1": "root.a.x", "x2": "root.a.x", "deep": "root.a.y.deep", "b": "root.b", "z": "root.c.z"} {
		c.app(name, path)
	}
	c.run(0)
	for name, n := range map[string]int32{"x1": 2, "x2": 1, "deep": 4, "b": 8, "z": 5} { // a has 7, of it x 3 and y 4; c has 5
		c.ask(name, row(1, n, 1))
	}
	c.run(500)
	names := []string{"b", "deep", "x1", "x2", "z"}
	slices.SortFunc(names, func(a, b string) int { return c.p.compareTurns(c.apps[a], c.apps[b]) })
	if !slices.Equal(names, []string{"z", "x2", "x1", "deep", "b"}) {
		t.Errorf("turns: %v", names)
	}
	for _, x := range names {
		for _, y := range names {
			if there, back := c.p.compareTurns(c.apps[x], c.apps[y]), c.p.compareTurns(c.apps[y], c.apps[x]); there != -back || (there == 0) != (x == y) {
				t.Errorf("%s before %s: %d, the other way round %d", x, y, there, back)
			}
		}
	}
}

// The one whose turn is earlier chooses first.
func TestReservationsAreMadeInTheOrderOfTurns(t *testing.T) {
	for heavy, want := range map[string][]string{
		"a": {"a reserves n1", "b reserves n2"},
		"b": {"b reserves n1", "a reserves n2"},
	} {
		c := full(t, `<queue name="a"/><queue name="b"/>`, nil)
		for _, name := range []string{"b", "a"} {
			c.app(name, "root."+name)
		}
		for h := range c.Queues { // who has more comes later
			if q := &c.Queues[h]; q.Cfg.Path == "root."+map[string]string{"a": "b", "b": "a"}[heavy] {
				c.free("hog")
				c.ask(q.Cfg.Name, row(1, 1, 1))
				c.run(0)
			}
		}
		c.ask("a", row(1, 1, 2))
		c.ask("b", row(1, 1, 2))
		c.must(500, want...)
	}
}

// Where a request may go now. Hosts at once; racks and other nodes after delays, which begin with the first look.
func TestAdmits(t *testing.T) {
	r := row(1, 2, 1)
	type want map[string]string // by node: how near it is, "" if it isn't admitted
	for name, x := range map[string]struct {
		rows   []core.Ask
		waited int64 // -1: the request wasn't looked at yet
		want   want
	}{
		"anywhere":            {[]core.Ask{r}, -1, want{"n1": "any", "n2": "any", "n3": "any"}},
		"nowhere":             {[]core.Ask{only(r)}, -1, want{"n1": "", "n2": "", "n3": ""}},
		"at first":            {[]core.Ask{r, at(r, "n1"), at(r, "/r")}, -1, want{"n1": "host", "n2": "", "n3": ""}},
		"before the rack":     {[]core.Ask{r, at(r, "n1"), at(r, "/r")}, 999, want{"n1": "host", "n2": "", "n3": ""}},
		"the rack":            {[]core.Ask{r, at(r, "n1"), at(r, "/r")}, 1000, want{"n1": "host", "n2": "rack", "n3": ""}},
		"before any":          {[]core.Ask{r, at(r, "n1"), at(r, "/r")}, 2999, want{"n1": "host", "n2": "rack", "n3": ""}},
		"any":                 {[]core.Ask{r, at(r, "n1"), at(r, "/r")}, 3000, want{"n1": "host", "n2": "rack", "n3": "any"}},
		"strictly the rack":   {[]core.Ask{only(r), at(r, "n1"), at(r, "/r")}, 9000, want{"n1": "host", "n2": "rack", "n3": ""}},
		"strictly the host":   {[]core.Ask{only(r), at(r, "n1"), only(at(r, "/r"))}, 9000, want{"n1": "host", "n2": "", "n3": ""}},
		"not this rack":       {[]core.Ask{r, at(r, "n1"), only(at(r, "/r"))}, 9000, want{"n1": "host", "n2": "", "n3": "any"}},
		"without rack rows":   {[]core.Ask{r, at(r, "n1")}, 2999, want{"n1": "host", "n2": "", "n3": ""}},
		"any, without a rack": {[]core.Ask{r, at(r, "n1")}, 3000, want{"n1": "host", "n2": "any", "n3": "any"}},
	} {
		c := start(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.NodeDelay, f.RackDelay = time.Second, 2*time.Second })
		for host, rack := range map[string]string{"n1": "/r", "n2": "/r", "n3": "/s"} {
			c.node(host, rack, 4)
		}
		a := c.app("a", "root.a")
		c.ask("a", x.rows...)
		d := a.Sole
		if c.Now = 70_000; x.waited >= 0 {
			d.Since = c.Now - x.waited
		}
		for host, near := range x.want {
			level, ok := c.p.admits(d, &c.Nodes.At[c.nodes[host]])
			if got := map[core.Locality]string{core.NodeLocal: "host", core.RackLocal: "rack", core.OffSwitch: "any"}[level]; ok != (near != "") || ok && got != near {
				t.Errorf("%s: %s: admitted %v, as %s, want %q", name, host, ok, got, near)
			}
		}
	}
}

// Reservations follow the delays: first the host's node, then one in the rack, then any. The scheduler wakes up meanwhile.
func TestReservationsWaitForLocality(t *testing.T) {
	c := full(t, `<queue name="a"/>`, func(f *queue.FairSettings) {
		f.NodeDelay, f.RackDelay, f.ReservableNodes = time.Second, 2*time.Second, 0.75
	})
	c.app("a", "root.a")
	r := row(1, 4, 2)
	c.ask("a", r, at(r, "n2"), at(r, "/r"))
	c.must(500, "a reserves n2")
	if c.NextWake() != 1000 {
		t.Errorf("wakes at %d, want 1000", c.NextWake())
	}
	c.must(1000)
	c.must(1500, "a reserves n1") // a second after the first look
	c.must(2000)
	c.must(3499)
	c.must(3999, "a reserves n3")
	c.must(4500)
}

// Nodes of a preferred rack are reserved within the rack's share, be more nodes reserved elsewhere.
func TestOtherNodesAreReservedBesideARack(t *testing.T) {
	c := full(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.ReservableNodes = 0.5 })
	c.app("a", "root.a")
	c.ask("a", row(1, 4, 2), at(row(1, 4, 2), "/r"))
	c.must(500, "a reserves n1", "a reserves n3")
}

// Of an application's requests those that are large enough reserve; one for hosts that asks for no container doesn't.
func TestWhichRequestsReserve(t *testing.T) {
	c := full(t, `<queue name="a"/><queue name="none"><maxAMShare>0</maxAMShare></queue>`, func(f *queue.FairSettings) { f.ReservableNodes = 0.5 })
	c.app("a", "root.a")
	c.app("waiting", "root.none")
	c.ask("waiting", row(1, 1, 2))
	r := row(1, 0, 2)
	there := at(r, "n2")
	there.Count = 1
	c.ask("a", r, there)
	c.must(500)
	c.ask("a", row(2, 1, 1))
	c.must(1000)
	c.ask("a", only(row(2, 1, 2)), at(row(2, 1, 2), "n4"), only(row(3, 1, 1)), at(row(3, 1, 1), "n3"))
	c.must(1500, "a reserves n4")
	for d := range c.Demands(&c.Apps[c.apps["a"]]) {
		if d.Priority == 3 && d.Reservations != 0 {
			t.Errorf("a small request has %d reservations", d.Reservations)
		}
	}
}

// At the beginning of time a delay begins as at any other.
func TestDelaysBeginAtTimeZero(t *testing.T) {
	c := start(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.NodeDelay, f.RackDelay = time.Second, time.Second })
	c.node("n", "/r", 4)
	c.app("a", "root.a")
	c.ask("a", row(1, 1, 1), at(row(1, 1, 1), "n"))
	d := c.Apps[c.apps["a"]].Sole
	c.p.startDelay(d)
	if d.Since == 0 || d.Since < -1 || c.NextWake() != c.p.interval() {
		t.Errorf("the delay began at %d; wakes at %d", d.Since, c.NextWake())
	}
	since := d.Since
	c.Now = 700
	if c.p.startDelay(d); d.Since != since {
		t.Errorf("the delay begins anew at %d", d.Since)
	}
}

// Nothing is reserved for what a queue may not have, and nothing for a request that a more urgent one of its application keeps from all nodes.
func TestRequestsThatReserveNothing(t *testing.T) {
	c := full(t, `<queue name="a"><maxResources>3072 mb, 8 vcores</maxResources></queue>`, func(f *queue.FairSettings) { f.ReservableNodes = 1 })
	c.app("a", "root.a")
	c.free("hog")
	c.free("hog")
	c.ask("a", row(1, 2, 1))
	c.must(0, "a on n1", "a on n2")
	c.ask("a", row(1, 1, 2))
	c.must(500)
	c.ask("a", row(1, 0, 2))
	c.free("a")
	c.free("a")
	c.ask("a", row(1, 1, 3), row(2, 1, 2))
	c.must(1000, "a reserves n1", "a reserves n2", "a reserves n3", "a reserves n4")
	for d := range c.Demands(&c.Apps[c.apps["a"]]) {
		if d.Priority == 2 && d.Reservations != 0 {
			t.Errorf("the less urgent request has %d reservations", d.Reservations)
		}
	}
}

// With each look the requests of all are gone through only if some are large enough for reservations.
func TestSmallRequestsAreNotLookedAt(t *testing.T) {
	c := full(t, `<queue name="a"/>`, nil)
	for i := range 50 {
		name := fmt.Sprint("a", i)
		c.app(name, "root.a")
		c.ask(name, row(1, 1, 1))
	}
	c.run(500)
	c.Demanded.Passed = 0
	c.run(1000)
	c.run(1500)
	if n := c.Demanded.Passed; n > 0 && !invariants.Checked { // the checks go through all
		t.Errorf("%d small requests were gone through in two looks", n)
	}
	c.ask("a7", row(1, 1, 2))
	c.must(2000, "a7 reserves n1")
}

// A host for which an application asks for no container any more is not reserved for it.
func TestHostsThatAreNoLongerPreferredAreNotReserved(t *testing.T) {
	c := full(t, `<queue name="a"/>`, nil)
	c.app("a", "root.a")
	r := row(1, 3, 2)
	c.ask("a", only(r), at(r, "n1"), at(r, "n3"))
	c.ask("a", at(row(1, 0, 2), "n1"))
	c.must(500, "a reserves n3")
}
