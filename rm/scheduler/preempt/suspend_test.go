package preempt

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

func amount(gb, cores int64) records.Resource { return records.NewResource(gb<<10, cores) }

// What is taken has the shape of the request, and is no more than there is (BIG-C, section 3.2).
func TestComputeDR(t *testing.T) {
	cluster := amount(200, 100)
	for name, x := range map[string]struct{ request, over, want records.Resource }{
		"cores dominate":      {amount(40, 40), amount(60, 20), amount(20, 20)},
		"memory dominates":    {amount(100, 10), amount(50, 50), amount(50, 5)},
		"less of the other":   {amount(40, 40), amount(10, 20), amount(10, 20)},
		"nothing is asked":    {amount(0, 0), amount(50, 50), amount(0, 0)},
		"memory alone":        {amount(80, 0), amount(50, 50), amount(50, 0)},
		"nothing is over":     {amount(40, 40), amount(0, 0), amount(0, 0)},
		"both dominate":       {amount(40, 20), amount(60, 20), amount(60, 20)},
		"what doesn't divide": {amount(40, 30), amount(60, 7), records.NewResource(9558, 7)},
	} {
		if got := ComputeDR(x.request, x.over, cluster); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
	// What the cluster has nothing of doesn't dominate.
	if got, want := ComputeDR(amount(40, 40), amount(10, 20), amount(200, 0)), amount(10, 10); got != want {
		t.Errorf("without cores: %v, want %v", got, want)
	}
}

// longShort is what a round of suspension looks at: queues long and short, one node for each list of containers.
type longShort struct {
	means       suspension.Means
	order       suspension.Ranking
	long, short records.Resource // guarantees
	ask         records.Resource
	count       int64
	free        records.Resource // of each node
	apps        []float64        // seconds that the applications of the long queue need
	containers  []onNode
	step        records.Resource
	perRound    float64
	minimumAge  int64
	keepsMemory bool // nodes don't reclaim
	costPerMB   float64
	shortAskAt  string
	nodesClosed bool
	fair        bool // the queues' shares are fair ones
	ignored     float64
	edit        func(*Snapshot)
	memoryAlone bool // counts, as in a tree with the DefaultResourceCalculator
}

// onNode is a container of an application, by their numbers.
type onNode struct {
	node, app int
	size      records.Resource
	since     int64
	am        bool
	costs     float64 // beside what its size costs
	wait      float64 // seconds until it ends; 0: unknown
}

func (x *longShort) snapshot() *Snapshot {
	s := &Snapshot{Dominant: !x.memoryAlone, Minimum: amount(1, 1)}
	used := records.Resource{}
	nodes := 0
	for i := range x.apps {
		s.Apps = append(s.Apps, App{ID: records.ApplicationID{ID: int32(i + 1)}, Queue: 1, Seq: int64(i), Remaining: x.apps[i]})
	}
	for i, c := range x.containers {
		a := &s.Apps[c.app]
		least := records.NewResource(64, 0)
		if x.keepsMemory {
			least[records.Memory] = c.size[records.Memory]
		}
		a.Containers = append(a.Containers, Container{
			ID: records.ContainerID{Attempt: records.AttemptID{App: a.ID, Attempt: 1}, ID: int64(i + 1)}, Node: c.node, Resource: c.size,
			Handle: int32(i), Held: c.size, Footprint: least, Since: c.since, AM: c.am,
			Quote: Quote{Wait: Price{Room: math.Inf(1)}, Suspend: Price{Room: x.costPerMB*float64(c.size[records.Memory]) + c.costs}},
		})
		if c.wait > 0 {
			a.Containers[len(a.Containers)-1].Quote.Wait.Room = c.wait
		}
		used, nodes = used.Add(c.size), max(nodes, c.node+1)
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, Node{Host: fmt.Sprint("n", i), Free: x.free, Closed: x.nodesClosed})
	}
	s.Cluster = used.Add(x.free.Times(int64(nodes)))
	wants := x.ask.Times(x.count)
	s.Queues = []Queue{
		{Path: "root", Parent: -1, Used: used, Guaranteed: s.Cluster, Maximum: s.Cluster, Pending: wants, Asked: wants},
		{Path: "root.long", Used: used, Guaranteed: x.long, Maximum: s.Cluster, Means: x.means},
		{Path: "root.short", Guaranteed: x.short, Maximum: s.Cluster, Pending: wants, Asked: wants},
	}
	if x.fair {
		s.Queues[0].Share.Kind = fairshare.DRF
		s.Queues[1].Share.Fair, s.Queues[2].Share.Fair = x.long, x.short
	}
	name := anywhere
	if x.shortAskAt != "" {
		name = x.shortAskAt
	}
	s.Apps = append(s.Apps, App{
		ID: records.ApplicationID{ID: 99}, Queue: 2, Asks: []Ask{{Name: name, Relax: name == anywhere, Capability: x.ask, Count: x.count}},
	})
	if x.edit != nil {
		x.edit(s)
	}
	return s
}

