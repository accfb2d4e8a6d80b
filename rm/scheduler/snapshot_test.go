package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/preempt"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

// known are the names of applications, and of those containers that preemption may hear of: later handles have lower ids.
type known map[handle.Container]int64

func (known) App(h handle.App) records.ApplicationID { return records.ApplicationID{ID: int32(h) + 1} }

func (k known) Container(h handle.Container, c *preempt.Container) bool {
	id, ok := k[h]
	c.ID.ID = id
	return ok
}

// halfShared is two nodes of 10 GB. An application in root.a shares 3 of 4 GB, has 2 GB killable and 3 GB of which preemption doesn't hear, and asks
// for what no node has. One in root.b has 10 GB, and a node is reserved for 4 GB more.
func halfShared(t *testing.T) (s *Scheduler, held []ContainerHandle) {
	t.Helper()
	gb := schedulertest.GB
	s = New(Config{
		Tree:    schedulertest.Halves(t, map[string]string{"root.a.maximum-am-resource-percent": "0.5", "root.b.maximum-capacity": "80"}),
		Minimum: gb(1), Heartbeat: time.Second,
	})
	for _, host := range []string{"n0", "n1"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r", Capability: gb(10)})
	}
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, Priority: 3, AM: gb(1)})
	b := s.AddApp(AppSpec{Queue: "root.b", User: "v", Seq: 2, AM: gb(1)})
	held = []ContainerHandle{s.Regrant(a, 0, gb(4)), s.Regrant(a, 0, gb(2)), s.Regrant(a, 1, gb(3)), s.Regrant(b, 0, gb(6)), s.Regrant(b, 1, gb(4))}
	s.Of(held[0]).SetHeld(held[0], gb(1))
	s.UpdateAsks(a, []Ask{schedulertest.Row(2, 50)})
	r := schedulertest.Row(1, 4)
	r.Priority = 7
	s.UpdateAsks(b, []Ask{r})
	s.Schedule(700)
	if len(s.core.Reserved) != 1 {
		t.Fatalf("%d reservations", len(s.core.Reserved))
	}
	s.MakeKillable(held[1])
	return s, held
}

// Preemption sees what each container claims and holds, by id; which are killable; and reservations. It doesn't see what has no name.
func TestSnapshotsOfContainers(t *testing.T) {
	gb := schedulertest.GB
	s, held := halfShared(t)
	snap := s.Snapshots(known{held[0]: 9, held[1]: 8, held[3]: 1, held[4]: 2})[0]
	if len(snap.Apps) != 2 {
		t.Fatalf("%d applications", len(snap.Apps))
	}
	want := []preempt.Container{
		{ID: records.ContainerID{ID: 8}, Handle: int32(held[1]), Resource: gb(2), Held: gb(2), Footprint: gb(2), Killable: true},
		{ID: records.ContainerID{ID: 9}, Handle: int32(held[0]), Resource: gb(4), Held: gb(1), Footprint: gb(1)},
	}
	if diff := cmp.Diff(want, snap.Apps[0].Containers); diff != "" {
		t.Errorf("of root.a (- wanted)\n%s", diff)
	}
	of := snap.Apps[1].Containers
	if len(of) != 3 || of[0].Handle != int32(held[3]) && of[1].Handle != int32(held[3]) && of[2].Handle != int32(held[3]) {
		t.Fatalf("of root.b: %+v", of)
	}
	reserved := 0
	for _, c := range of {
		if !c.Reserved {
			continue
		}
		reserved++
		on := s.core.Containers[s.core.Reserved[0]].Node
		if c.Node != int(on) || c.Resource != gb(4) || c.Priority != 7 || !c.Relax || c.Since != 700 || c.Handle != int32(s.core.Reserved[0]) || !c.Held.IsZero() {
			t.Errorf("reserved: %+v", c)
		}
	}
	if reserved != 1 {
		t.Errorf("%d reservations", reserved)
	}
}

