package report

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/conf"
	"heddle/rm/leader/loop/looptest"
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
	if two := got[appID(2)][0]; two.Limit != explain.QueueMaximum {
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
