package scheduler

import (
	"testing"
	"time"

	"heddle/rm/scheduler/schedulertest"
)

// views is two nodes of 10 GB, of which root.a has 6 GB: user u has 4 and waits for 2 containers of 20 GB, v has 2 and waits for nothing.
func views(t *testing.T) *Scheduler {
	t.Helper()
	gb := schedulertest.GB
	s := New(Config{Tree: schedulertest.Halves(t, map[string]string{"root.a.maximum-capacity": "80"}), Minimum: gb(1), Heartbeat: time.Second})
	for _, host := range []string{"n0", "n1"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r", Capability: gb(10)})
	}
	gone := s.AddApp(AppSpec{Queue: "root.a", User: "gone", Seq: 0, AM: gb(1)})
	v := s.AddApp(AppSpec{Queue: "root.a", User: "v", Seq: 1, AM: gb(1)})
	u := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 2, AM: gb(2)})
	s.Regrant(v, 0, gb(2))
	s.Regrant(u, 1, gb(4))
	s.UpdateAsks(gone, []Ask{schedulertest.Row(1, 20)})
	s.UpdateAsks(u, []Ask{schedulertest.Row(2, 20)})
	s.Schedule(0)
	s.RemoveApp(gone)
	return s
}

// A queue is told of with what its users have and wait for, by name, and with its share of what it is guaranteed.
func TestViewsOfQueues(t *testing.T) {
	gb := schedulertest.GB
	s := views(t)
	q, ok := s.Queue("root.a")
	if !ok || q.Queue == nil || q.Queue.Path != "root.a" || q.Path != "root.a" || q.Parent != "root" || !q.Leaf {
		t.Fatalf("%t: %+v", ok, q)
	}
	if q.Used != gb(6) || q.Pending != gb(40) || q.Containers != 2 || q.Guaranteed != gb(10) || q.Maximum != gb(16) || q.Available != gb(16) {
		t.Errorf("it has %v in %d containers, waits for %v, is guaranteed %v, and may have %v and %v", q.Used, q.Containers, q.Pending, q.Guaranteed, q.Maximum, q.Available)
	}
	if q.AbsoluteUsed != 0.3 || q.UsedShare != 0.6 || q.Apps != 2 || q.Runnable != 2 || q.Active != 2 || q.Waiting != 0 || q.AMUsed != gb(3) {
		t.Errorf("it has %v of the cluster, %v of its own, for %d, %d and %d applications with masters of %v", q.AbsoluteUsed, q.UsedShare, q.Apps, q.Runnable, q.Active, q.AMUsed)
	}
	if len(q.Users) != 2 {
		t.Fatalf("users: %+v", q.Users)
	}
	u, v := q.Users[0], q.Users[1]
	if u.Name != "u" || u.Used != gb(4) || u.Pending != gb(40) || u.AMUsed != gb(2) || u.Wanting != 1 || u.Active != 1 || u.Weight != 1 {
		t.Errorf("%+v", u)
	}
	if v.Name != "v" || v.Used != gb(2) || !v.Pending.IsZero() || v.Wanting != 0 || v.Active != 1 {
		t.Errorf("%+v", v)
	}
	if _, ok := s.Queue("root.c"); ok {
		t.Error("there is a queue root.c")
	}
	root, _ := s.Queue("root")
	if root.Leaf || root.Parent != "" || root.Used != gb(6) || len(root.Users) != 0 {
		t.Errorf("%+v", root)
	}
	if all := s.Queues(); len(all) != 3 || all[0].Path != "root" || all[1].Path != "root.a" || all[2].Path != "root.b" {
		t.Errorf("queues: %+v", all)
	}
}

