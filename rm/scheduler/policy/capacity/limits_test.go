package capacity_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/policy/capacity"
	"heddle/rm/scheduler/schedulertest"
)

var gb, row = schedulertest.GB, schedulertest.Row

// The numbers of these tests are worked out by hand from what YARN's documentation says of each setting ("Hadoop: Capacity Scheduler") and
// from the formulas of the classes that are named.

// cluster is two queues, a with 60 % and b with 40 % of nodes with 100 GB.
type cluster struct {
	*core.Core
	p    *capacity.Policy
	apps int64
}

// start makes a cluster of so many nodes. Users may have any multiple of a queue, and ApplicationMasters all of it, if settings don't
// say otherwise.
func start(t *testing.T, nodes int64, settings map[string]string) *cluster {
	t.Helper()
	all := map[string]string{
		"root.queues": "a,b", "root.a.capacity": "60", "root.b.capacity": "40", "maximum-am-resource-percent": "1",
		"root.a.user-limit-factor": "100", "root.b.user-limit-factor": "100",
	}
	maps.Copy(all, settings)
	tree, err := queue.ParseCapacity(all)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{}
	c.Core = core.NewCore(core.Config{Tree: tree, Minimum: gb(1), Heartbeat: time.Second}, func(s *core.Core, _ queue.Kind) core.Policy {
		c.p = capacity.New(s)
		return c.p
	})
	for i := range nodes {
		c.AddNode(nodeset.Spec{Host: fmt.Sprintf("n%d", i), Rack: "/r", Capability: gb(100 / nodes)})
	}
	c.Refresh()
	return c
}

func (c *cluster) leaf(path string) (int32, *core.Queue) {
	h := c.ByPath[path]
	return h, &c.Queues[h]
}

func (c *cluster) user(path, name string) *core.User {
	_, q := c.leaf(path)
	return &c.Users[q.Names[name]]
}

// app enters an application that has so many GB and asks for so many containers of one.
func (c *cluster) app(path, user string, used int64, asks int32) handle.App {
	c.apps++
	h := c.AddApp(core.AppSpec{Queue: path, User: user, Seq: c.apps, AM: gb(1)})
	if used > 0 {
		c.Restore(h, 0, gb(used))
	}
	c.UpdateAsks(h, []core.Ask{row(asks, 1)})
	return h
}

// has is what a user has of root.a.
type has struct {
	user string
	gb   int64
	idle bool // it asks for nothing more
}

