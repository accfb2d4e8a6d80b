package report

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/conf"
	"heddle/rm/leader/loop/looptest"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a real driver with nodes and applications, and who they are.
type world struct {
	*drive.Driver
	*Reports
	loop  *looptest.Loop
	apps  map[records.ApplicationID]scheduler.AppHandle
	nodes map[records.NodeID]scheduler.NodeHandle
	live  *queue.Live
}

func newWorld(t *testing.T, kind queue.Kind) *world {
	tree := queue.Default(kind)
	if kind == queue.Fair {
		c, err := conf.Load(conf.Options{})
		if err == nil {
			tree, err = queue.FairFromText(c, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return worldOf(t, tree)
}

func worldOf(t *testing.T, tree *queue.Tree) *world {
	if leaf, ok := tree.Find("root.default"); ok {
		leaf.MaxAMShare = 1 // so that several applications are active
	}
	w := &world{
		Driver: drive.New(scheduler.Config{Tree: tree, Minimum: records.NewResource(1024, 1)}), loop: looptest.New(t),
		apps: map[records.ApplicationID]scheduler.AppHandle{}, nodes: map[records.NodeID]scheduler.NodeHandle{}, live: queue.NewLive(tree),
	}
	w.Reports = New(w.loop, w.loop.State, Config{
		Scheduler: w.Driver, Cluster: w, Sizes: sizes{}, Queues: w.live.Tree, Live: w.live, MaxAllocation: gb(16),
		Opportunistic: opportunistic.New(w.loop, w.loop.State, opportunistic.Config{}),
	})
	return w
}

func gb(n int64) records.Resource { return records.NewResource(1024*n, 1) }

// node is the size of nodes.
var node = records.NewResource(5*1024, 8)

func appID(i int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: i} }

func nodeID(host string) records.NodeID { return records.NodeID{Host: host, Port: 1} }

// node adds a node, usable unless it is lost.
func (w *world) node(host string, size records.Resource, state pb.NodeState) {
	id := nodeID(host)
	w.loop.State.Nodes[id] = &ledger.Node{ID: id, State: state}
	w.nodes[id] = w.AddNode(scheduler.NodeSpec{Host: host, Rack: "/r", Capability: size})
}

// app adds an application that asks for so many containers of a size.
func (w *world) app(i int32, count int32, size records.Resource) {
	h := w.AddApp(drive.AppSpec{AppSpec: scheduler.AppSpec{Seq: int64(i), Queue: "root.default", User: "alice"}, ID: appID(i)})
	w.apps[appID(i)] = h
	w.UpdateAsks(h, []scheduler.Ask{{Name: scheduler.Any, Count: count, Capability: size, RelaxLocality: true, AllocationRequestID: -1}})
}

// App implements Cluster, as do the following. The progress of application i is i hundredths.
func (w *world) App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool) {
	h, ok = w.apps[id]
	return h, float32(id.ID) / 100, ok
}

func (w *world) Apps() iter.Seq[scheduler.AppHandle] { return maps.Values(w.apps) }

func (w *world) AppOf(h scheduler.AppHandle) (records.ApplicationID, bool) { return find(w.apps, h) }

func (w *world) Node(id records.NodeID) (h scheduler.NodeHandle, ok bool) {
	h, ok = w.nodes[id]
	return h, ok
}

func (w *world) Nodes() iter.Seq[records.NodeID] { return maps.Keys(w.nodes) }

func (w *world) NodeOf(h scheduler.NodeHandle) (records.NodeID, bool) { return find(w.nodes, h) }

func find[K, V comparable](m map[K]V, v V) (key K, ok bool) {
	for k, have := range m {
		if have == v {
			return k, true
		}
	}
	return key, false
}

// sizes take all sizes up to a maximum, and round nothing.
type sizes struct{}

func (sizes) Maximum() records.Resource { return gb(5) }

func (sizes) Normalize(r, maximum records.Resource) (records.Resource, error) {
	if !r.FitsIn(maximum) {
		return r, refusal.New(refusal.InvalidResource, "too large")
	}
	return r, nil
}

// over is the loop of a leadership that is over.
type over struct{ *looptest.Loop }

var errOver = errors.New("it leads no more")

func (over) Do(func() error) error                                      { return errOver }
func (over) InSlices(int, func(int, int, func() bool) (next int)) error { return errOver }

// A leader that leads no more says so, and shows nothing as if it were so.
func TestAfterTheLeadershipThereIsNothingToReport(t *testing.T) {
	w := newWorld(t, queue.Fair)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	w.app(1, 9, gb(3))
	w.Step(1)
	shares := maps.Clone(w.FairShares())
	if len(shares) == 0 {
		t.Fatal("there are no shares")
	}
	w.Reports.loop = over{w.loop}
	if got := w.Reports.Apps([]records.ApplicationID{appID(1)}); got != nil {
		t.Errorf("applications: %v", got)
	}
	if _, err := w.Reports.Explain(appID(1)); !errors.Is(err, errOver) {
		t.Errorf("reasons: %v", err)
	}
	if _, err := w.Reports.WhatIf("default", "bob", gb(1), false); !errors.Is(err, errOver) {
		t.Errorf("what if: %v", err)
	}
	if _, _, ok, err := w.Reports.Activities(nodeID("n1")); ok || !errors.Is(err, errOver) {
		t.Errorf("activities of a node: %v", err)
	}
	if _, _, err := w.AppActivities(appID(1), 0); !errors.Is(err, errOver) {
		t.Errorf("activities of an application: %v", err)
	}
	if _, err := w.Reports.Queues(); !errors.Is(err, errOver) {
		t.Errorf("queues: %v", err)
	}
	if sum := w.Totals(); sum != (Totals{}) {
		t.Errorf("sums: %+v", sum)
	}
	w.shares.at = time.Time{}
	if got := w.FairShares(); !maps.Equal(got, shares) {
		t.Errorf("shares of before: %v, not %v", got, shares)
	}
}

func TestQueuesAreReportedParentsFirst(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	got, err := w.Reports.Queues()
	if err != nil || len(got) != 2 || got[0].Path != "root" || got[1].Path != "root.default" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLiveApplicationsAreReported(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	w.app(1, 3, gb(1))
	w.app(2, 5, gb(2))
	w.UpdateBlacklist(w.apps[appID(2)], []string{"n9"}, nil)
	got := w.Reports.Apps([]records.ApplicationID{appID(1), appID(7), appID(2), appID(1)})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	two := got[appID(2)]
	if two.Waiting != 5 || two.Pending != gb(2).Times(5) || two.Progress != 0.02 || !slices.Equal(two.Black, []string{"n9"}) || len(two.Asks) != 1 || two.Asks[0].Count != 5 {
		t.Errorf("%+v", two)
	}
	if one := got[appID(1)]; one.Waiting != 3 || len(one.Black) != 0 {
		t.Errorf("%+v", one)
	}
	sum := w.Totals()
	if want := (Totals{Pending: gb(1).Times(3).Add(gb(2).Times(5)), Waiting: 8, Headroom: node, Nodes: 1, Maximum: gb(5)}); sum != want {
		t.Errorf("%+v, not %+v", sum, want)
	}
}

// What is reserved is shown as it was when it last changed, by application, with how many requests it is for.
func TestReservationsAreShownWithoutTheLoop(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	w.node("n2", node, pb.NodeState_NS_RUNNING)
	w.node("n3", node, pb.NodeState_NS_RUNNING)
	w.app(1, 5, gb(3)) // three run, two wait for room
	w.Step(1)
	if got := w.Reserved(); got != nil {
		t.Errorf("before anything is shown: %v", got)
	}
	forgotten := w.apps[appID(1)]
	delete(w.apps, appID(1)) // as if it had just ended
	if w.ShowReserved(); len(w.Reserved()) != 0 {
		t.Errorf("for nobody: %v", w.Reserved())
	}
	w.apps[appID(1)] = forgotten
	w.ShowReserved()
	want := Reserved{Resource: gb(3).Times(2), Containers: 2, Requests: 1}
	if got := w.Reserved(); len(got) != 1 || got[appID(1)] != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	w.ClearAsks(w.apps[appID(1)])
	if got := w.Reserved(); got[appID(1)] != want {
		t.Errorf("before it is shown anew: %+v", got)
	}
	w.ShowReserved()
	if got := w.Reserved(); len(got) != 0 {
		t.Errorf("after that: %+v", got)
	}
}

func TestReasonsNameApplicationsAndNodes(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	w.node("n2", node, pb.NodeState_NS_RUNNING)
	w.app(1, 3, gb(3)) // two run, one has a reservation
	w.Step(1)
	w.app(2, 1, gb(2)) // more than the queue can have beside them
	w.Step(2)
	got, err := w.Reports.Explain(appID(1), appID(7), appID(2))
	if err != nil || len(got) != 2 || len(got[appID(1)]) != 1 || len(got[appID(2)]) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if one := got[appID(1)][0]; one.Limit != explain.HasReservation || one.At.Host == "" {
		t.Errorf("%+v", one)
	}
	if two := got[appID(2)][0]; two.Limit != explain.QueueMaximum || two.At != (records.NodeID{}) || strings.Contains(two.Text, "application_") {
		t.Errorf("%+v", two)
	}
	hold, err := w.Reports.WhatIf("default", "bob", gb(1), false)
	if err != nil || hold.Limit != explain.BehindOthers || !strings.Contains(hold.Text, "it is behind application "+appID(2).String()) {
		t.Errorf("%+v, %v", hold, err)
	}
}

func TestWhatWouldHoldARequest(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	if h, err := w.Reports.WhatIf("default", "bob", gb(2), false); err != nil || h.Limit != explain.NoLimit {
		t.Errorf("a small one: %+v, %v", h, err)
	}
	if h, err := w.Reports.WhatIf("root.default", "bob", gb(6), false); err != nil || h.Limit == explain.NoLimit {
		t.Errorf("one larger than all nodes: %+v, %v", h, err)
	}
	if _, err := w.Reports.WhatIf("default", "bob", gb(17), false); !refusal.Is(err, refusal.InvalidResource) {
		t.Errorf("above the maximum: %v", err)
	}
	for _, name := range []string{"root", "nowhere"} {
		if _, err := w.Reports.WhatIf(name, "bob", gb(1), false); !refusal.Is(err, refusal.Refused) || !strings.Contains(err.Error(), name) {
			t.Errorf("in queue %s: %v", name, err)
		}
	}
}

func TestActivitiesOfNodes(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	if _, _, ok, err := w.Reports.Activities(records.NodeID{}); ok || err != nil {
		t.Errorf("without nodes: %v, %v", ok, err)
	}
	w.node("n2", node, pb.NodeState_NS_RUNNING)
	w.node("n1", node, pb.NodeState_NS_RUNNING)
	w.node("n0", node, pb.NodeState_NS_LOST)
	w.app(1, 9, gb(3))
	w.Step(1)
	for asked, want := range map[records.NodeID]records.NodeID{{}: nodeID("n0"), nodeID("n2"): nodeID("n2")} {
		at, a, ok, err := w.Reports.Activities(asked)
		if !ok || err != nil || at != want || a.Name != "root" {
			t.Errorf("on %v: %v, %+v, %v, %v", asked, at, a, ok, err)
		}
	}
	if _, _, ok, err := w.Reports.Activities(nodeID("n7")); ok || err != nil {
		t.Errorf("on a node that isn't there: %v, %v", ok, err)
	}

	holds, on, err := w.AppActivities(appID(1), 0)
	if err != nil || len(holds) != 1 || len(on) != 1 || len(on[0]) != 2 || on[0][0].Node != nodeID("n1") || on[0][1].Node != nodeID("n2") {
		t.Errorf("of an application on all nodes: %+v, %+v, %v", holds, on, err)
	}
	if _, on, _ := w.AppActivities(appID(1), 1); len(on) != 1 || len(on[0]) != 1 || on[0][0].Node != nodeID("n1") {
		t.Errorf("of an application on one node: %+v", on)
	}
	if holds, on, err := w.AppActivities(appID(7), 0); holds != nil || on != nil || err != nil {
		t.Errorf("of an unknown application: %+v, %+v, %v", holds, on, err)
	}
}

// Fair shares are computed once for all who ask within half a second. Other trees have none.
func TestFairSharesMayBeALittleOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := newWorld(t, queue.Capacity).FairShares(); got != nil {
			t.Errorf("of capacity queues: %v", got)
		}
		w := newWorld(t, queue.Fair)
		w.node("n1", node, pb.NodeState_NS_RUNNING)
		w.app(1, 9, gb(3))
		w.Step(1)
		share := func() int64 { return w.FairShares()["root.default"].MemoryMB() }
		if got := share(); got != node.MemoryMB() {
			t.Errorf("on one node: %v", got)
		}
		w.node("n2", node, pb.NodeState_NS_RUNNING)
		time.Sleep(fairSharesAge - time.Nanosecond)
		if got := share(); got != node.MemoryMB() {
			t.Errorf("before half a second is over: %v", got)
		}
		time.Sleep(time.Nanosecond)
		if got := share(); got != 2*node.MemoryMB() {
			t.Errorf("then: %v", got)
		}
	})
}

