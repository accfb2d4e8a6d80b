package fifo_test

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/fifo"
	"heddle/rm/scheduler/ranking"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

var gb = schedulertest.GB

func start(hosts ...string) (*core.Core, *fifo.Policy) {
	var p *fifo.Policy
	c := core.NewCore(core.Config{Tree: queue.Default(queue.FIFO), Minimum: gb(1), Heartbeat: time.Second}, func(s *core.Core, _ queue.Kind) core.Policy {
		p = fifo.New(s)
		return p
	})
	for _, h := range hosts {
		c.AddNode(nodeset.Spec{Host: h, Rack: "/r", Capability: gb(10)})
	}
	return c, p
}

func ask(count int32, size int64) core.Ask {
	return core.Ask{Name: core.Any, Count: count, Capability: gb(size), RelaxLocality: true}
}

// All applications may run at once, in the only queue whatever they name, and are served by priority and then by submission.
func TestApplicationsAreServedInTheirOrder(t *testing.T) {
	c, _ := start("n0")
	var apps []handle.App
	for i, priority := range []int32{0, 0, 5, 0} {
		h := c.AddApp(core.AppSpec{Queue: "root.elsewhere", User: "u", Priority: priority, Seq: int64(9 - i), AM: gb(100)})
		c.UpdateAsks(h, []core.Ask{ask(4, 1)})
		apps = append(apps, h)
	}
	var active, served []handle.App
	for _, d := range c.Schedule(0) {
		if d.Kind == core.Activate {
			active = append(active, d.App)
		} else {
			served = append(served, d.App)
		}
	}
	first, second, third := apps[2], apps[3], apps[1]
	if len(active) != 4 || !slices.Equal(served, []handle.App{first, first, first, first, second, second, second, second, third, third}) {
		t.Errorf("%v are active, %v were served", active, served)
	}
	if q := &c.Queues[c.Apps[apps[0]].Leaf]; q.Cfg.Path != "root.default" || q.Total != 4 {
		t.Errorf("%d applications are in %s", q.Total, q.Cfg.Path)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// Only memory counts on nodes, nobody waits for a better node, and no node is reserved for what fits nowhere.
func TestNodesAreFilledByMemory(t *testing.T) {
	c, _ := start("n0", "n1")
	h := c.AddApp(core.AppSpec{User: "u"})
	c.UpdateAsks(h, []core.Ask{
		{Name: core.Any, Count: 3, Capability: records.NewResource(6<<10, 1000), RelaxLocality: true},
		{Name: "n0", Count: 3, Capability: records.NewResource(6<<10, 1000), RelaxLocality: true},
	})
	var nodes []handle.Node
	for _, d := range c.Schedule(0) {
		if d.Kind == core.Allocate {
			nodes = append(nodes, d.Node)
		}
	}
	if !slices.Equal(nodes, []handle.Node{0, 1}) || len(c.Reserved) != 0 || c.NextWake() != 0 {
		t.Errorf("containers are on %v, with %d reservations; wakes at %d", nodes, len(c.Reserved), c.NextWake())
	}
}

// Nothing limits queues, users and ApplicationMasters but the cluster.
func TestNothingIsLimited(t *testing.T) {
	c, p := start("n0", "n1")
	h := c.AddApp(core.AppSpec{User: "u"})
	c.Restore(h, 0, gb(8))
	c.UpdateAsks(h, []core.Ask{ask(1, 1)})
	c.Refresh()
	a := &c.Apps[h]
	q, u := &c.Queues[a.Leaf], &c.Users[a.User]
	for name, got := range map[string]records.Resource{
		"ApplicationMasters": p.AMLimit(a.Leaf), "those of a user": p.UserAMShare(q, u), "a user": p.UserLimit(q), "the queue": q.Maximum,
	} {
		if got[0] != 20<<10 {
			t.Errorf("%s may have %v", name, got)
		}
	}
	if got := p.HeadroomOf(a); got != gb(12) {
		t.Errorf("the application can get %v", got)
	}
	if p.OverUserLimit(q, u) || p.UserLimitsOfAll() != nil || p.Shares() != nil || !q.Guaranteed.IsZero() || q.AbsoluteCapacity != 0 {
		t.Errorf("there are limits of users, or shares: %v is guaranteed", q.Guaranteed)
	}
	if p.Shuns(&c.Nodes.At[0]) || p.QueueKey(q, ranking.ByPlace) || p.AppKey(a, ranking.ByPriority) {
		t.Error("a node is shunned, or a key changes")
	}
	if am := gb(3); p.Master(am) != am {
		t.Errorf("an ApplicationMaster of %v counts as %v", am, p.Master(am))
	}
	if children, apps := p.Ranking(q.Cfg); children != ranking.ByPlace || apps != ranking.ByPriority {
		t.Errorf("queues are in the order %v, applications in the order %v", children, apps)
	}
	for d := range c.Demands(a) {
		var r explain.Reason
		if p.ExplainMasters(a, u, &r) || p.ExplainTurn(a, u, d, &r) || p.HeldByOwn(a, d) {
			t.Errorf("held by %v", r)
		}
		if rack, anywhere := p.Delays(d); rack != 0 || anywhere != 0 {
			t.Errorf("waits %d and %d ms for a better node", rack, anywhere)
		}
	}
}

// Whatever queue is named, the only one serves it.
func TestTheOnlyLeafTakesAll(t *testing.T) {
	c, p := start("n0")
	for _, path := range []string{"", "root", "root.x.y"} {
		if got := p.LeafFor(path); got != "root.default" {
			t.Errorf("%q is served in %q", path, got)
		}
	}
	if got := p.Next(); got != ranking.Nothing {
		t.Errorf("application %d is next, and there is none", got)
	}
	h := c.AddApp(core.AppSpec{User: "u"})
	c.UpdateAsks(h, []core.Ask{ask(1, 1)})
	c.Schedule(0)
	if err := p.Check(); err != nil || c.Apps[h].Used != gb(1) {
		t.Errorf("the application has %v, %v", c.Apps[h].Used, err)
	}
}
