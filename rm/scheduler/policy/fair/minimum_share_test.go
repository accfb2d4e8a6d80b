package fair

import (
	"testing"
	"time"

	"heddle/rm/queue"
)

// belowMinimum has two applications in a leaf that has half of its minimum share of 4 GB. The first has its own fair share of 2 GB
// and wants as much again; the other one wants nothing. The rest of the node's 8 GB is taken.
func belowMinimum(t *testing.T, more string, set func(*queue.FairSettings)) *cluster {
	c := start(t, `<queue name="a"><minResources>4096 mb, 4 vcores</minResources>`+more+`</queue><queue name="b"/>`,
		func(f *queue.FairSettings) {
			f.Preemption = true
			set(f)
		})
	c.node("n", "/r", 8)
	c.app("first", "root.a")
	c.app("other", "root.a")
	c.app("hog", "root.b")
	c.ask("first", row(1, 2, 1))
	c.must(0, "first on n", "first on n")
	c.must(50) // nobody waits for anything
	c.ask("hog", row(1, 6, 1))
	c.must(100, "hog on n", "hog on n", "hog on n", "hog on n", "hog on n", "hog on n")
	c.ask("first", row(1, 1, 2))
	return c
}

const tenSeconds = `<minSharePreemptionTimeout>10</minSharePreemptionTimeout>`

func TestALeafBelowItsMinimumShareStarvesAfterItsTimeout(t *testing.T) {
	c := belowMinimum(t, tenSeconds, func(*queue.FairSettings) {})
	c.must(1000)
	c.must(6000)
	c.must(10999)
	if c.p.leafStarves(c.ByPath["root.a"]) {
		t.Error("root.a starves before its timeout is over")
	}
	c.must(11500, "first reserves n")
	if !c.p.leafStarves(c.ByPath["root.a"]) || c.p.leafStarves(c.ByPath["root.b"]) {
		t.Error("root.a starves, and root.b, which has no minimum share, doesn't")
	}
}

