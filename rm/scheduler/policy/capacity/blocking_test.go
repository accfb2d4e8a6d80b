package capacity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// families is a queue p of two leaves, x and y, which may have 60 % of the cluster, beside a leaf c. The queue p is served first.
var families = map[string]string{
	"root.queues": "p,c", "root.p.capacity": "60", "root.c.capacity": "40", "root.p.maximum-capacity": "60", "root.c.user-limit-factor": "100",
	"root.p.queues": "x,y", "root.p.x.capacity": "70", "root.p.y.capacity": "30", "root.p.x.user-limit-factor": "100", "root.p.y.user-limit-factor": "100",
}

// granted schedules, and returns how many containers each of some applications gets.
func (c *cluster) granted(apps ...handle.App) []int {
	got := map[handle.App]int{}
	for _, d := range c.Schedule(c.Now) {
		if d.Kind == core.Allocate {
			got[d.App]++
		}
	}
	var out []int
	for _, h := range apps {
		out = append(out, got[h])
	}
	return out
}

// active enters an application that is active, and has so many GB on a node.
func (c *cluster) active(path, user string, n handle.Node, used int64) handle.App {
	c.apps++
	h := c.AddApp(core.AppSpec{Queue: path, User: user, Seq: c.apps, AM: gb(1)})
	c.Restore(h, n, gb(used))
	return h
}

