package scheduler

import (
	"strings"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
)

// checked is a scheduler with all that is checked: an application that runs and waits, a node that is reserved for it, and a user with two.
func checked(t *testing.T) (*core.Core, *core.App) {
	t.Helper()
	tree, err := queue.ParseCapacity(map[string]string{"root.queues": "a", "root.a.capacity": "100", "maximum-am-resource-percent": "1"})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Tree: tree, Minimum: res(1, 1)})
	s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: res(8, 8)})
	s.AddNode(NodeSpec{Host: "n1", Rack: "/r", Capability: res(3, 8)})
	one := s.AddApp(AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: res(1, 1)})
	two := s.AddApp(AppSpec{Seq: 2, Queue: "root.a", User: "u", AM: res(1, 1)})
	ask := func(priority int32, count int32, gb int64) []Ask {
		return []Ask{{Priority: priority, Name: Any, Count: count, RelaxLocality: true, Capability: res(gb, 1)}}
	}
	s.UpdateAsks(one, ask(1, 2, 2))
	s.Schedule(0)
	s.UpdateAsks(two, ask(1, 1, 1))
	s.Schedule(0)
	s.UpdateAsks(one, append(ask(1, 1, 6), ask(2, 3, 1)...))
	s.Schedule(0)
	if err := s.core.Check(); err != nil {
		t.Fatal(err)
	}
	if len(s.Reservations()) != 1 {
		t.Fatalf("%d nodes are reserved", len(s.Reservations()))
	}
	return s.core, &s.core.Apps[one]
}

// What Check looks at is found when it is wrong.
func TestCheckFinds(t *testing.T) {
	unit := res(1, 1)
	for name, c := range map[string]struct {
		harm func(c *core.Core, a *core.App)
		want string
	}{
		"a node's sum":                 {func(c *core.Core, _ *core.App) { c.Nodes.At[0].Used = unit }, "node 0 has <memory:1024"},
		"a node that isn't reserved":   {func(c *core.Core, _ *core.App) { c.Nodes.At[0].Reserved = 0 }, "node 0 isn't reserved for container"},
		"an application's sum":         {func(_ *core.Core, a *core.App) { a.Used = unit }, "application 0 has <memory:1024"},
		"what is reserved for it":      {func(_ *core.Core, a *core.App) { a.Reserved = unit }, "application 0 has"},
		"what it waits for":            {func(_ *core.Core, a *core.App) { a.PendingSum = unit }, "application 0 waits for <memory:1024"},
		"its requests":                 {func(_ *core.Core, a *core.App) { a.Requests++ }, "2 requests, 0 of them blocked; the sums say 3"},
		"its blocked requests":         {func(_ *core.Core, a *core.App) { a.Blocked++ }, "the sums say 2 and 1"},
		"that it is active":            {func(_ *core.Core, a *core.App) { a.Active = false }, "user u in root.a has"},
		"that it wants something":      {func(_ *core.Core, a *core.App) { a.Wants = false }, "user u in root.a has"},
		"a user's use":                 {func(c *core.Core, _ *core.App) { c.Users[0].Used = unit }, "user u in root.a has"},
		"a user's masters":             {func(c *core.Core, _ *core.App) { c.Users[0].AmUsed = unit }, "user u in root.a has"},
		"a user's number":              {func(c *core.Core, _ *core.App) { c.Users[0].Total++ }, "user u in root.a has"},
		"a user's active ones":         {func(c *core.Core, _ *core.App) { c.Users[0].Active++ }, "user u in root.a has"},
		"a queue's use":                {func(c *core.Core, _ *core.App) { c.Queues[1].Used = unit }, "queue root.a has"},
		"what is reserved for a queue": {func(c *core.Core, _ *core.App) { c.Queues[1].Reserved = unit }, "queue root.a has"},
		"what a queue waits for":       {func(c *core.Core, _ *core.App) { c.Queues[1].Pending = unit }, "queue root.a has"},
		"a queue's masters":            {func(c *core.Core, _ *core.App) { c.Queues[1].AmUsed = unit }, "queue root.a has"},
		"the root's use":               {func(c *core.Core, _ *core.App) { c.Queues[0].Used = unit }, "queue root has"},
		"the root's number":            {func(c *core.Core, _ *core.App) { c.Queues[0].Total-- }, "queue root has"},
		"a queue's containers":         {func(c *core.Core, _ *core.App) { c.Queues[1].Containers++ }, "queue root.a has"},
		"the request at the front": {func(c *core.Core, a *core.App) {
			for d := range c.Demands(a) {
				d.Why = demand.NoPlace
				break
			}
		}, "shows 1 of 0"},
		"an order of applications": {func(c *core.Core, a *core.App) { c.Rankings.SetMask(a.El, 0) }, "user u doesn't stand by its first application"},
	} {
		s, a := checked(t)
		c.harm(s, a)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