// A full cluster holds nobody up whose queue is below its share, where preemption suspends.
func TestWhatPreemptionWouldSuspendFor(t *testing.T) {
	const here = "preemption suspends containers of queues above theirs"
	for _, suspends := range []bool{true, false} {
		tree, err := queue.ParseCapacity(map[string]string{
			"root.queues": "default,short", "root.default.capacity": "50", "root.short.capacity": "50", "root.default.user-limit-factor": "9",
			"root.default.heddle-preemption": "suspend", "maximum-am-resource-percent": "1",
		})
		if err != nil {
			t.Fatal(err)
		}
		tree.Settings.Preemption.Enabled = suspends
		w := worldOf(t, tree)
		w.node("n1", node, pb.NodeState_NS_RUNNING)
		w.app(1, 9, gb(1))
		w.Step(1000)
		for size, want := range map[int64]bool{1: suspends, 2: suspends, 3: false} {
			h, err := w.Reports.WhatIf("short", "bob", gb(size), false)
			if err != nil || h.Limit != explain.ClusterFull || strings.Contains(h.Free, here) != want {
				t.Errorf("%d GB while preemption suspends: %v: %+v, %v", size, suspends, h, err)
			}
		}
	}
}

// What comes of a look at a node has the names of applications all the way down, and says from whom a container is taken.
func TestActivitiesNameApplications(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	w.app(1, 1, gb(1))
	w.app(2, 1, gb(1))
	one, two := w.apps[appID(1)], w.apps[appID(2)]
	const nobody = 1000
	got := w.activity(explain.Activity{Queue: "root", App: nobody, From: nobody, Diagnostic: "why", OnNode: true, Children: []explain.Activity{
		{Queue: "root.default", App: one, From: two, Diagnostic: "why", Children: []explain.Activity{{App: two, From: nobody}}},
	}}, nodeID("n1"))
	if got.Name != "root" || got.Diagnostic != "why" || got.Node != nodeID("n1") || len(got.Children) != 1 {
		t.Fatalf("%+v", got)
	}
	child := got.Children[0]
	if child.Name != appID(1).String() || child.Diagnostic != "why from "+appID(2).String() || child.Node != (records.NodeID{}) || len(child.Children) != 1 {
		t.Fatalf("%+v", child)
	}
	if child.Children[0].Name != appID(2).String() {
		t.Errorf("%+v", child.Children[0])
	}
}