// reserveShort reserves a node for the request of an application of the short queue, as YARN's CapacityScheduler counts that.
func (s *Snapshot) reserveShort(app, node int) {
	a := &s.Apps[app]
	size := a.Asks[0].Capability
	a.Containers = []Container{{Node: node, Resource: size, Reserved: true}}
	for _, q := range []*Queue{&s.Queues[0], &s.Queues[2]} {
		q.Used, q.Reserved, q.Pending = q.Used.Add(size), q.Reserved.Add(size), atLeast0(q.Pending.Sub(size))
	}
}

// reserveLong reserves room on a node for an application of the long queue.
func reserveLong(s *Snapshot) {
	s.Nodes[1].Free = amount(2, 2)
	id := records.ContainerID{Attempt: records.AttemptID{App: s.Apps[0].ID, Attempt: 1}, ID: 77}
	s.Apps[0].Containers = append(s.Apps[0].Containers, Container{ID: id, Node: 1, Resource: amount(2, 2), Reserved: true, Handle: 77})
}

func (x *longShort) round() (out []string) {
	perRound := x.perRound
	if perRound == 0 {
		perRound = 1
	}
	p := Suspension{Ranking: x.order, Step: x.step, PerRound: perRound, MinimumAge: x.minimumAge, Fair: x.fair, Ignored: x.ignored}
	for _, c := range p.Round(1000, x.snapshot()).Cuts {
		text := fmt.Sprintf("%d: %d MB, %d cores", c.ID.ID, c.To[records.Memory], c.To[records.VCores])
		if c.All {
			text = fmt.Sprint(c.ID.ID)
		}
		out = append(out, text)
	}
	return out
}