// A request that fits below the maxima of its queues, but not into what they have left, holds those behind it in its leaf, and what its
// leaf could have is withheld from the leaf's siblings. One that is larger than a maximum, or would fit if the application's own
// reservations were undone, holds nobody.
func TestWhoIsHeldByALargeRequest(t *testing.T) {
	for name, x := range map[string]struct {
		x, y, c []int64 // sizes that are asked for in GB; those of x are of two applications: the last one's is the second's
		want    [4]int  // containers of x's first and second application, of y's, and of c's
	}{
		"nobody is large":                 {[]int64{10, 1}, []int64{1}, []int64{1}, [4]int{1, 0, 0, 1}}, // p has 60 then
		"small ones share what is left":   {[]int64{8, 1}, []int64{1}, []int64{1}, [4]int{1, 1, 1, 1}},
		"the next of the leaf":            {[]int64{20, 1}, []int64{1}, []int64{1}, [4]int{0, 0, 0, 1}},
		"of the same application":         {[]int64{20, 1, 1}, nil, []int64{1}, [4]int{0, 0, 0, 1}},
		"one beyond the maximum":          {[]int64{61, 1}, []int64{1}, []int64{1}, [4]int{0, 1, 1, 1}},
		"the leaf that comes later":       {[]int64{1, 1}, []int64{20}, []int64{1}, [4]int{1, 1, 0, 1}},
		"a queue beside the family's":     {[]int64{20, 1}, []int64{1}, []int64{6, 1}, [4]int{0, 0, 0, 0}}, // 15 are left; 10 of them are withheld
		"which has room for a lesser one": {[]int64{20, 1}, []int64{1}, []int64{5, 1}, [4]int{0, 0, 0, 1}}, // and nothing more
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, families)
			x1, x2 := c.active("root.p.x", "u", 0, 10), c.active("root.p.x", "v", 0, 0)
			y, other := c.active("root.p.y", "u", 0, 40), c.active("root.c", "u", 0, 35)
			c.Schedule(0)
			ask := func(h handle.App, sizes ...int64) {
				var rows []core.Ask
				for i, size := range sizes {
					rows = append(rows, at(row(1, size), int32(i)))
				}
				c.UpdateAsks(h, rows)
			}
			ask(x1, x.x[:len(x.x)-1]...)
			ask(x2, x.x[len(x.x)-1])
			ask(y, x.y...)
			ask(other, x.c...)
			got := c.granted(x1, x2, y, other)
			if diff := cmp.Diff(x.want[:], got); diff != "" {
				t.Errorf("(- wanted, + granted)\n%s", diff)
			}
			if err := c.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is withheld for the requests of several queues adds up: x and y may have 10 GB more each, and wait for 20.
func TestWhatIsWithheldAddsUp(t *testing.T) {
	c := start(t, 1, map[string]string{
		"root.queues": "x,y,z", "root.x.capacity": "40", "root.y.capacity": "40", "root.z.capacity": "20", "root.x.maximum-capacity": "40",
		"root.y.maximum-capacity": "40", "root.x.user-limit-factor": "100", "root.y.user-limit-factor": "100", "root.z.user-limit-factor": "100",
	})
	x, y, z := c.active("root.x", "u", 0, 30), c.active("root.y", "u", 0, 30), c.active("root.z", "u", 0, 16)
	c.UpdateAsks(x, []core.Ask{row(1, 20)})
	c.UpdateAsks(y, []core.Ask{row(1, 20)})
	c.UpdateAsks(z, []core.Ask{row(30, 1)})
	if diff := cmp.Diff([]int{0, 0, 4}, c.granted(x, y, z)); diff != "" { // of the 24 GB that are free
		t.Errorf("(- wanted, + granted)\n%s", diff)
	}
}

// An application's own reservations count as used by its queue. Where a reservation may be filled on any node they are undone then, and so
// they make no request of the application too large.
func TestOwnReservationsHoldNobody(t *testing.T) {
	for continues, want := range map[string]int{"true": 1, "false": 0} {
		c := start(t, 2, map[string]string{"root.a.maximum-capacity": "60", "reservations-continue-look-all-nodes": continues})
		u, v := c.active("root.a", "u", 0, 40), c.active("root.a", "v", 1, 0)
		c.active("root.b", "w", 1, 40)
		c.UpdateAsks(u, []core.Ask{row(1, 12)})
		if c.Schedule(0); len(c.Reserved) != 1 {
			t.Fatalf("%d reservations", len(c.Reserved))
		}
		c.UpdateAsks(v, []core.Ask{row(1, 5)}) // of the 8 GB that are left below the maximum
		if got := c.granted(v); got[0] != want {
			t.Errorf("where reservations look on: %s; another application gets %d containers, want %d", continues, got[0], want)
		}
	}
}

// Who waits behind whom, and for what. What is withheld for a request of another leaf is told of the leaf whose request it is.
func TestWaitingBehindALargeRequestIsExplained(t *testing.T) {
	sizes := func(n int64) string { return core.Config{}.Types.Format(gb(n)) }
	another := explain.Another
	for name, x := range map[string]struct {
		blocks []core.Ask // of x's first application
		whose  int        // which application's request is explained: x's two, y's, c's
		asks   core.Ask
		want   explain.Reason
	}{
		"of another application": {
			[]core.Ask{row(1, 20)},
			1, row(1, 1),
			explain.Reason{
				Limit: explain.BehindOthers, Queue: "root.p.x", Behind: 0,
				Text: "it is behind " + another + ", whose ask of " + sizes(20) + " exceeds the " + sizes(10) + " that queue root.p.x can still have",
				Free: "the end of containers until that ask fits, its withdrawal, or a higher maximum-capacity",
			},
		},
		"of the same application": {
			[]core.Ask{at(row(1, 20), 1)},
			0, at(row(1, 1), 2),
			explain.Reason{
				Limit: explain.BehindOthers, Queue: "root.p.x", Behind: handle.NoApp,
				Text: "it is behind the same application, whose ask of " + sizes(20) + " exceeds the " + sizes(10) + " that queue root.p.x can still have",
				Free: "the end of containers until that ask fits, its withdrawal, or a higher maximum-capacity",
			},
		},
		"of another leaf": {
			[]core.Ask{row(1, 20)},
			2, row(1, 1),
			explain.Reason{
				Limit: explain.BehindOthers, Queue: "root.p.x", Behind: 0, Short: records.NewResource(1024, 0),
				Text: "what its queue could have is reserved for queue root.p.x, where the ask of " + another + " of " + sizes(20) + " is larger than what is left",
				Free: "the end of containers until that ask fits, or its withdrawal",
			},
		},
		"of another leaf, to one beside its family": {
			[]core.Ask{row(1, 20)},
			3, row(1, 6),
			explain.Reason{
				Limit: explain.BehindOthers, Queue: "root.p.x", Behind: 0, Short: records.NewResource(1024, 0),
				Text: "what its queue could have is reserved for queue root.p.x, where the ask of " + another + " of " + sizes(20) + " is larger than what is left",
				Free: "the end of containers until that ask fits, or its withdrawal",
			},
		},
		"the more urgent request":                       {[]core.Ask{at(row(1, 20), 2)}, 0, at(row(1, 1), 1), explain.Reason{Behind: handle.NoApp}},
		"a request that is the first itself":            {nil, 0, row(1, 20), explain.Reason{Limit: explain.QueueMaximum, Behind: handle.NoApp}},
		"of nobody, beside one that exceeds a maximum":  {[]core.Ask{row(1, 61)}, 1, row(1, 1), explain.Reason{Behind: handle.NoApp}},
		"of nobody, in a queue that has enough besides": {[]core.Ask{row(1, 20)}, 3, row(1, 5), explain.Reason{Behind: handle.NoApp}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, families)
			apps := []handle.App{c.active("root.p.x", "u", 0, 10), c.active("root.p.x", "v", 0, 0)}
			apps = append(apps, c.active("root.p.y", "u", 0, 40), c.active("root.c", "u", 0, 35))
			c.Schedule(0)
			c.UpdateAsks(apps[0], x.blocks)
			c.UpdateAsks(apps[x.whose], []core.Ask{x.asks})
			var got explain.Reason
			for _, r := range explain.New(c.Core, c.p).Explain(apps[x.whose]) {
				if r.Ask == x.asks {
					got = explain.Reason{Limit: r.Limit, Queue: r.Queue, Behind: r.Behind, Short: r.Short, Text: r.Text, Free: r.Free}
				}
			}
			if x.want.Limit != explain.BehindOthers && got.Limit != explain.BehindOthers {
				return
			}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("(- wanted, + told)\n%s", diff)
			}
		})
	}
}