// nodesAsked notes on which nodes somebody looks.
type nodesAsked struct {
	Scheduler
	nodes []scheduler.NodeHandle
}

func (n *nodesAsked) OnNodes(_ scheduler.AppHandle, nodes []scheduler.NodeHandle) [][]explain.Activity {
	n.nodes = nodes
	return nil
}

// The first nodes are those with the least ids. There may be fewer than somebody asks for.
func TestTheFirstNodesAreLookedAt(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	for _, host := range []string{"n3", "n1", "n2"} {
		w.node(host, node, pb.NodeState_NS_RUNNING)
	}
	w.app(1, 1, gb(9))
	asked := &nodesAsked{Scheduler: w.Driver}
	w.cfg.Scheduler = asked
	for most, hosts := range map[int][]string{0: {"n1", "n2", "n3"}, 2: {"n1", "n2"}, 3: {"n1", "n2", "n3"}, 9: {"n1", "n2", "n3"}} {
		if _, _, err := w.AppActivities(appID(1), most); err != nil {
			t.Fatal(err)
		}
		var want []scheduler.NodeHandle
		for _, host := range hosts {
			want = append(want, w.nodes[nodeID(host)])
		}
		if !slices.Equal(asked.nodes, want) {
			t.Errorf("at most %d: %v, not %v", most, asked.nodes, want)
		}
	}
}