// Of queues it sees what they have, what of that is killable or reserved, and what applications wait for within the limits of their users.
func TestSnapshotsOfQueues(t *testing.T) {
	s, held := halfShared(t)
	type sums struct{ Used, Guaranteed, Maximum, Killable, Reserved, MaxAM, Pending, Asked int64 } // in GB
	got := map[string]sums{}
	snap := s.Snapshots(known{held[1]: 8})[0]
	for _, q := range snap.Queues {
		of := func(r records.Resource) int64 { return r[records.Memory] >> 10 }
		got[q.Path] = sums{of(q.Used), of(q.Guaranteed), of(q.Maximum), of(q.Killable), of(q.Reserved), of(q.MaxAM), of(q.Pending), of(q.Asked)}
	}
	want := map[string]sums{
		"root":   {20, 20, 20, 2, 4, 20, 0, 0},
		"root.a": {6, 10, 20, 2, 0, 5, 1, 1}, // its user has 9 of the 10 GB that it may have
		"root.b": {14, 10, 16, 0, 4, 10, 0, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- wanted)\n%s", diff)
	}
	if snap.Queues[0].Parent != -1 || snap.Queues[1].Parent != 0 || snap.Queues[2].Parent != 0 || !snap.Cluster.FitsIn(schedulertest.GB(20)) || snap.Dominant {
		t.Errorf("of a cluster of %v: %+v", snap.Cluster, snap.Queues)
	}
}

// Of applications it sees what they have and ask for, and who may not go everywhere; of nodes, what is left, unless they are closed.
func TestSnapshotsOfApplicationsAndNodes(t *testing.T) {
	gb := schedulertest.GB
	s, _ := halfShared(t)
	strict := s.AddApp(AppSpec{Queue: "root.b", User: "w", Seq: 3, AM: gb(1)})
	idle := s.AddApp(AppSpec{Queue: "root.b", User: "w", Seq: 4, AM: gb(1)})
	s.Schedule(800)
	s.UpdateAsks(strict, []Ask{schedulertest.Only(schedulertest.Row(3, 9)), func() Ask { r := schedulertest.At(schedulertest.Row(5, 9), "n1"); return r }()})
	s.UpdateAsks(idle, []Ask{schedulertest.At(schedulertest.Row(2, 9), "n1")}) // no container yet
	s.At(1).SetOpen(1, 0)
	snap := s.Snapshots(known{})[0]
	asks := map[int64][]preempt.Ask{}
	for _, a := range snap.Apps {
		asks[a.Seq] = a.Asks
	}
	want := map[int64][]preempt.Ask{
		1: {{Name: core.Any, Relax: true, Capability: gb(50), Count: 2}},
		2: {{Name: core.Any, Relax: true, Capability: gb(4), Count: 1, Priority: 7}},
		3: {{Name: "n1", Capability: gb(9), Count: 3}}, // no more than it asks for in all
		4: nil,
	}
	if diff := cmp.Diff(want, asks); diff != "" {
		t.Errorf("(- wanted)\n%s", diff)
	}
	first := snap.Apps[0]
	if first.User != "u" || first.Priority != 3 || first.Used != gb(9) || snap.Queues[first.Queue].Path != "root.a" || first.ID.ID != 1 {
		t.Errorf("%+v", first)
	}
	nodes := []preempt.Node{{Host: "n0", Rack: "/r", Free: gb(1)}, {Host: "n1", Rack: "/r", Closed: true, Handle: 1}}
	if diff := cmp.Diff(nodes, snap.Nodes); diff != "" {
		t.Errorf("(- wanted)\n%s", diff)
	}
	s.RemoveApp(idle)
	if n := len(s.Snapshots(known{})[0].Apps); n != 3 {
		t.Errorf("%d applications after one has gone", n)
	}
}

