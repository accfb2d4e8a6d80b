package scheduler

import (
	"testing"
	"time"

	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

// exchange is a scheduler with a node of 4 GB, which is full: an application has two containers of 2 GB, and asks for one of 1 GB.
func exchange(t *testing.T) (s *Scheduler, h AppHandle, held []ContainerHandle) {
	t.Helper()
	gb := schedulertest.GB
	s = New(Config{
		Tree: schedulertest.Halves(t, map[string]string{"root.a.heddle-preemption": "suspend-immediate"}), Minimum: gb(1), Heartbeat: time.Second,
	})
	s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: gb(4)})
	s.AddApp(AppSpec{Queue: "root.b", User: "v", Seq: 0, AM: gb(1)}) // it asks for nothing
	h = s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, AM: gb(1)})
	s.UpdateAsks(h, []Ask{schedulertest.Row(2, 2)})
	for _, d := range s.Schedule(0) {
		if d.Kind == Allocate {
			held = append(held, d.Container)
		}
	}
	more := schedulertest.Row(1, 1)
	more.Priority, more.AllocationRequestID = 5, 6
	s.UpdateAsks(h, []Ask{more})
	if len(held) != 2 {
		t.Fatalf("%d containers", len(held))
	}
	return s, h, held
}

// What a container gives up goes to the request that it was given up for, and to nobody else. Where there is no such request, the container
// holds what it held.
func TestRoomIsExchangedForARequest(t *testing.T) {
	gb := schedulertest.GB
	s, h, held := exchange(t)
	large := schedulertest.Row(1, 2)
	large.Priority, large.AllocationRequestID = 5, 8
	s.UpdateAsks(h, []Ask{large}) // more than the container gives up
	for _, x := range []struct {
		to                records.Resource
		priority, request int64
	}{{gb(1), 5, 7}, {gb(1), 4, 6}, {gb(1), 5, 8}, {gb(3), 5, 6}, {records.NewResource(-1, 1), 5, 6}} {
		if s.Exchange(held[0], x.to, int32(x.priority), x.request) {
			t.Errorf("%+v is exchanged", x)
		}
		if got := s.Held(held[0]); got != gb(2) {
			t.Errorf("after %+v it holds %v", x, got)
		}
	}
	if !s.Exchange(held[0], gb(1), 5, 6) || s.Held(held[0]) != gb(1) {
		t.Fatalf("nothing is exchanged; it holds %v", s.Held(held[0]))
	}
	if got := s.Withheld("root.a"); got != gb(1) {
		t.Errorf("%v are withheld", got)
	}
	if got := s.Withheld("root.none"); !got.IsZero() {
		t.Errorf("%v are withheld in a queue that there isn't", got)
	}
	got := s.Schedule(1)
	if len(got) != 1 || got[0].Kind != Allocate || got[0].App != h || got[0].Priority != 5 {
		t.Errorf("%+v", got)
	}
}

// Nothing is exchanged for a container that would hold more then, though it could.
func TestNothingIsExchangedForMore(t *testing.T) {
	gb := schedulertest.GB
	s, _, held := exchange(t)
	if s.Of(held[0]).SetHeld(held[0], gb(0)); s.Exchange(held[0], gb(1), 5, 6) || s.Held(held[0]) != gb(0) {
		t.Errorf("it holds %v", s.Held(held[0]))
	}
}

// A container takes what its node says, and nobody else's containers can be noted so.
func TestWhatNodesSayIsNoted(t *testing.T) {
	gb := schedulertest.GB
	s, _, held := exchange(t)
	if !s.Of(held[0]).NoteHeld(held[0], gb(1)) || s.Held(held[0]) != gb(1) {
		t.Errorf("it holds %v", s.Held(held[0]))
	}
	if s.Of(held[0]).NoteHeld(held[0], gb(3)) || s.Held(held[0]) != gb(1) {
		t.Errorf("it holds %v, and claims %v", s.Held(held[0]), s.Claim(held[0]))
	}
}