// In Fair queues it is the fair share that preemption suspends for.
func TestWhatPreemptionSuspendsForInFairQueues(t *testing.T) {
	w := newWorld(t, queue.Fair)
	w.cfg.Scheduler = fairQueue{w.Driver}
	for size, want := range map[int64]bool{2: true, 3: false} {
		if got := w.suspendsFor("root.short", gb(size)); got != want {
			t.Errorf("for %d GB more of a share of 3 GB, of which one is used: %t", size, got)
		}
	}
	if w.suspendsFor("root.nowhere", records.Resource{}) {
		t.Error("preemption suspends for a queue that isn't there")
	}
}

// fairQueue has one queue, root.short, with a fair share, and suspends.
type fairQueue struct{ Scheduler }

func (fairQueue) Suspends() bool { return true }

func (fairQueue) Queue(path string) (scheduler.QueueView, bool) {
	return scheduler.QueueView{Path: path, Fair: records.NewResource(3*1024, 9), Used: gb(1)}, path == "root.short"
}

// pairs is a loop that has others' operations run after each two things.
type pairs struct {
	*looptest.Loop
	slices []int // where each slice began
}

func (p *pairs) InSlices(n int, f func(from, to int, more func() bool) (next int)) error {
	for at := 0; at < n; {
		p.slices = append(p.slices, at)
		done := 0
		at = f(at, n, func() bool { done++; return done < 2 })
	}
	return nil
}

// Reports of many applications let other operations run in between, and leave none out.
func TestReportsOfManyApplicationsPause(t *testing.T) {
	w := newWorld(t, queue.Capacity)
	loop := &pairs{Loop: w.loop}
	w.Reports.loop = loop
	var ids []records.ApplicationID
	for i := range int32(5) {
		w.app(i, 1, gb(1))
		ids = append(ids, appID(i))
	}
	w.Step(1)
	if got := w.Reports.Apps(ids); len(got) != len(ids) || !slices.Equal(loop.slices, []int{0, 2, 4}) {
		t.Errorf("%d of %d applications, with pauses before %v", len(got), len(ids), loop.slices)
	}
	loop.slices = nil
	if got, err := w.Reports.Explain(ids...); len(got) != len(ids) || err != nil || !slices.Equal(loop.slices, []int{0, 2, 4}) {
		t.Errorf("%d of %d explained, with pauses before %v, %v", len(got), len(ids), loop.slices, err)
	}
}
