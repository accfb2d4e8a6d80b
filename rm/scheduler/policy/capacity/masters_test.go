package capacity_test

import (
	"testing"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

// UsersManager.getNumActiveUsers counts those who want something, and those of whom all applications wait. An application that is tried for
// the first time doesn't yet make its user one of them. With one active user masters of a user may have 6 GB of root.a, with two 3.
func TestUsersWhoCountForMasters(t *testing.T) {
	for name, x := range map[string]struct {
		before func(c *cluster)
		asks   int32 // of u's application with a master of 4 GB, beside one of 1 GB
		want   bool
	}{
		"alone":                            {func(c *cluster) { c.master("u", 1, 0) }, 1, true},
		"beside a user who wants nothing":  {func(c *cluster) { c.master("u", 1, 0); c.master("v", 1, 0) }, 1, true},
		"beside one who wants something":   {func(c *cluster) { c.master("u", 1, 0); c.master("v", 1, 1) }, 0, true},
		"the first time without its own":   {func(c *cluster) { c.master("u", 1, 0); c.master("v", 1, 1) }, 1, true},
		"of a user who wants something":    {func(c *cluster) { c.master("u", 1, 1); c.master("v", 1, 1) }, 1, false},
		"of a user with nothing active":    {func(c *cluster) { c.master("v", 1, 1) }, 1, false},
		"of a user with another that asks": {func(c *cluster) { c.master("u", 1, 0); c.master("v", 1, 1); c.master("u", 9, 1) }, 1, false},
		"of a user with another that waits for nothing": {
			func(c *cluster) { c.master("u", 1, 0); c.master("v", 1, 1); c.master("u", 9, 0) }, 1, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, map[string]string{
				"root.a.minimum-user-limit-percent": "25", "root.a.user-limit-factor": "1", "root.a.maximum-am-resource-percent": "0.1",
			})
			c.Restore(c.app("root.b", "full", 0, 0), 0, gb(100)) // nobody gets what it asks for
			x.before(c)
			h := c.entered("u", 4, x.asks)
			if c.Schedule(c.Now); c.Apps[h].Active != x.want {
				t.Errorf("active: %t", c.Apps[h].Active)
			}
		})
	}
}

// From its second try on, an application makes its user one of those who count, though it still waits.
func TestAWaitingApplicationMakesItsUserCount(t *testing.T) {
	c := start(t, 1, map[string]string{
		"root.a.minimum-user-limit-percent": "25", "root.a.user-limit-factor": "1", "root.a.maximum-am-resource-percent": "0.1",
	})
	c.Restore(c.app("root.b", "full", 0, 0), 0, gb(100)) // nobody gets what it asks for
	c.master("u", 1, 0)
	c.master("v", 1, 1)
	w := c.entered("w", 1, 1)
	c.Schedule(c.Now)
	h := c.entered("u", 4, 1)
	if c.Schedule(c.Now); c.Apps[h].Active {
		t.Fatal("masters of a user have 5 GB, beside two users who want something")
	}
	c.RemoveApp(w)
	if c.Schedule(c.Now); c.Apps[h].Active {
		t.Error("masters of a user have 5 GB, beside one who wants something")
	}
}

// entered enters an application of root.a with a master of so many GB, which asks for so many containers.
func (c *cluster) entered(user string, am int64, asks int32) handle.App {
	c.apps++
	h := c.AddApp(core.AppSpec{Queue: "root.a", User: user, Seq: c.apps, AM: gb(am)})
	c.UpdateAsks(h, []core.Ask{row(asks, 1)})
	return h
}

// master is entered, once decisions were taken.
func (c *cluster) master(user string, am int64, asks int32) {
	c.entered(user, am, asks)
	c.Schedule(c.Now)
}

