package scheduler

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/scheduler/schedulertest"
)

// stuckOn is two full nodes of 10 GB. Container 0 lacks 3 of 4 GB on n0, beside container 1 of its queue, which has 6 GB, and container 2 of
// root.b, which has 3 GB. Container 3 of root.b has n1.
func stuckOn(t *testing.T) (*Scheduler, []ContainerHandle) {
	t.Helper()
	gb := schedulertest.GB
	s := New(Config{Tree: schedulertest.Halves(t, map[string]string{"root.a.maximum-capacity": "50"}), Minimum: gb(1), Heartbeat: time.Second})
	for _, host := range []string{"n0", "n1"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r", Capability: gb(10)})
	}
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 1, AM: gb(1)})
	b := s.AddApp(AppSpec{Queue: "root.b", User: "v", Seq: 2, AM: gb(1)})
	first := s.Regrant(a, 0, gb(4))
	s.Of(first).SetHeld(first, gb(1))
	held := []ContainerHandle{first, s.Regrant(a, 0, gb(6)), s.Regrant(b, 0, gb(3)), s.Regrant(b, 1, gb(10))}
	s.Schedule(0)
	return s, held
}

// A container is stuck if all others on its node stand still, as nobody will make room for it then. It counts once, whoever names it.
func TestWhoIsStuckOnANode(t *testing.T) {
	for name, x := range map[string]struct {
		stands bool  // what holds less than it claims stands still
		more   []int // who else does
		stuck  bool
	}{
		"all others run":                     {stands: true},
		"one of the others runs":             {stands: true, more: []int{1}},
		"another one of the others runs":     {stands: true, more: []int{2, 3}},
		"one of them runs, named twice":      {stands: true, more: []int{0, 1}},
		"the others stand still":             {stands: true, more: []int{1, 2}, stuck: true},
		"the others stand still, it doesn't": {more: []int{1, 2}, stuck: true},
		"one of the others, it doesn't":      {more: []int{1}},
	} {
		s, held := stuckOn(t)
		more := map[ContainerHandle]bool{}
		for _, i := range x.more {
			more[held[i]] = true
		}
		standing := s.Standing(func(h ContainerHandle) bool { return x.stands && slices.Contains(held[:1], h) }, more)
		if got := s.Stuck(held[0], standing); got != x.stuck {
			t.Errorf("%s: stuck: %t", name, got)
		}
	}
}

// What its node has room for may be what its queue may not have: then those below that queue count, wherever they are.
func TestWhoIsStuckBelowAMaximum(t *testing.T) {
	gb := schedulertest.GB
	s, held := stuckOn(t)
	s.Free(held[3])
	s.Free(held[1])
	other := s.Regrant(s.AddApp(AppSpec{Queue: "root.a", User: "u", Seq: 3, AM: gb(1)}), 1, gb(8))
	nobody := func(ContainerHandle) bool { return false }
	if s.Of(held[0]).CanHold(held[0], gb(4)) {
		t.Fatal("the queue may have 12 of 10 GB")
	}
	if s.Stuck(held[0], s.Standing(nobody, nil)) {
		t.Error("it is stuck, though a container of its queue runs")
	}
	if !s.Stuck(held[0], s.Standing(nobody, map[ContainerHandle]bool{other: true})) {
		t.Error("it isn't stuck, though all others of its queue stand still")
	}
	if s.Free(other); s.Stuck(held[0], s.Standing(nobody, nil)) {
		t.Error("it is stuck, and can have what it lacks")
	}
}