// Nothing is taken from Fair queues that say so, nor from those below them.
func TestSnapshotsOfFairQueuesThatGiveNothing(t *testing.T) {
	tree, err := queue.ParseFair([]byte(`<allocations><queue name="a"><allowPreemptionFrom>false</allowPreemptionFrom><queue name="x"/></queue><queue name="b"/></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Tree: tree})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(4, 4)})
	got := map[string]bool{}
	for _, q := range s.Snapshots(known{})[0].Queues {
		got[q.Path] = q.Disabled
	}
	if diff := cmp.Diff(map[string]bool{"root": false, "root.a": true, "root.a.x": true, "root.b": false}, got); diff != "" {
		t.Errorf("(- wanted)\n%s", diff)
	}
}

// No room is made for requests that the policy of their leaf holds back: reduces whose job has maps left.
func TestSnapshotsLeaveOutWhatPoliciesHoldBack(t *testing.T) {
	gb := schedulertest.GB
	s := New(Config{Tree: schedulertest.Halves(t, map[string]string{"root.a.heddle-stage-policy": "fresh"}), Minimum: gb(1), Heartbeat: time.Second})
	s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: gb(40)})
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, Type: "MAPREDUCE", AM: gb(1)})
	s.Regrant(s.AddApp(AppSpec{Queue: "root.b", User: "v", Seq: 2, AM: gb(1)}), 0, gb(38))
	maps, reduces := schedulertest.Row(4, 1), schedulertest.Row(3, 2)
	maps.Priority, reduces.Priority = 20, 10
	s.UpdateAsks(a, []Ask{maps, reduces})
	s.Schedule(0)
	s.Schedule(5000)
	snap := s.Snapshots(known{})[0]
	if diff := cmp.Diff([]preempt.Ask{{Name: core.Any, Relax: true, Capability: gb(1), Count: 2, Priority: 20}}, snap.Apps[0].Asks); diff != "" {
		t.Errorf("(- wanted)\n%s", diff)
	}
	leaf := snap.Queues[1]
	if leaf.Path != "root.a" || leaf.Pending != gb(2) || leaf.Asked != gb(2) {
		t.Errorf("%s waits for %v, in all for %v", leaf.Path, leaf.Pending, leaf.Asked)
	}
	if !leaf.IntraOff { // only its policy knows who comes first there
		t.Error("containers are taken from some applications of a leaf with a policy for others of it")
	}
}

// Preemption sees how queues want to be taken from, also on nodes that can't suspend.
func TestSnapshotsOfMeans(t *testing.T) {
	s := New(Config{Tree: schedulertest.Halves(t, map[string]string{
		"root.a.heddle-preemption": "suspend-immediate", "root.b.heddle-preemption-unable": "kill", "root.b.heddle-preemption": "none",
	})})
	s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(4, 4)})
	got := map[string][2]suspension.Means{}
	for _, q := range s.Snapshots(known{})[0].Queues {
		got[q.Path] = [2]suspension.Means{q.Means, q.Unable}
	}
	want := map[string][2]suspension.Means{"root": got["root"], "root.a": {suspension.Immediate, got["root"][1]}, "root.b": {suspension.Spare, suspension.Kill}}
	if diff := cmp.Diff(want, got); diff != "" || got["root"][1] == suspension.Kill {
		t.Errorf("(- wanted)\n%s", diff)
	}
}

// An application that waits to become active asks for nothing that is taken from others.
func TestSnapshotsLeaveOutWhoWaits(t *testing.T) {
	s, first, _ := reserving(t)
	snap := s.Snapshots(known{})[0]
	if len(snap.Apps) != 2 || snap.Apps[1].ID != (known{}).App(first) {
		t.Errorf("%d applications: %+v", len(snap.Apps), snap.Apps)
	}
}

// What was killable is not any more when it is spared; a tree of another scheduler is refused.
func TestContainersAreSpared(t *testing.T) {
	s, held := halfShared(t)
	s.SpareKillable()
	for _, q := range s.Snapshots(known{held[1]: 8})[0].Queues {
		if !q.Killable.IsZero() {
			t.Errorf("of %s %v are killable", q.Path, q.Killable)
		}
	}
	if !s.MakeKillable(held[1]) {
		t.Error("a container that was spared can't be killable again")
	}
	if err := s.SetTree(queue.Default(queue.FIFO)); err == nil {
		t.Error("a tree of another scheduler is accepted")
	}
}