// YARN's documentation of minimum-user-limit-percent: with 25, two users get no more than 50 % each, three 33 %, four or more 25 %.
// UsersManager.computeUserLimit: what active users have and one smallest container are divided among them; of a queue that has all that
// it is guaranteed the least part is of that and one container more. All is rounded up to whole smallest containers.
func TestUserLimit(t *testing.T) {
	quarter := map[string]string{"root.a.minimum-user-limit-percent": "25"}
	with := func(more ...string) map[string]string {
		m := maps.Clone(quarter)
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	for name, x := range map[string]struct {
		settings map[string]string
		users    []has
		limit    int64 // while they ask for more, in GB
		all      int64 // beside all others
	}{
		"one user, of an idle queue the least": {quarter, []has{{"u", 0, false}}, 15, 15},
		"no least: all":                        {nil, []has{{"u", 0, false}}, 60, 60},
		"one user, a container more":           {quarter, []has{{"u", 30, false}}, 31, 31},
		"two users, a half":                    {quarter, []has{{"u", 30, false}, {"v", 30, false}}, 31, 31}, // 61/2
		"three users, a third":                 {quarter, []has{{"u", 20, false}, {"v", 20, false}, {"w", 20, false}}, 21, 21},
		"five users, a quarter": {
			quarter, []has{{"u", 12, false}, {"v", 12, false}, {"w", 12, false}, {"x", 12, false}, {"y", 12, false}}, 16, 16, // 61/4
		},
		"who asks for nothing counts beside all others": {quarter, []has{{"u", 30, false}, {"v", 30, true}}, 31, 31},
		"and leaves what it has to those who ask":       {quarter, []has{{"u", 12, false}, {"v", 48, true}}, 16, 31}, // 13, and 61/4
		"beyond the guarantee":                          {quarter, []has{{"u", 45, false}, {"v", 40, false}}, 43, 43},
		"the most is the factor":                        {with("root.a.user-limit-factor", "1"), []has{{"u", 90, false}}, 60, 60},
		"a factor with a fraction":                      {with("root.a.user-limit-factor", "1.51"), []has{{"u", 95, false}}, 91, 91}, // 90.6
		"no factor: the maximum":                        {with("root.a.user-limit-factor", "-1", "root.a.maximum-capacity", "80"), []has{{"u", 80, false}}, 80, 80},
		"without a guarantee: the maximum, whatever the factor": {
			with("root.a.capacity", "0", "root.b.capacity", "100", "root.a.maximum-capacity", "80", "root.a.user-limit-factor", "1"), []has{{"u", 30, false}}, 31, 31,
		},
		"weights":                  {with("root.a.user-settings.v.weight", "2"), []has{{"u", 20, false}, {"v", 40, false}}, 21, 21}, // 61/3
		"weights of those who ask": {with("root.a.user-settings.v.weight", "2"), []has{{"u", 40, false}, {"v", 20, true}}, 41, 21},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, x.settings)
			for _, u := range x.users {
				asks := int32(1)
				if u.idle {
					asks = 0
				}
				c.app("root.a", u.user, u.gb, asks)
			}
			h, q := c.leaf("root.a")
			if got, all := c.p.UserLimit(q), c.p.UserLimitsOfAll()[h]; got[0] != x.limit<<10 || all[0] != x.all<<10 {
				t.Errorf("the limit is %v while they ask, and %v beside all; want %d and %d GB", got, all, x.limit, x.all)
			}
			if len(c.p.UserLimitsOfAll()) != 1 {
				t.Error("there is a limit of users of a leaf without any")
			}
			if err := c.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A user gets more while it has no more than its limit: it may pass it by one container. Weights multiply the limit.
func TestOverUserLimit(t *testing.T) {
	for name, x := range map[string]struct {
		weight string
		u, v   int64
		over   [2]bool
	}{
		"at the limit":            {"1", 31, 29, [2]bool{false, false}}, // of 31 each
		"beyond it":               {"1", 32, 28, [2]bool{true, false}},
		"of twice the weight":     {"2", 42, 18, [2]bool{false, false}}, // of 42, and of 21
		"beyond twice the weight": {"2", 43, 17, [2]bool{true, false}},
		"the other one beyond it": {"2", 37, 23, [2]bool{false, true}},
		"of half a weight":        {"0.5", 20, 40, [2]bool{false, false}}, // 61/1.5 is 41, of which half is 20.5, down to 20
		"beyond half a weight":    {"0.5", 21, 39, [2]bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, map[string]string{"root.a.minimum-user-limit-percent": "25", "root.a.user-settings.u.weight": x.weight})
			c.app("root.a", "u", x.u, 1)
			c.app("root.a", "v", x.v, 1)
			_, q := c.leaf("root.a")
			for i, name := range []string{"u", "v"} {
				if got := c.p.OverUserLimit(q, c.user("root.a", name)); got != x.over[i] {
					t.Errorf("user %s is over its limit: %t", name, got)
				}
			}
		})
	}
}

// AbstractLeafQueue.getHeadroom: the least of what the user may have more, and of what queues leave.
func TestHeadroom(t *testing.T) {
	for name, x := range map[string]struct {
		settings map[string]string
		u, v     int64 // of root.a
		b        int64
		want     [2]int64
	}{
		"of the users":       {nil, 31, 29, 0, [2]int64{30, 32}}, // 61 each: minimum-user-limit-percent is 100
		"of half the queue":  {map[string]string{"root.a.minimum-user-limit-percent": "50"}, 31, 29, 0, [2]int64{0, 2}},
		"of what b leaves":   {nil, 31, 29, 39, [2]int64{1, 1}},
		"nothing is left":    {nil, 31, 29, 40, [2]int64{0, 0}},
		"of the maximum":     {map[string]string{"root.a.maximum-capacity": "75"}, 31, 29, 0, [2]int64{15, 15}},
		"of the cluster":     {map[string]string{"root.a.maximum-capacity": "95"}, 31, 29, 30, [2]int64{10, 10}},
		"a user over limits": {map[string]string{"root.a.minimum-user-limit-percent": "50"}, 40, 20, 0, [2]int64{-9, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, x.settings)
			u, v := c.app("root.a", "u", x.u, 1), c.app("root.a", "v", x.v, 1)
			if x.b > 0 {
				c.app("root.b", "w", x.b, 0)
			}
			for i, h := range []handle.App{u, v} {
				if got := c.p.HeadroomOf(&c.Apps[h]); got[0] != x.want[i]<<10 {
					t.Errorf("application %d can get %v, want %d GB", i, got, x.want[i])
				}
			}
		})
	}
}

// AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition: maximum-am-resource-percent of what the queue can have now, or of its
// guarantee if that is more, rounded up to whole smallest containers. getUserAMResourceLimitPerPartition: of the guarantee, the part of
// one of its active users, by user-limit-factor and weight.
func TestMastersLimits(t *testing.T) {
	for name, x := range map[string]struct {
		settings map[string]string
		others   int64 // what root.b has
		users    int   // who ask for something in root.a
		queue    int64
		user     int64
	}{
		"of the cluster":                {nil, 0, 1, 10, 6},
		"of what is left":               {nil, 30, 1, 7, 6},
		"of the guarantee":              {nil, 70, 1, 6, 6},
		"of the maximum":                {map[string]string{"root.a.maximum-capacity": "80"}, 0, 1, 8, 6},
		"rounded up":                    {map[string]string{"root.a.maximum-am-resource-percent": "0.125"}, 0, 1, 13, 8}, // 12.5 and 7.5
		"two users":                     {map[string]string{"root.a.minimum-user-limit-percent": "25"}, 0, 2, 10, 3},
		"three users":                   {map[string]string{"root.a.minimum-user-limit-percent": "25"}, 0, 3, 10, 2},
		"five users have the least":     {map[string]string{"root.a.minimum-user-limit-percent": "25"}, 0, 5, 10, 2}, // 1.5
		"nobody there":                  {map[string]string{"root.a.minimum-user-limit-percent": "25"}, 0, 0, 10, 6},
		"all users have all":            {nil, 0, 5, 10, 6},
		"a factor of 3":                 {map[string]string{"root.a.user-limit-factor": "3"}, 0, 1, 10, 18},
		"no factor":                     {map[string]string{"root.a.user-limit-factor": "-1", "root.a.minimum-user-limit-percent": "25"}, 0, 5, 10, 6},
		"a weight":                      {map[string]string{"root.a.minimum-user-limit-percent": "25", "root.a.user-settings.u0.weight": "1.5"}, 0, 2, 10, 5}, // 4.5
		"a weight beyond all":           {map[string]string{"root.a.minimum-user-limit-percent": "25", "root.a.user-settings.u0.weight": "3"}, 0, 2, 10, 6},
		"a weight of less than another": {map[string]string{"root.a.user-settings.u0.weight": "0.5"}, 0, 1, 10, 3},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"root.a.maximum-am-resource-percent": "0.1", "root.a.user-limit-factor": "1"}
			maps.Copy(all, x.settings)
			c := start(t, 1, all)
			for i := range x.users {
				c.app("root.a", fmt.Sprintf("u%d", i), 0, 1)
			}
			u := &core.User{Weight: 1}
			if x.users > 0 {
				u = c.user("root.a", "u0")
			}
			if x.others > 0 {
				c.app("root.b", "w", x.others, 0)
			}
			h, q := c.leaf("root.a")
			if got, of := c.p.AMLimit(h), c.p.UserAMShare(q, u); got[0] != x.queue<<10 || of[0] != x.user<<10 {
				t.Errorf("masters may have %v, those of a user %v; want %d and %d GB", got, of, x.queue, x.user)
			}
		})
	}
}

// Applications become active while their masters of 1 GB are within the limits of their leaf and of their user. The first one of a
// leaf always does.
func TestApplicationsThatBecomeActive(t *testing.T) {
	for name, x := range map[string]struct {
		settings map[string]string
		users    []string
		am       int64
		want     int
	}{
		"by the limit of the user":       {nil, []string{"u"}, 1, 6},
		"by the limit of the queue":      {nil, []string{"u", "v"}, 1, 10},
		"by the limits of two users":     {map[string]string{"root.a.minimum-user-limit-percent": "25"}, []string{"u", "v"}, 1, 6},
		"larger masters":                 {nil, []string{"u"}, 4, 1},
		"two that just fit":              {nil, []string{"u"}, 3, 2},
		"the first is larger than all":   {nil, []string{"u"}, 30, 1},
		"masters that are run elsewhere": {nil, []string{"u"}, 0, 6}, // count as the smallest container
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"root.a.maximum-am-resource-percent": "0.1", "root.a.user-limit-factor": "1"}
			maps.Copy(all, x.settings)
			c := start(t, 1, all)
			for i := range 24 {
				h := c.AddApp(core.AppSpec{Queue: "root.a", User: x.users[i%len(x.users)], Seq: int64(i), AM: gb(x.am)})
				c.UpdateAsks(h, []core.Ask{row(1, max(x.am, 1))})
			}
			active := 0
			for _, d := range c.Schedule(0) {
				if d.Kind == core.Activate {
					active++
				}
			}
			if _, q := c.leaf("root.a"); active != x.want || int(q.Active) != x.want {
				t.Errorf("%d become active, %d are; want %d", active, q.Active, x.want)
			}
		})
	}
}