// Room that containers of a leaf give up goes to the applications of that leaf, in their order, though another queue comes first.
func TestRoomIsOfferedToALeaf(t *testing.T) {
	gb := schedulertest.GB
	s, h, held := exchange(t)
	later := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 9, AM: gb(1)})
	other := s.AddApp(AppSpec{Queue: "root.b", User: "w", Seq: 10, AM: gb(1)}) // whose queue has nothing yet
	for _, a := range []AppHandle{later, other} {
		s.UpdateAsks(a, []Ask{schedulertest.Row(1, 1)})
	}
	s.Schedule(1)
	s.Of(held[0]).SetHeld(held[0], gb(0))
	s.Offer(later, 0, gb(2))
	var apps []AppHandle
	for _, d := range s.Schedule(2) {
		apps = append(apps, d.App)
	}
	if len(apps) != 2 || apps[0] != h || apps[1] != later {
		t.Errorf("the room went to %v, want %v and %v", apps, h, later)
	}
}

// Whether a container could hold an amount is known before it does.
func TestWhatContainersCanHold(t *testing.T) {
	gb := schedulertest.GB
	s, _, held := exchange(t)
	for to, can := range map[records.Resource]bool{gb(1): true, gb(0): true, gb(3): false} {
		if got := s.Of(held[0]).CanHold(held[0], to); got != can {
			t.Errorf("it can hold %v: %t", to, got)
		}
	}
	if s.Held(held[0]) != gb(2) || s.Claim(held[0]) != gb(2) {
		t.Errorf("asking has changed it to %v of %v", s.Held(held[0]), s.Claim(held[0]))
	}
}

// Preemption asks where a container is, and how its queue wants to be taken from.
func TestWhereContainersAre(t *testing.T) {
	s, h, held := exchange(t)
	other := s.AddNode(NodeSpec{Host: "n1", Rack: "/r", Capability: schedulertest.GB(4)})
	k := s.Regrant(h, other, schedulertest.GB(1))
	for c, want := range map[ContainerHandle]NodeHandle{held[0]: 0, k: other} {
		if got := s.NodeOf(c); got != want {
			t.Errorf("container %d is on node %d, not on %d", c, got, want)
		}
		if means, path := s.Means(c); path != "root.a" || means != suspension.Immediate {
			t.Errorf("container %d is of queue %q, from which preemption takes by %v", c, path, means)
		}
	}
	s.Of(k).SetHeld(k, schedulertest.GB(0))
	if !s.Of(k).Regain(k) || s.Held(k) != schedulertest.GB(1) {
		t.Errorf("it holds %v again", s.Held(k))
	}
}

// Each change of what queues are charged is counted, so that others see that something has changed.
func TestSchedulersCountChanges(t *testing.T) {
	s, _, held := exchange(t)
	before := s.Changes()
	if before == 0 {
		t.Error("two containers were granted, and nothing has changed")
	}
	if s.Free(held[0]); s.Changes() <= before {
		t.Errorf("%d changes, as before", s.Changes())
	}
}

// Preemption hears of queues' priorities where queues are served by them, and nowhere else.
func TestSnapshotsHavePrioritiesThatCount(t *testing.T) {
	for policy, want := range map[string]int32{"utilization": 0, "priority-utilization": 7} {
		s := New(Config{
			Tree:    schedulertest.Halves(t, map[string]string{"root.ordering-policy": policy, "root.a.priority": "7"}),
			Minimum: schedulertest.GB(1), Heartbeat: time.Second,
		})
		s.AddNode(NodeSpec{Host: "n0", Rack: "/r", Capability: schedulertest.GB(4)})
		found := false
		for _, q := range s.Snapshots(nil)[0].Queues {
			if q.Path == "root.a" {
				if found = true; q.Priority != want {
					t.Errorf("with %s, root.a has priority %d", policy, q.Priority)
				}
			}
		}
		if !found {
			t.Error("root.a is missing")
		}
	}
}