// The time begins anew when the leaf has had its minimum share meanwhile, or nobody waited for anything.
func TestTheTimeoutBeginsAnewAfterTheLeafHadItsMinimumShare(t *testing.T) {
	for name, meanwhile := range map[string]func(c *cluster){
		"had it":           func(c *cluster) { c.Queues[c.ByPath["root.a"]].Guaranteed = gb(2) },
		"nothing is asked": func(c *cluster) { c.ask("first", row(1, 0, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := belowMinimum(t, tenSeconds, func(*queue.FairSettings) {})
			c.must(1000)
			c.must(2000)
			guaranteed := c.Queues[c.ByPath["root.a"]].Guaranteed
			meanwhile(c)
			c.must(6000)
			c.Queues[c.ByPath["root.a"]].Guaranteed = guaranteed
			c.ask("first", row(1, 1, 2))
			c.must(7000)
			c.must(16_999)
			c.must(17_500, "first reserves n")
		})
	}
}

func TestNobodyStarvesWithoutPreemptionTimeoutOrCrowd(t *testing.T) {
	for name, c := range map[string]*cluster{
		"preemption is off": belowMinimum(t, tenSeconds, func(f *queue.FairSettings) { f.Preemption = false }),
		"no timeout":        belowMinimum(t, "", func(*queue.FairSettings) {}),
		"not crowded":       belowMinimum(t, tenSeconds, func(f *queue.FairSettings) { f.UtilizationThreshold = 1 }),
	} {
		c.run(1000)
		if got := c.run(60_000); len(got) > 0 || c.p.leafStarves(c.ByPath["root.a"]) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A change of the configuration that turns preemption off ends all starvation; what was known isn't there when it is on again.
func TestPreemptionThatIsOffForgetsWhoStarved(t *testing.T) {
	c := belowMinimum(t, tenSeconds, func(*queue.FairSettings) {})
	c.must(1000)
	c.Tree.Settings.Fair.Preemption = false
	c.must(8000)
	c.Tree.Settings.Fair.Preemption = true
	c.must(12_000)
	c.must(21_999)
	c.must(22_500, "first reserves n")
}

// Memory alone, or vcores alone, may crowd the cluster; it is crowded above the threshold, not at it.
func TestCrowded(t *testing.T) {
	c := start(t, `<queue name="a"/>`, func(f *queue.FairSettings) { f.UtilizationThreshold = 0.5 })
	if c.p.crowded() {
		t.Error("a cluster of nothing is crowded")
	}
	c.node("n", "/r", 8)
	c.Refresh()
	for _, x := range []struct {
		memory, vcores int64
		want           bool
	}{{4, 4, false}, {5, 4, true}, {4, 5, true}, {0, 0, false}} {
		used := &c.Queues[0].Used
		used[0], used[1] = x.memory<<10, x.vcores
		if c.p.crowded() != x.want {
			t.Errorf("%d GB and %d vcores of 8: %v, want %v", x.memory, x.vcores, !x.want, x.want)
		}
	}
	c.Calc.Cluster[2], c.Queues[0].Used[2] = 4, 4
	if c.p.crowded() {
		t.Error("other resources than memory and vcores count")
	}
}

func TestBelowMinimumShare(t *testing.T) {
	c := start(t, `<queue name="a"/>`, nil)
	q := &c.Queues[c.ByPath["root.a"]]
	for name, x := range map[string]struct {
		guaranteed, maximum, used, pending int64
		want                               bool
	}{
		"wants more":                {4, 8, 2, 1, true},
		"wants nothing":             {4, 8, 2, 0, false},
		"has it":                    {4, 8, 4, 1, false},
		"has its maximum":           {4, 2, 2, 1, false},
		"less than its maximum too": {4, 3, 2, 1, true},
		"no minimum share":          {0, 8, 0, 1, false},
	} {
		q.Guaranteed, q.Maximum, q.Used, q.Pending = gb(x.guaranteed), gb(x.maximum), gb(x.used), gb(x.pending)
		if got := belowMinimumShare(q, 2); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	q.Guaranteed, q.Maximum, q.Used, q.Pending = gb(4), gb(8), gb(4), gb(1)
	if q.Used[1] = 3; !belowMinimumShare(q, 2) || belowMinimumShare(q, 1) {
		t.Error("any resource that there is may be below the minimum share, and no other")
	}
}

// Delays are by a share of the nodes where one is set, as it takes a heartbeat for all nodes to come; else by time.
func TestDelays(t *testing.T) {
	for _, x := range []struct {
		f              queue.FairSettings
		rack, anywhere int64
	}{
		{queue.FairSettings{NodeThreshold: 0.5, RackThreshold: 0.25, NodeDelay: time.Hour, RackDelay: time.Hour}, 500, 750},
		{queue.FairSettings{NodeThreshold: 3, RackThreshold: 0}, 1000, 1000},
		{queue.FairSettings{NodeThreshold: 0, RackThreshold: 1}, 0, 1000},
		{queue.FairSettings{NodeThreshold: -1, RackThreshold: -1, NodeDelay: 2 * time.Second, RackDelay: 3 * time.Second}, 2000, 5000},
		{queue.FairSettings{NodeThreshold: -1, RackThreshold: -1, NodeDelay: -1, RackDelay: -time.Second}, 0, 0},
	} {
		c := start(t, `<queue name="a"/>`, func(f *queue.FairSettings) { *f = x.f })
		if rack, anywhere := c.p.Delays(nil); rack != x.rack || anywhere != x.anywhere {
			t.Errorf("%+v: %d and %d ms, want %d and %d", x.f, rack, anywhere, x.rack, x.anywhere)
		}
	}
}

// No queue is due more than its maximum.
func TestMaximaBoundFairShares(t *testing.T) {
	c := start(t, `<queue name="a"><maxResources>2048 mb, 8 vcores</maxResources></queue><queue name="b"/>`, nil)
	c.node("n", "/r", 8)
	c.app("a", "root.a")
	c.app("b", "root.b")
	c.run(0)
	of := c.p.Shares()
	if a, b := of[c.ByPath["root.a"]].Fair, of[c.ByPath["root.b"]].Fair; a[0] != 2<<10 || b[0] != 6<<10 {
		t.Errorf("due are %v and %v", a, b)
	}
}