// RegularContainerAllocator.canAssign counts chances that nodes offer with their heartbeats, one each a second here, of 10 nodes.
func TestDelaysForLocality(t *testing.T) {
	for name, x := range map[string]struct {
		node, rack string
		count      int32
		places     []string
		want       [2]int64 // before a node of the rack, and before any, in ms
	}{
		"by default":                      {"40", "-1", 5, []string{"n0", "/r"}, [2]int64{1000, 100}}, // 5 containers · 2 places of 10 nodes = 1 chance
		"a few chances":                   {"4", "-1", 20, []string{"n0", "/r"}, [2]int64{400, 400}},
		"no more than once every node":    {"4", "-1", 100, []string{"n0", "n1", "/r"}, [2]int64{400, 1000}},
		"a further delay for other racks": {"4", "3", 1, []string{"n0"}, [2]int64{400, 700}},
		"a long further delay":            {"4", "30", 1, []string{"n0"}, [2]int64{400, 1000}},
		"no delay":                        {"-1", "0", 1, []string{"n0"}, [2]int64{0, 0}},
		"no delay for the rack":           {"0", "2", 1, []string{"n0"}, [2]int64{0, 200}},
		"no place":                        {"40", "40", 1, nil, [2]int64{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 10, map[string]string{"node-locality-delay": x.node, "rack-locality-additional-delay": x.rack})
			rows := []core.Ask{row(x.count, 1)}
			for _, place := range x.places {
				r := row(x.count, 1)
				r.Name = place
				rows = append(rows, r)
			}
			h := c.app("root.a", "u", 0, 0)
			c.UpdateAsks(h, rows)
			for d := range c.Demands(&c.Apps[h]) {
				rack, anywhere := c.Delays(d)
				if diff := cmp.Diff(x.want, [2]int64{rack, anywhere}); diff != "" {
					t.Errorf("(- wanted)\n%s", diff)
				}
			}
		})
	}
}

// PriorityUtilizationQueueOrderingPolicy and FairOrderingPolicy: who is next, as long as there is room.
func TestWhoIsServedNext(t *testing.T) {
	type app struct {
		queue, user string
		has         int64
		asks        int32
	}
	for name, x := range map[string]struct {
		settings map[string]string
		apps     []app
		want     int
	}{
		"the queue that uses less of its guarantee": {nil, []app{{"root.a", "u", 30, 1}, {"root.b", "u", 16, 1}}, 1},
		"a larger queue that uses less of it":       {nil, []app{{"root.a", "u", 20, 1}, {"root.b", "u", 16, 1}}, 0},
		"of equal ones the larger guarantee":        {nil, []app{{"root.b", "u", 20, 1}, {"root.a", "u", 30, 1}}, 1},
		"priority doesn't count by use":             {map[string]string{"root.a.priority": "9"}, []app{{"root.a", "u", 30, 1}, {"root.b", "u", 16, 1}}, 1},
		"priority counts by priority":               {map[string]string{"root.ordering-policy": "priority-utilization", "root.a.priority": "9"}, []app{{"root.a", "u", 30, 1}, {"root.b", "u", 16, 1}}, 0},
		"not beyond the guarantee":                  {map[string]string{"root.ordering-policy": "priority-utilization", "root.a.priority": "9"}, []app{{"root.a", "u", 60, 1}, {"root.b", "u", 30, 1}}, 1},
		"of equal priority use":                     {map[string]string{"root.ordering-policy": "priority-utilization"}, []app{{"root.a", "u", 30, 1}, {"root.b", "u", 16, 1}}, 1},
		"the first one submitted":                   {nil, []app{{"root.a", "u", 30, 1}, {"root.a", "v", 10, 1}}, 0},
		"in fair leaves who has less":               {map[string]string{"root.a.ordering-policy": "fair"}, []app{{"root.a", "u", 30, 1}, {"root.a", "v", 10, 1}}, 1},
		"in fair leaves of equal ones the first":    {map[string]string{"root.a.ordering-policy": "fair"}, []app{{"root.a", "u", 10, 1}, {"root.a", "v", 10, 1}}, 0},
		"not by what they ask for":                  {map[string]string{"root.a.ordering-policy": "fair"}, []app{{"root.a", "u", 10, 50}, {"root.a", "v", 9, 1}}, 1},
		"weighed by the logarithm of both":          {map[string]string{"root.a.ordering-policy": "fair", "root.a.ordering-policy.fair.enable-size-based-weight": "true"}, []app{{"root.a", "u", 10, 50}, {"root.a", "v", 9, 1}}, 0}, // 10/15.9 and 9/13.3
		"a user over its limit has to wait":         {map[string]string{"root.a.minimum-user-limit-percent": "25"}, []app{{"root.a", "u", 40, 1}, {"root.a", "v", 20, 1}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, 1, x.settings)
			var apps []handle.App
			for _, a := range x.apps {
				apps = append(apps, c.app(a.queue, a.user, a.has, a.asks))
			}
			for _, d := range c.Schedule(0) {
				if d.Kind != core.Allocate {
					continue
				}
				if d.App != apps[x.want] {
					t.Errorf("application %d is next", d.App)
				}
				return
			}
			t.Error("nobody is next")
		})
	}
}