func TestWhoIsSuspended(t *testing.T) {
	four := func(size records.Resource) []onNode {
		return []onNode{{node: 0, app: 0, size: size}, {node: 0, app: 1, size: size}, {node: 1, app: 0, size: size}, {node: 1, app: 1, size: size}}
	}
	base := longShort{
		means: suspension.Immediate, long: amount(1, 1), short: amount(31, 31), ask: amount(2, 2), count: 1, apps: []float64{50, 100},
		containers: four(amount(8, 8)), step: amount(4, 2),
	}
	for name, x := range map[string]struct {
		change func(*longShort)
		want   []string
	}{
		"who needs longest":                    {func(*longShort) {}, []string{"4"}},
		"who needs it not known":               {func(x *longShort) { x.apps[0] = math.Inf(1) }, []string{"3"}},
		"who needs longest, whatever it costs": {func(x *longShort) { x.containers[3].costs, x.containers[1].costs = 100, 1 }, []string{"4"}},
		"the youngest":                         {func(x *longShort) { x.order, x.containers[0].since = suspension.ByLeastAttained, 900 }, []string{"1"}},
		"the cheapest for its gain":            {func(x *longShort) { x.order, x.costPerMB, x.containers[2].size = suspension.ByCost, 1, amount(4, 8) }, []string{"3"}},
		"the cheapest set": {func(x *longShort) { // the cheapest of all stands on a node where another one must go, too
			x.order, x.ask = suspension.ByCost, amount(12, 12)
			x.containers[0].costs, x.containers[1].costs, x.containers[2].costs, x.containers[3].costs = 1, 100, 20, 20
		}, []string{"4", "3"}},
		"the first of those that cost the same": {func(x *longShort) {
			x.order = suspension.ByCost
			for i := range x.containers {
				x.containers[i].costs = 10
			}
		}, []string{"4"}},
		"who ends before it lets go": {func(x *longShort) {
			x.order = suspension.ByCost
			for i := range x.containers {
				x.containers[i].costs = 10 + float64(i)
			}
			x.containers[0].wait, x.containers[1].wait = 9, 12
		}, []string{"2"}},
		"the cheapest set of cores": {func(x *longShort) { // what isn't cut costs nothing
			x.order, x.keepsMemory, x.free = suspension.ByCost, true, amount(8, 0)
			x.containers[0].costs, x.containers[1].costs, x.containers[2].costs, x.containers[3].costs = 1, 100, 20, 20
		}, []string{"1"}},
		"what is idle costs nothing": {func(x *longShort) {
			x.order, x.ask = suspension.ByCost, amount(10, 10)
			x.containers[0].costs, x.containers[1].costs, x.containers[2].costs, x.containers[3].costs = 1000, 5, 10, 10
			x.edit = func(s *Snapshot) { s.Apps[0].Containers[0].Idle = true }
		}, []string{"1", "2"}},
		"steps from one without cores": {func(x *longShort) {
			x.means, x.ask, x.containers = suspension.Graceful, amount(4, 0), []onNode{{size: amount(16, 0)}}
		}, []string{"1: 12288 MB, 0 cores"}},
		"the cheapest set of several for their cores": {func(x *longShort) {
			x.order, x.keepsMemory, x.free, x.ask = suspension.ByCost, true, amount(8, 0), amount(2, 10)
			x.containers[0].costs, x.containers[1].costs, x.containers[2].costs, x.containers[3].costs = 1, 100, 20, 20
		}, []string{"4", "3"}},
		"above its fair share":       {func(x *longShort) { x.fair = true }, []string{"4"}},
		"all that fair shares owe":   {func(x *longShort) { x.fair, x.count, x.short = true, 9, amount(14, 14) }, []string{"4", "3"}},
		"nobody: within fair shares": {func(x *longShort) { x.fair, x.long = true, amount(32, 32) }, nil},
		"nobody: nothing is due":     {func(x *longShort) { x.fair, x.short = true, amount(0, 0) }, nil},
		"nobody: spared":             {func(x *longShort) { x.edit = func(s *Snapshot) { s.Queues[1].Disabled = true } }, nil},
		"nobody: spared by fair shares": {func(x *longShort) {
			x.fair, x.edit = true, func(s *Snapshot) { s.Queues[1].Disabled = true }
		}, nil},
		"a little over":               {func(x *longShort) { x.long, x.short = amount(30, 30), amount(2, 2) }, []string{"4"}},
		"nobody: a little is ignored": {func(x *longShort) { x.long, x.short, x.ignored = amount(30, 30), amount(2, 2), 0.1 }, nil},
		"not what is killable":        {func(x *longShort) { x.edit = func(s *Snapshot) { s.Apps[1].Containers[1].Killable = true } }, []string{"2"}},
		"whose room is idle": {func(x *longShort) {
			x.edit = func(s *Snapshot) { s.Apps[0].Containers[0].Idle = true }
		}, []string{"1"}},
		"whose room is idle, however young": {func(x *longShort) {
			x.minimumAge, x.containers[0].since = 500, 900
			x.edit = func(s *Snapshot) { s.Apps[0].Containers[0].Idle = true }
		}, []string{"1"}},
		"in the rack where it is asked for": {func(x *longShort) {
			x.shortAskAt, x.edit = "/r", func(s *Snapshot) { s.Nodes[0].Rack = "/r" }
		}, []string{"2"}},
		"room where it isn't asked for": {func(x *longShort) {
			x.shortAskAt, x.edit = "n0", func(s *Snapshot) { s.Nodes[1].Free = amount(2, 2) }
		}, []string{"2"}},
		"nobody: there is room that is reserved for who has its share":      {func(x *longShort) { x.edit = reserveLong }, nil},
		"nobody: there is room that is reserved for who has its fair share": {func(x *longShort) { x.fair, x.edit = true, reserveLong }, nil},
		"where nothing is taken from who has reserved room": {func(x *longShort) {
			x.edit = func(s *Snapshot) {
				reserveLong(s)
				s.Queues = append(s.Queues, Queue{Path: "root.kept", Maximum: s.Cluster, Disabled: true})
				s.Apps = append(s.Apps, App{ID: records.ApplicationID{ID: 7}, Queue: 3, Containers: s.Apps[0].Containers[len(s.Apps[0].Containers)-1:]})
				s.Apps[0].Containers = s.Apps[0].Containers[:len(s.Apps[0].Containers)-1]
			}
		}, []string{"4"}},
		"nobody: room is reserved for who waits": {func(x *longShort) {
			x.fair, x.edit = true, func(s *Snapshot) {
				s.Nodes[1].Free = amount(2, 2)
				s.Apps[2].Containers = []Container{{Node: 1, Resource: amount(2, 2), Reserved: true}}
			}
		}, nil},
		"for whom a node is reserved": {func(x *longShort) {
			x.edit = func(s *Snapshot) { s.reserveShort(2, 1) }
		}, []string{"4"}},
		"for whom a node is reserved, in that room": {func(x *longShort) {
			x.edit = func(s *Snapshot) {
				s.Nodes[1].Free = amount(2, 2)
				s.reserveShort(2, 1)
			}
		}, nil},
		"elsewhere than on a node that is reserved for another": {func(x *longShort) {
			x.edit = func(s *Snapshot) {
				other := s.Apps[2]
				other.ID.ID, other.Asks = 100, []Ask{{Name: anywhere, Relax: true, Capability: amount(20, 20), Count: 1}}
				s.Apps = append(s.Apps, other)
				s.reserveShort(3, 1)
			}
		}, []string{"2"}},
		"on the node that was reserved, once who had it so has room": {func(x *longShort) {
			x.ask, x.count, x.edit = amount(4, 4), 3, func(s *Snapshot) {
				other := s.Apps[2]
				other.ID.ID, other.Asks = 100, []Ask{{Name: "n1", Capability: amount(4, 4), Count: 1}}
				s.Apps = append(s.Apps, other)
				s.Apps[2].Asks = []Ask{{Name: "n1", Capability: amount(5, 5), Count: 1}}
				s.reserveShort(3, 1)
			}
		}, []string{"4", "3"}},
		"where what is free is in pieces too small": {func(x *longShort) { x.free = amount(1, 1) }, []string{"4"}},
		"where memory alone lacks": {func(x *longShort) {
			x.containers, x.free, x.long, x.short = four(amount(8, 1)), amount(0, 7), amount(16, 9), amount(16, 9)
		}, []string{"4"}},
		"where processors alone lack": {func(x *longShort) {
			x.containers, x.free, x.long, x.short = four(amount(1, 8)), amount(7, 0), amount(9, 16), amount(9, 16)
		}, []string{"4"}},
		"as much as is owed": {func(x *longShort) { x.ask, x.count, x.short = amount(7, 7), 9, amount(8, 8) }, []string{"4", "3"}},
		"a request behind one that fits nowhere": {func(x *longShort) {
			x.short, x.edit = amount(10, 10), func(s *Snapshot) {
				a := &s.Apps[2]
				a.Asks = append([]Ask{{Name: anywhere, Relax: true, Capability: amount(17, 17), Count: 1}}, a.Asks...)
			}
		}, []string{"4"}},
		"all where steps can't be taken": {func(x *longShort) {
			x.means, x.edit = suspension.Graceful, func(s *Snapshot) { s.Apps[1].Containers[1].Whole = true }
		}, []string{"4"}},
		"all where a step leaves too little memory": {func(x *longShort) {
			x.means, x.step = suspension.Graceful, records.NewResource(8192-64, 2)
		}, []string{"4"}},
		"steps from one application after the other": {func(x *longShort) {
			x.means, x.containers = suspension.Graceful, []onNode{
				{node: 0, app: 1, size: amount(8, 8)}, {node: 0, app: 1, size: amount(8, 8)}, {node: 0, app: 0, size: amount(8, 8)},
			}
			x.ask = amount(10, 6)
		}, []string{"2", "1: 4096 MB, 6 cores"}},
		"too young":                  {func(x *longShort) { x.minimumAge, x.containers[3].since = 500, 900 }, []string{"2"}},
		"ApplicationMasters last":    {func(x *longShort) { x.containers[3].am, x.containers[1].am = true, true }, []string{"3"}},
		"an ApplicationMaster":       {func(x *longShort) { x.count, x.ask, x.containers[1].am = 2, amount(15, 15), true }, []string{"4", "3", "1", "2"}},
		"as many as are asked for":   {func(x *longShort) { x.count, x.ask = 3, amount(7, 7) }, []string{"4", "2", "3"}},
		"several on one node":        {func(x *longShort) { x.ask = amount(12, 12) }, []string{"4", "3"}},
		"where it is asked for":      {func(x *longShort) { x.shortAskAt = "n0" }, []string{"2"}},
		"nobody: there is room":      {func(x *longShort) { x.free = amount(2, 2) }, nil},
		"nobody: closed nodes":       {func(x *longShort) { x.nodesClosed = true }, nil},
		"nobody: it fits on no node": {func(x *longShort) { x.ask = amount(17, 3) }, nil},
		"nobody: killed instead":     {func(x *longShort) { x.means = suspension.Kill }, nil},
		"nobody: within the share":   {func(x *longShort) { x.long, x.short = amount(32, 32), amount(1, 1) }, nil},
		"a round's part":             {func(x *longShort) { x.perRound, x.count, x.ask = 0.2, 3, amount(7, 7) }, []string{"4"}},
		"cores of memory that stays": {func(x *longShort) { x.keepsMemory, x.free = true, amount(2, 0) }, []string{"4"}},
		"nobody: memory stays":       {func(x *longShort) { x.keepsMemory = true }, nil},
		"a step from each": {func(x *longShort) {
			x.means, x.containers = suspension.Graceful, []onNode{
				{node: 0, app: 1, size: amount(8, 8)}, {node: 0, app: 1, size: amount(8, 8)}, {node: 0, app: 0, size: amount(8, 8)},
			}
			x.ask = amount(6, 4)
		}, []string{"2: 4096 MB, 6 cores", "1: 4096 MB, 6 cores"}},
		"nobody: there is room for what is owed": {func(x *longShort) {
			x.fair, x.ask, x.count, x.short, x.free = true, amount(7, 7), 9, amount(8, 8), amount(8, 8)
		}, nil},
		"one request after the other": {func(x *longShort) {
			x.fair, x.edit = true, func(s *Snapshot) {
				s.Queues[2].Asked = amount(20, 20)
				s.Apps[2].Asks = []Ask{{Name: "n0", Capability: amount(2, 2), Count: 1}, {Name: "n1", Capability: amount(2, 2), Count: 1}}
			}
		}, []string{"4", "2"}},
		"the root is no leaf": {func(x *longShort) {
			x.fair, x.edit = true, func(s *Snapshot) { s.Queues[0].Means = suspension.Immediate }
		}, []string{"4"}},
		"nothing for what a request holds up for which no room can be made": {func(x *longShort) {
			x.edit = func(s *Snapshot) {
				a := &s.Apps[len(s.Apps)-1]
				a.Asks = []Ask{{Name: anywhere, Relax: true, Capability: amount(500, 1), Count: 1, Priority: 10}, {Name: anywhere, Relax: true, Capability: amount(7, 7), Count: 1, Priority: 20}}
			}
		}, nil},
		"for one as urgent": {func(x *longShort) {
			x.edit = func(s *Snapshot) {
				a := &s.Apps[len(s.Apps)-1]
				a.Asks = []Ask{{Name: anywhere, Relax: true, Capability: amount(500, 1), Count: 1, Priority: 10}, {Name: anywhere, Relax: true, Capability: amount(7, 7), Count: 1, Priority: 10}}
			}
		}, []string{"4"}},
		"for a less urgent one, where the other waits for a node": {func(x *longShort) {
			x.edit = func(s *Snapshot) {
				a := &s.Apps[len(s.Apps)-1]
				a.Asks = []Ask{{Name: "n9", Capability: amount(7, 7), Count: 1, Priority: 10}, {Name: anywhere, Relax: true, Capability: amount(7, 7), Count: 1, Priority: 20}}
			}
		}, []string{"4"}},
		"nobody is over a share of cores where only memory is divided": {func(x *longShort) {
			x.fair, x.long, x.edit = true, amount(64, 0), func(s *Snapshot) { s.Queues[0].Share.Kind = fairshare.Fair }
		}, nil},
		"a queue is over its share of memory alone": {func(x *longShort) {
			x.fair, x.long, x.short, x.edit = true, amount(1, 0), amount(31, 0), func(s *Snapshot) { s.Queues[0].Share.Kind = fairshare.Fair }
		}, []string{"4"}},
		"not from the queue that waits": {func(x *longShort) { // it is over its share of cores, and below that of memory
			x.fair, x.long, x.edit = true, amount(64, 16), func(s *Snapshot) {
				s.Queues[1].Asked, s.Queues[2].Asked = amount(9, 0), amount(0, 0)
				s.Apps[len(s.Apps)-1].Queue = 1
			}
		}, nil},
		"not from the queue that waits, though another one waits as well": {func(x *longShort) {
			x.fair, x.long, x.short, x.edit = true, amount(64, 16), amount(8, 8), func(s *Snapshot) {
				s.Queues[1].Asked, s.Queues[2].Asked = amount(9, 0), amount(8, 8)
				s.Apps[len(s.Apps)-1].Queue = 1
			}
		}, nil},
		"no more than the shape of what is owed": {func(x *longShort) { // of 20 cores over the share as many as fit the 2 GB over it
			x.fair, x.keepsMemory, x.free, x.ask, x.count = true, true, amount(8, 0), amount(1, 1), 8
			x.long, x.short, x.apps, x.containers = amount(6, 12), amount(8, 8), []float64{50}, nil
			for range 16 {
				x.containers = append(x.containers, onNode{size: records.NewResource(512, 2)})
			}
		}, []string{"16", "15"}},
		"not where nothing is left to take": {func(x *longShort) { // the first one's node isn't the first for that
			x.apps, x.containers = []float64{100, 70, 50}, []onNode{
				{node: 0, app: 0, size: amount(8, 8)}, {node: 0, app: 2, size: amount(8, 8)}, {node: 1, app: 1, size: amount(8, 8)},
			}
			x.edit = func(s *Snapshot) { c := &s.Apps[0].Containers[0]; c.Footprint = c.Held }
		}, []string{"3"}},
		"the cheapest for what it frees, not the cheapest": {func(x *longShort) {
			x.order, x.ask = suspension.ByCost, amount(1, 1)
			x.containers = []onNode{{app: 0, size: amount(2, 2), costs: 5}, {app: 1, size: amount(8, 8), costs: 10}}
		}, []string{"2"}},
		"the cheapest of 64 nodes": {func(x *longShort) {
			x.order, x.ask, x.containers = suspension.ByCost, amount(1, 1), nil
			for i := range 63 {
				x.containers = append(x.containers, onNode{node: i, size: amount(8, 8), costs: 10})
			}
			x.containers = append(x.containers, onNode{node: 63, size: amount(3, 3), costs: 5}, onNode{node: 64, size: amount(2, 2), costs: 4})
		}, []string{"64"}},
		"a part of a dear one, not all of a cheap one": {func(x *longShort) {
			x.means, x.order, x.ask = suspension.Graceful, suspension.ByCost, amount(4, 2)
			x.containers = []onNode{{node: 0, app: 0, size: amount(8, 8), costs: 10}, {node: 1, app: 1, size: amount(8, 8), costs: 7}}
			x.edit = func(s *Snapshot) { s.Apps[1].Containers[0].Whole = true }
		}, []string{"1: 4096 MB, 6 cores"}},
		"steps from the others, where one has no more to give": {func(x *longShort) {
			x.means, x.ask, x.containers = suspension.Graceful, amount(15, 7), []onNode{{size: amount(4, 2)}, {size: amount(16, 8)}}
		}, []string{"2: 4096 MB, 2 cores", "1"}},
		"steps leave a core": {func(x *longShort) {
			x.means, x.ask, x.containers = suspension.Graceful, amount(8, 2), []onNode{{size: amount(16, 3)}}
		}, []string{"1: 8192 MB, 1 cores"}},
		"steps down to the least": {func(x *longShort) { x.means, x.ask = suspension.Graceful, amount(9, 9) }, []string{"4", "3: 4096 MB, 6 cores"}},
	} {
		y := base
		y.apps, y.containers = slices.Clone(base.apps), slices.Clone(base.containers)
		x.change(&y)
		if got := y.round(); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// A round makes room for so many requests, and the next one goes on.
func TestMostRequests(t *testing.T) {
	x := longShort{means: suspension.Immediate, fair: true, short: amount(2400, 2400), ask: amount(7, 7), count: 300, apps: []float64{50}}
	for i := range 300 {
		x.containers = append(x.containers, onNode{node: i, size: amount(8, 8)})
	}
	if got := x.round(); len(got) != mostRequests {
		t.Errorf("%d containers for %d requests", len(got), x.count)
	}
}

// Idle room is taken first, whoever has it.
func TestIdleRoomGoesFirst(t *testing.T) {
	x := longShort{
		means: suspension.Immediate, long: amount(1, 1), short: amount(31, 31), ask: amount(2, 2), count: 1, apps: []float64{50},
		containers: []onNode{{size: amount(8, 8)}, {size: amount(8, 8)}, {size: amount(8, 8)}, {size: amount(8, 8)}},
	}
	for i := range x.containers {
		x.edit = func(s *Snapshot) { s.Apps[0].Containers[i].Idle = true }
		if got, want := x.round(), []string{fmt.Sprint(i + 1)}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A queue that owes much memory and hardly any cores gives room for a request all the same, though several containers have to be cut for that. Where
// cores don't count, that there are few doesn't matter at all.
func TestLittleOfOneTypeIsOwed(t *testing.T) {
	x := longShort{
		means: suspension.Immediate, long: amount(1, 3), short: amount(3, 97), ask: amount(1, 1), count: 90, free: amount(0, 96), apps: []float64{50}, perRound: 0.1,
		containers: []onNode{{size: amount(1, 1)}, {size: amount(1, 1)}, {size: amount(1, 1)}, {size: amount(1, 1)}},
	}
	for _, x.memoryAlone = range []bool{false, true} {
		if got := x.round(); !slices.Equal(got, []string{"4", "3"}) {
			t.Errorf("memory alone counts: %v: %q", x.memoryAlone, got)
		}
	}
}

// Each cut says which queue owes how much, and why it is this container's turn.
func TestCutsHaveReasons(t *testing.T) {
	x := longShort{
		means: suspension.Immediate, long: amount(1, 1), short: amount(15, 15), ask: amount(2, 2), count: 1, apps: []float64{50},
		containers: []onNode{{size: amount(8, 8)}, {size: amount(8, 8)}},
	}
	for order, want := range map[suspension.Ranking]string{
		suspension.ByRemaining: "needs 50 s more", suspension.ByLeastAttained: "began last", suspension.ByCost: "costs 0.0 s",
	} {
		p := Suspension{Ranking: order, PerRound: 1}
		cuts := p.Round(0, x.snapshot()).Cuts
		if len(cuts) != 1 || !strings.Contains(cuts[0].Reason, want) || cuts[0].By != "root.short" || cuts[0].Queue != "root.long" ||
			!strings.Contains(cuts[0].Reason, "root.long holds "+x.snapshot().Queues[1].Used.String()) {
			t.Errorf("%+v", cuts)
		}
	}
	x.apps[0] = math.Inf(1)
	if cuts := (&Suspension{PerRound: 1}).Round(0, x.snapshot()).Cuts; len(cuts) != 1 || !strings.Contains(cuts[0].Reason, "nobody knows when the application ends") {
		t.Errorf("%+v", cuts)
	}
}

// Each cut says whose container it is, and whether that runs its ApplicationMaster.
func TestCutsNameTheirContainers(t *testing.T) {
	for _, am := range []bool{false, true} {
		x := longShort{
			means: suspension.Immediate, long: amount(1, 1), short: amount(15, 15), ask: amount(2, 2), count: 1, apps: []float64{50, 60},
			containers: []onNode{{app: 1, size: amount(8, 8), am: am}},
		}
		s := x.snapshot()
		c := s.Apps[1].Containers[0]
		cuts := (&Suspension{PerRound: 1}).Round(0, s).Cuts
		if len(cuts) != 1 || cuts[0].App != s.Apps[1].ID || cuts[0].AM != am || cuts[0].ID != c.ID || cuts[0].Resource != c.Resource || cuts[0].Handle != c.Handle || cuts[0].Quote != c.Quote || cuts[0].ByApp.ID != 99 {
			t.Errorf("%+v", cuts)
		}
	}
}

// A tenth of a small cluster, which a round may take by YARN's default, is less than a container. A request gets room nevertheless.
func TestARoundMayAlwaysMakeRoomForOneRequest(t *testing.T) {
	x := longShort{
		means: suspension.Immediate, ask: amount(1, 1), count: 2, step: amount(2, 1), perRound: 0.1, apps: []float64{1},
		long: amount(2, 2), short: amount(2, 2),
	}
	for range 4 {
		x.containers = append(x.containers, onNode{size: amount(1, 1)})
	}
	p := Suspension{Ranking: x.order, Step: x.step, PerRound: x.perRound}
	if cuts := p.Round(1000, x.snapshot()).Cuts; len(cuts) != 2 { // of one stay 64 MB
		t.Errorf("%+v", cuts)
	}
}

// What is reserved for a queue that has its share gives way to a request of one below its share. What is made for a request, or gives way to it, is
// for its queue: no more, and not what is free anyway.
func TestRoomIsForWhomItIsMade(t *testing.T) {
	x := longShort{
		means: suspension.Immediate, long: amount(1, 1), short: amount(31, 31), ask: amount(2, 2), count: 3, apps: []float64{50},
		containers: []onNode{{size: amount(8, 8)}, {node: 1, size: amount(8, 8)}}, step: amount(4, 2), edit: reserveLong,
	}
	p := Suspension{Step: x.step, PerRound: 1}
	m := p.Round(1000, x.snapshot())
	if len(m.Undo) != 1 || m.Undo[0].Handle != 77 || m.Undo[0].ID.ID != 77 || m.Undo[0].Queue != "root.long" || m.Undo[0].Resource != amount(2, 2) ||
		m.Undo[0].App.ID != 1 || m.Undo[0].For.ID != 99 || !m.Undo[0].Reserved || !strings.Contains(m.Undo[0].Reason, "root.short waits") || len(m.Cuts) != 1 || len(m.Room) != 3 {
		t.Errorf("%d cuts, %d rooms, reservations %+v", len(m.Cuts), len(m.Room), m.Undo)
	}
	for _, r := range m.Room {
		if r.Size != x.ask || r.For != (records.ApplicationID{ID: 99}) {
			t.Errorf("%+v", r)
		}
	}
	x.edit = func(s *Snapshot) { s.Nodes[1].Free = amount(6, 6) }
	if m := p.Round(1000, x.snapshot()); len(m.Cuts)+len(m.Undo)+len(m.Room) > 0 {
		t.Errorf("%+v of what is free", m)
	}
	x.edit = func(s *Snapshot) { // room is made for who has a reservation before others of its queue
		other := s.Apps[1]
		other.ID.ID = 100
		s.Apps = append(s.Apps, other)
		s.reserveShort(2, 1)
	}
	if m := p.Round(1000, x.snapshot()); len(m.Room) == 0 || m.Room[0].For.ID != 100 {
		t.Errorf("%+v where a node is reserved", m.Room)
	}
	x.edit, x.count = nil, 1
	if m := p.Round(1000, x.snapshot()); len(m.Cuts) != 1 || len(m.Room) != 1 || len(m.Undo) != 0 {
		t.Errorf("%+v of one container", m)
	}
}

// A round changes nothing of what it looks at.
func TestRoundsChangeNoSnapshot(t *testing.T) {
	for _, fair := range []bool{false, true} {
		x := longShort{
			means: suspension.Immediate, long: amount(1, 1), short: amount(31, 31), ask: amount(2, 2), count: 3, apps: []float64{50}, fair: fair,
			containers: []onNode{{size: amount(8, 8)}, {node: 1, size: amount(8, 8)}}, edit: func(s *Snapshot) { s.reserveShort(1, 1) },
		}
		s := x.snapshot()
		before := fmt.Sprintf("%+v", s)
		if m := (&Suspension{PerRound: 1, Fair: fair}).Round(0, s); len(m.Cuts) == 0 || fmt.Sprintf("%+v", s) != before {
			t.Errorf("%d cuts, and the snapshot isn't what it was", len(m.Cuts))
		}
	}
}

// Whatever there is: nobody is cut below the least or for nothing, or when its queue has nothing over its guarantee any more, no round takes
// more than its part, and what is taken is room for a request that waits. The same snapshot gives the same cuts.
func TestCutsAreWithinWhatIsOwed(t *testing.T) {
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		size := func(label string, most int64) records.Resource {
			return amount(rapid.Int64Range(1, most).Draw(t, label+" gb"), rapid.Int64Range(1, most).Draw(t, label+" cores"))
		}
		x := longShort{
			means: rapid.SampledFrom([]suspension.Means{suspension.Graceful, suspension.Immediate}).Draw(t, "means"),
			order: suspension.Ranking(rapid.IntRange(0, 2).Draw(t, "order")), ask: size("ask", 6), count: rapid.Int64Range(1, 9).Draw(t, "count"),
			step: size("step", 4), perRound: rapid.Float64Range(0.05, 1).Draw(t, "part"), keepsMemory: rapid.Bool().Draw(t, "keeps"),
			free: amount(rapid.Int64Range(0, 3).Draw(t, "free"), 0), costPerMB: 0.001,
		}
		for range rapid.IntRange(1, 4).Draw(t, "apps") {
			x.apps = append(x.apps, rapid.Float64Range(1, 100).Draw(t, "remaining"))
		}
		var all records.Resource
		for range rapid.IntRange(1, 12).Draw(t, "containers") {
			c := onNode{
				node: rapid.IntRange(0, 3).Draw(t, "node"), app: rapid.IntRange(0, len(x.apps)-1).Draw(t, "app"), size: size("size", 8),
				since: rapid.Int64Range(0, 999).Draw(t, "since"), am: rapid.IntRange(0, 4).Draw(t, "am") == 0,
			}
			x.containers, all = append(x.containers, c), all.Add(c.size)
		}
		part := rapid.Float64Range(0, 1).Draw(t, "share")
		x.long, x.short = scaled(all, part), scaled(all, 1-part)
		s := x.snapshot()
		p := Suspension{Ranking: x.order, Step: x.step, PerRound: x.perRound}
		cuts := p.Round(1000, s).Cuts
		seen += len(cuts)
		left, largest, room := s.Queues[1].Used, records.Resource{}, make([]records.Resource, len(s.Nodes))
		for i := range room {
			room[i] = s.Nodes[i].Free
		}
		for _, c := range cuts {
			at := x.containers[c.Handle]
			gain := at.size.Sub(c.To)
			if !c.To.FitsIn(at.size) || gain.IsZero() || !records.NewResource(64, 0).FitsIn(c.To) || x.keepsMemory && gain[records.Memory] > 0 {
				t.Fatalf("%+v is cut to %v", at, c.To)
			}
			left, largest, room[at.node] = left.Sub(gain), largest.Max(gain), room[at.node].Add(gain)
		}
		if len(cuts) == 0 {
			return
		}
		if before := atLeast0(s.Queues[1].Used.Sub(left).Sub(largest)); atLeast0(s.Queues[1].Used.Sub(x.long)).FitsIn(before) {
			t.Fatalf("the queue is left with %v of %v, and guaranteed %v", left, s.Queues[1].Used, x.long)
		}
		var gain records.Resource
		for i := range s.Apps {
			for _, c := range s.Apps[i].Containers {
				gain = gain.Max(c.Held.Sub(c.Footprint))
			}
		}
		most := scaled(s.Cluster, x.perRound).Max(x.ask.Add(gain))
		if taken := s.Queues[1].Used.Sub(left); !taken.FitsIn(most) {
			t.Fatalf("a round that may take %f of %v takes %v", x.perRound, s.Cluster, taken)
		}
		if !slices.ContainsFunc(room, x.ask.FitsIn) {
			t.Fatalf("nothing of %v fits into %v", x.ask, room)
		}
		if again := p.Round(1000, s).Cuts; fmt.Sprint(again) != fmt.Sprint(cuts) {
			t.Fatalf("%v, and then %v", cuts, again)
		}
	})
	if seen == 0 {
		t.Error("nobody was ever cut")
	}
}