// A large request that the policy of its leaf makes wait holds nobody behind it.
func TestRequestsThatAreHeldBackHoldNobody(t *testing.T) {
	for policy, want := range map[string]int{"fifo": 0, "capped": 1} { // at 7 GB
		c := start(t, 1, map[string]string{"root.a.maximum-capacity": "60", "root.a.ordering-policy": policy})
		c.active("root.a", "w", 0, 50)
		first, second := c.active("root.a", "u", 0, 0), c.active("root.a", "v", 0, 0)
		c.UpdateAsks(first, []core.Ask{row(1, 20)}) // the queue may have 10 GB more
		c.UpdateAsks(second, []core.Ask{row(1, 1)})
		if got := c.granted(second); got[0] != want {
			t.Errorf("in a leaf ordered by %s who comes behind a request of 20 GB gets %d containers, want %d", policy, got[0], want)
		}
	}
}

// Who blocks a leaf is looked for anew each time, unless something says that nothing changes meanwhile.
func TestBlockersAreLookedForAnew(t *testing.T) {
	c := start(t, 1, map[string]string{"root.a.maximum-capacity": "60"})
	c.active("root.a", "w", 0, 50)
	first, second := c.active("root.a", "u", 0, 0), c.active("root.a", "v", 0, 0)
	c.UpdateAsks(first, []core.Ask{row(1, 20)})
	c.UpdateAsks(second, []core.Ask{row(1, 1)})
	behind := func() bool {
		a := &c.Apps[second]
		for d := range c.Demands(a) {
			return c.p.ExplainTurn(a, &c.Users[a.User], d, &explain.Reason{})
		}
		return false
	}
	for when, want := range map[string]bool{"first": true, "again": true} {
		if got := behind(); got != want {
			t.Errorf("%s: it is behind others: %t", when, got)
		}
	}
	c.ClearAsks(first)
	if behind() {
		t.Error("it is behind a request that was withdrawn")
	}
}

// A queue without any guarantee, in a cluster where containers may be as small as nothing, uses none of it: it comes first.
func TestQueuesWithoutAGuaranteeUseNoneOfIt(t *testing.T) {
	c := start(t, 1, nil)
	_, q := c.leaf("root.b")
	q.GuaranteedShare = 0
	if c.p.QueueKey(q, ranking.ByUse); c.Rankings.Key(q.El).Ratio != 0 {
		t.Errorf("it uses %v of nothing", c.Rankings.Key(q.El).Ratio)
	}
}