// What a queue is guaranteed follows the cluster at once. In one without nodes nobody has a share of anything.
func TestViewsFollowTheCluster(t *testing.T) {
	gb := schedulertest.GB
	for name, view := range map[string]func(*Scheduler) QueueView{
		"one queue":  func(s *Scheduler) QueueView { q, _ := s.Queue("root.a"); return q },
		"all queues": func(s *Scheduler) QueueView { return s.Queues()[1] },
	} {
		s := New(Config{Tree: schedulertest.Halves(t, nil), Minimum: gb(1), Heartbeat: time.Second})
		if q := view(s); q.UsedShare != 0 || q.AbsoluteUsed != 0 {
			t.Errorf("%s: of nothing it has %v, and %v of that", name, q.AbsoluteUsed, q.UsedShare)
		}
		s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: gb(10)})
		if q := view(s); q.Guaranteed != gb(5) {
			t.Errorf("%s: it is guaranteed %v of 10 GB", name, q.Guaranteed)
		}
	}
}

// reserving is two nodes of 10 GB with 4 GB free each. A node is reserved for 5 GB for the first application of root.b; too many others keep
// the second one from running.
func reserving(t *testing.T) (s *Scheduler, first, second AppHandle) {
	t.Helper()
	gb := schedulertest.GB
	s = New(Config{Tree: schedulertest.Halves(t, map[string]string{"root.b.max-parallel-apps": "1"}), Minimum: gb(1), Heartbeat: time.Second})
	for _, host := range []string{"n0", "n1"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r", Capability: gb(10)})
	}
	s.Regrant(s.AddApp(AppSpec{Queue: "root.a", User: "v", Seq: 0, AM: gb(1)}), 1, gb(6))
	first = s.AddApp(AppSpec{Queue: "root.b", User: "u", Seq: 1, AM: gb(1)})
	second = s.AddApp(AppSpec{Queue: "root.b", User: "u", Seq: 2, AM: gb(1)})
	s.Regrant(first, 0, gb(6))
	r := schedulertest.Row(1, 5)
	r.Priority, r.AllocationRequestID = 3, 7
	s.UpdateAsks(first, []Ask{r})
	s.UpdateAsks(second, []Ask{schedulertest.Row(2, 1), schedulertest.At(schedulertest.Row(1, 1), "n0")})
	s.Schedule(0)
	return s, first, second
}

// Where an application stands: in which queue, and with what. What is reserved for it counts for its user.
func TestWhereApplicationsStand(t *testing.T) {
	gb := schedulertest.GB
	s, first, second := reserving(t)
	want := AppState{Queue: "root.b", Runnable: true, Active: true, Used: gb(11), Reserved: gb(5), Running: 1}
	if got := s.AppState(first); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.AppState(second); got != (AppState{Queue: "root.b"}) {
		t.Errorf("one that too many others keep from running: %+v", got)
	}
	q, _ := s.Queue("root.b")
	if q.Apps != 2 || q.Runnable != 1 || q.Reserved != gb(5) || len(q.Users) != 1 || q.Users[0].Reserved != gb(5) || q.Users[0].Waiting != 1 {
		t.Errorf("%d applications, %d run; reserved are %v, by users %+v", q.Apps, q.Runnable, q.Reserved, q.Users)
	}
	if got := s.Reservations(); len(got) != 1 || got[0] != (Reservation{App: first, Node: 0, Resource: gb(5), Priority: 3, AllocationRequestID: 7}) {
		t.Errorf("reserved: %+v", got)
	}
	if requests, places := s.Requests(second); requests != 1 || places != 1 {
		t.Errorf("the second has %d requests, for %d hosts", requests, places)
	}
}

// Limits follow the cluster also where an application asks what it could get.
func TestHeadroomFollowsTheCluster(t *testing.T) {
	gb := schedulertest.GB
	s, first, _ := reserving(t)
	s.AddNode(NodeSpec{Host: "n2", Rack: "/r", Capability: gb(100)})
	if got := s.HeadroomOf(first); got[0] != 60<<10-11<<10 { // its user may have what root.b is guaranteed
		t.Errorf("it could get %v", got)
	}
}
