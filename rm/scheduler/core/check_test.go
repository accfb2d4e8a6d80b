package core_test

import (
	"strings"
	"testing"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/records"
)

// Check finds each sum that is off by a little, and each order and mask that is wrong, and names the culprit.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	one := records.NewResource(1, 0)
	for name, x := range map[string]struct {
		spoil func(c *cluster, h handle.App)
		want  string
	}{
		"nothing":                      {func(*cluster, handle.App) {}, ""},
		"what a node holds":            {func(c *cluster, _ handle.App) { c.Nodes.At[0].Used[0]++ }, "node 0 has"},
		"nodes that are partly open":   {func(c *cluster, _ handle.App) { c.Nodes.PartlyOpen++ }, "nodes are open to some kinds of work only"},
		"a node that is opened aside":  {func(c *cluster, _ handle.App) { c.Nodes.At[0].Open = nodeset.WorkOf(1) }, "1 nodes are open to some kinds of work only"},
		"a reservation that is lost":   {func(c *cluster, _ handle.App) { c.Nodes.At[0].Reserved = handle.NoContainer }, "node 0 isn't reserved for container"},
		"what an application has":      {func(c *cluster, h handle.App) { c.Apps[h].Used[0]++ }, "application 1 has"},
		"what it has reserved":         {func(c *cluster, h handle.App) { c.Apps[h].Reserved[1]++ }, "application 1 has"},
		"what it waits for":            {func(c *cluster, h handle.App) { c.Apps[h].PendingSum[0]++ }, "application 1 waits for"},
		"how many it asks for":         {func(c *cluster, h handle.App) { request(c, h, 3).Pending++ }, "application 1 waits for"},
		"how many containers it has":   {func(c *cluster, h handle.App) { c.Apps[h].Running++ }, "queue root has"},
		"that it is active":            {func(c *cluster, h handle.App) { c.Apps[h].Active = false }, "user u in root.a has"},
		"that it wants something":      {func(c *cluster, h handle.App) { c.Apps[h].Wants = false }, "user u in root.a has"},
		"what its master takes":        {func(c *cluster, h handle.App) { c.Apps[h].Am[0]++ }, "user u in root.a has"},
		"what a user has":              {func(c *cluster, h handle.App) { c.Users[c.Apps[h].User].Used[0]++ }, "user u in root.a has"},
		"a user's masters":             {func(c *cluster, h handle.App) { c.Users[c.Apps[h].User].AmUsed[0]++ }, "user u in root.a has"},
		"a user's applications":        {func(c *cluster, h handle.App) { c.Users[c.Apps[h].User].Total++ }, "user u in root.a has"},
		"a user's active ones":         {func(c *cluster, h handle.App) { c.Users[c.Apps[h].User].Active++ }, "user u in root.a has"},
		"those that want something":    {func(c *cluster, h handle.App) { c.Users[c.Apps[h].User].Wanting++ }, "user u in root.a has"},
		"what the root has":            {func(c *cluster, _ handle.App) { c.Queues[core.Root].Used[0]++ }, "queue root has"},
		"what the root has reserved":   {func(c *cluster, _ handle.App) { c.Queues[core.Root].Reserved[0]++ }, "queue root has"},
		"what waits below the root":    {func(c *cluster, _ handle.App) { c.Queues[core.Root].Pending[0]++ }, "queue root has"},
		"the root's containers":        {func(c *cluster, _ handle.App) { c.Queues[core.Root].Containers++ }, "queue root has"},
		"the root's applications":      {func(c *cluster, _ handle.App) { c.Queues[core.Root].Total++ }, "queue root has"},
		"a leaf's masters":             {func(c *cluster, h handle.App) { c.Queues[c.Apps[h].Leaf].AmUsed[0]++ }, "queue root.a has"},
		"a leaf's active applications": {func(c *cluster, h handle.App) { c.Queues[c.Apps[h].Leaf].Active++ }, "queue root.a has"},
		"the order of queues": {func(c *cluster, h handle.App) {
			for _, q := range c.Queues[core.Root].Below {
				c.Rankings.Key(c.Queues[q].El).Ratio = float64(q)
			}
		}, "queue root: "},
		"the order of applications": {func(c *cluster, h handle.App) {
			c.Rankings.Key(c.Apps[h].El).Priority = -5
			c.Rankings.Key(c.Apps[h-1].El).Priority = -9
		}, "user u: "},
		"the first application of a user": {func(c *cluster, h handle.App) {
			c.Rankings.Key(c.Apps[h].El).Priority = 99
			c.Rankings.Key(c.Apps[h-1].El).Priority = 98
		}, "user u"},
		"what an application offers": {func(c *cluster, h handle.App) { c.Rankings.SetMask(c.Apps[h].El, 1<<40) }, "u"},
		"how many requests it has":   {func(c *cluster, h handle.App) { c.Apps[h].Requests++ }, "application 1: 2 requests"},
		"how many are blocked":       {func(c *cluster, h handle.App) { c.Apps[h].Blocked++ }, "application 1: 2 requests"},
		"that there is just one":     {func(c *cluster, h handle.App) { c.Apps[h].Sole = request(c, h, 3) }, "application 1"},
		"the order of requests":      {func(c *cluster, h handle.App) { request(c, h, 3).Priority = 9 }, "application 1: "},
		"why a request waits":        {func(c *cluster, h handle.App) { request(c, h, 3).Why = demand.NoPlace }, "application 1: "},
		"that a request is blocked":  {func(c *cluster, h handle.App) { request(c, h, 4).Why = demand.BehindOwn }, "application 1: "},
		"a container that is freed":  {func(c *cluster, h handle.App) { c.Apps[h].Used = c.Apps[h].Used.Sub(one) }, "application 1 has"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, nil, "n0", "n1")
			first := c.app("root.a", "u", 5)
			c.Restore(first, 0, gb(7))
			c.Restore(first, 1, gb(7))
			large, small := row(2, 4), row(1, 8)
			large.Priority, small.Priority = 3, 4
			h := c.app("root.a", "u", 2, large, small)
			c.Restore(h, 0, gb(1))
			c.app("root.b", "w", 0)
			c.run(0)
			if len(c.Reserved) != 1 || c.Containers[c.Reserved[0]].Node != 0 {
				t.Fatalf("%d reservations", len(c.Reserved))
			}
			x.spoil(c, h)
			err := c.Check()
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

// request is an application's request of a priority.
func request(c *cluster, h handle.App, priority int32) *core.Demand {
	for d := range c.Demands(&c.Apps[h]) {
		if d.Priority == priority {
			return d
		}
	}
	c.t.Fatalf("there is no request of priority %d", priority)
	return nil
}

// A node that is reserved has no room for others, and can't be reserved again; nor can one that is closed or too small.
func TestReservableNodes(t *testing.T) {
	c := start(t, nil, "n0", "n1", "n2", "n3")
	c.SetOpen(1, nodeset.NoWork)
	c.SetCapability(2, gb(4))
	for n := range handle.Node(4) {
		c.Restore(c.app("root.b", "v", 0), n, gb(4))
	}
	c.app("root.a", "u", 0, only(row(1, 7)), at(row(1, 7), "n0"))
	c.run(0)
	small, size := gb(1), c.Calc.Measure(gb(5))
	for n, want := range []struct{ room, reservable bool }{{false, false}, {false, false}, {false, false}, {true, true}} {
		node := &c.Nodes.At[n]
		if got := c.Nodes.HasRoom(node, &small); got != want.room {
			t.Errorf("node %d has room: %t", n, got)
		}
		if got := c.Reservable(node, &size); got != want.reservable {
			t.Errorf("node %d can be reserved: %t", n, got)
		}
	}
}
