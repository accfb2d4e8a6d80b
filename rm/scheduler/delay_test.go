package scheduler

import (
	"testing"
	"time"

	"heddle/rm/scheduler/explain"

	"github.com/google/go-cmp/cmp"
)

// Four nodes in two racks; n0 is preferred and full. The rack is open after node-locality-delay, all nodes after
// rack-locality-additional-delay more, in parts of a heartbeat.
func TestLocalityDelay(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a", "root.a.capacity": "100", "node-locality-delay": "2", "rack-locality-additional-delay": "1",
	}), Minimum: res(1, 1), Heartbeat: time.Second})
	for _, host := range []string{"n0", "n1", "n2", "n3"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r" + string('0'+host[1]%2), Capability: res(1, 1)})
	}
	a := s.AddApp(AppSpec{Queue: "root.a", User: "u", AM: res(1, 1)})
	s.UpdateAsks(a, []Ask{row(1, Any, 4, true), row(1, "/r0", 4, true), row(1, "n0", 4, true)})
	at := func(now int64, want ...placed) {
		t.Helper()
		var got []placed
		for _, d := range s.Schedule(now) {
			if d.Kind == Allocate {
				got = append(got, placed{d.App, d.Node, d.Locality})
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at %d: %s", now, diff)
		}
	}
	at(1000, placed{a, 0, NodeLocal})
	if s.NextWake() != 1500 {
		t.Fatalf("wakes at %d", s.NextWake())
	}
	if r := s.Explain(a); len(r) != 1 || r[0].Limit != explain.LocalityDelay || r[0].Until != 1500 {
		t.Errorf("says %+v", r)
	}
	at(1499)
	at(1500, placed{a, 2, RackLocal})
	// the delay begins anew, for the rack first
	at(2000)
	at(2249)
	at(2250, placed{a, 1, OffSwitch}, placed{a, 3, OffSwitch})
	if s.NextWake() != 0 {
		t.Errorf("wakes at %d for nothing", s.NextWake())
	}
}