// An application that waited while there was no node was tried, so that its user counts.
func TestApplicationsAreTriedWithoutNodes(t *testing.T) {
	c := start(t, 0, map[string]string{
		"root.a.minimum-user-limit-percent": "25", "root.a.user-limit-factor": "1", "root.a.maximum-am-resource-percent": "0.1",
	})
	first, v, h := c.entered("u", 1, 0), c.entered("v", 1, 1), c.entered("u", 4, 1)
	c.Schedule(0)
	if c.Apps[first].Active || c.Apps[v].Active {
		t.Error("an application is active without a node")
	}
	c.AddNode(nodeset.Spec{Host: "n0", Rack: "/r", Capability: gb(100)})
	c.SetOpen(0, nodeset.NoWork) // nobody gets what it asks for
	c.AddNode(nodeset.Spec{Host: "n1", Rack: "/r", Capability: gb(100)})
	c.Restore(c.app("root.b", "full", 0, 0), 1, gb(100))
	c.SetCapability(0, gb(0))
	c.Schedule(0)
	if !c.Apps[first].Active || !c.Apps[v].Active || c.Apps[h].Active {
		t.Errorf("active are %t, %t and %t", c.Apps[first].Active, c.Apps[v].Active, c.Apps[h].Active)
	}
}

// What is said of an application whose user's masters have what they may.
func TestMastersOfAUserAreExplained(t *testing.T) {
	c := start(t, 1, map[string]string{
		"root.a.minimum-user-limit-percent": "25", "root.a.user-limit-factor": "1", "root.a.maximum-am-resource-percent": "0.1",
	})
	c.master("u", 2, 0)
	c.master("v", 1, 90)
	h := c.entered("u", 5, 1)
	c.Schedule(0)
	got := explain.New(c.Core, c.p).Explain(h)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	form := c.Config.Types.Format
	want := explain.Reason{
		Ask: row(1, 1), Limit: explain.UserMasters, Queue: "root.a", User: "u", Used: gb(2), Bound: gb(3), Short: records.NewResource(4<<10, 0),
		Text: "ApplicationMasters of user u in queue root.a have " + form(gb(2)) + " and may have " + form(gb(3)) + "; " + form(gb(5)) + " more is too much",
		Free: "the end of an application of the user, a higher minimum-user-limit-percent or maximum-am-resource-percent",
		Node: handle.NoNode, Behind: handle.NoApp, Open: 1,
	}
	if got[0] != want {
		t.Errorf("told\n%+v, want\n%+v", got[0], want)
	}
	if r, err := explain.New(c.Core, c.p).WhatIf("root.a", "u", gb(1), true); err != nil || r.Text == "" || r.Limit == explain.UserMasters {
		t.Errorf("a master of 1 GB more: %+v, %v", r, err)
	}
}

// A user above its limit is told by how much, and what would help.
func TestUserLimitsAreExplained(t *testing.T) {
	c := start(t, 1, map[string]string{"root.a.minimum-user-limit-percent": "25", "root.a.user-limit-factor": "0.5"})
	h := c.app("root.a", "u", 40, 0)
	c.app("root.a", "v", 20, 90)
	c.Schedule(0)
	c.UpdateAsks(h, []core.Ask{row(1, 1)})
	form := c.Config.Types.Format
	_, q := c.leaf("root.a")
	limit := c.p.UserLimit(q)
	if !(limit[0] < 40<<10) {
		t.Fatalf("the limit is %v", limit)
	}
	u := c.user("root.a", "u")
	var got explain.Reason
	var d *core.Demand
	for d = range c.Demands(&c.Apps[h]) {
		break
	}
	if !c.p.ExplainTurn(&c.Apps[h], u, d, &got) {
		t.Fatal("nothing is told")
	}
	want := explain.Reason{
		Limit: explain.UserLimit, Queue: "root.a", User: "u", Used: gb(40), Bound: limit, Short: records.NewResource(40<<10-limit[0], 0),
		Text: "user u has " + form(gb(40)) + " of queue root.a, more than the limit of " + form(limit) + " that each of its active users has now",
		Free: "the end of containers of the user, less demand of the queue's other users, or a higher user-limit-factor or minimum-user-limit-percent",
	}
	if got != want {
		t.Errorf("told\n%+v, want\n%+v", got, want)
	}
}

// capped is a leaf policy that lets each application have 7 GB.
type capped struct{}

func (capped) Ratio(leaf.App) float64                        { return 0 }
func (capped) Cap(leaf.App) records.Resource                 { return gb(7) }
func (capped) Hold(leaf.Ask) (bool, int64)                   { return false, 0 }
func (capped) Granted(leaf.App, leaf.Grant)                  {}
func (capped) Ended(leaf.App, leaf.Node, leaf.Outcome)       {}
func (capped) Left(handle.App)                               {}
func (capped) Tick(int64, leaf.Queue) (changed []handle.App) { return nil }

func init() { leaf.Register("capped", func() leaf.Policy { return capped{} }) }

// What a leaf's policy lets an application have bounds its headroom as other limits do.
func TestHeadroomBelowACap(t *testing.T) {
	c := start(t, 1, map[string]string{"root.a.ordering-policy": "capped"})
	h := c.app("root.a", "u", 2, 1)
	if got := c.p.HeadroomOf(&c.Apps[h]); got[0] != 5<<10 {
		t.Errorf("it can get %v", got)
	}
}

// The rules of capacity queues: some follow from the settings.
func TestRules(t *testing.T) {
	want := core.Rules{
		MemoryOnly: true, Parallel: true, UserLimits: true, Blocking: true, RackResets: true, ReserveAtOnce: true, ReservedIsUsed: true,
		OnePerContainer: true, FillElsewhere: true,
	}
	c := start(t, 1, nil)
	if got := c.p.Rules(); got != want {
		t.Errorf("%+v", got)
	}
	c = start(t, 1, map[string]string{
		"resource-calculator":                  "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		"rack-locality-full-reset":             "false",
		"reservations-continue-look-all-nodes": "false",
	})
	want.MemoryOnly, want.RackResets, want.FillElsewhere = false, false, false
	if got := c.p.Rules(); got != want {
		t.Errorf("%+v", got)
	}
	c.Config.Minimum = records.Resource{}
	if c.p.Rules().ReserveAtOnce {
		t.Error("nodes are reserved, though nothing is the smallest container")
	}
}

// Check finds limits of users that aren't what they would be if they were computed now, and nobody wrong.
func TestCheckFindsWrongLimits(t *testing.T) {
	c := start(t, 1, map[string]string{"root.a.minimum-user-limit-percent": "25"})
	gone := c.app("root.b", "gone", 0, 0)
	c.app("root.a", "u", 130, 0) // of 100 GB
	c.Schedule(0)
	c.RemoveApp(gone)
	if err := c.SetTree(schedulertest.Halves(t, map[string]string{"root.queues": "a", "root.a.capacity": "100", "root.a.minimum-user-limit-percent": "25"})); err != nil {
		t.Fatal(err)
	}
	if err := c.p.Check(); err != nil {
		t.Fatal(err)
	}
	_, q := c.leaf("root.a")
	right := c.p.UserLimit(q)
	q.UserLimit, q.LimitKnown = right.Add(gb(1)), true
	if err := c.p.Check(); err == nil {
		t.Error("it finds no wrong limit")
	}
	q.LimitKnown = false
	q.UserMinimum, q.UserMaximum = gb(200), gb(200)
	if err := c.p.Check(); err == nil {
		t.Error("it finds no user above the limit who is taken for one below it")
	}
}

// A user gets no more than user-limit-factor says, also where minimum-user-limit-percent would give it more.
func TestTheFactorBoundsTheMinimum(t *testing.T) {
	c := start(t, 1, map[string]string{"root.a.user-limit-factor": "0.5"})
	c.app("root.a", "u", 31, 1)
	_, q := c.leaf("root.a")
	if !c.p.OverUserLimit(q, c.user("root.a", "u")) {
		t.Errorf("a user may have more than %v", c.p.UserLimit(q))
	}
}

// Cores are divided to the last one where they count: 30 of 60 cores are just half.
func TestLimitsOfCoresAreExact(t *testing.T) {
	c := start(t, 1, map[string]string{
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator", "root.a.user-limit-factor": "1",
	})
	c.app("root.a", "u", 60, 1)
	_, q := c.leaf("root.a")
	if got := c.p.UserLimit(q); got[1] != 60 {
		t.Errorf("of 60 cores it may have %d", got[1])
	}
}
