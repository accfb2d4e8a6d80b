package scheduler

import (
	"testing"

	"heddle/rm/scheduler/handle"
)

// A request that no node is large enough for waits by itself, where it is the oldest as well: a stock ResourceManager gives those behind it
// in the queue nothing (6 containers, and 4 that wait). It is served when a large node comes.
func TestARequestThatFitsNowhereBlocksNobody(t *testing.T) {
	s := New(Config{Tree: capacityTree(t, map[string]string{
		"root.queues": "a", "maximum-am-resource-percent": "1", "root.a.capacity": "100", "root.a.user-limit-factor": "10",
	}), Minimum: res(1, 1)})
	for _, host := range []string{"n0", "n1", "n2"} {
		s.AddNode(NodeSpec{Host: host, Rack: "/r", Capability: res(8, 8)})
	}
	app := func(user string, seq int64, asks ...Ask) handle.App {
		h := s.AddApp(AppSpec{Queue: "root.a", User: user, Seq: seq, AM: res(1, 1)})
		s.UpdateAsks(h, asks)
		return h
	}
	ask := func(priority, count int32, gb int64) Ask {
		return Ask{Priority: priority, Name: Any, Count: count, RelaxLocality: true, Capability: res(gb, 1)}
	}
	big, small, late := app("alice", 1, ask(1, 2, 12)), app("alice", 2, ask(1, 6, 1)), app("bob", 3, ask(1, 1, 12), ask(2, 3, 2))
	has := map[handle.App]int{}
	run := func() {
		for _, d := range s.Schedule(0) {
			if d.Kind == Allocate {
				has[d.App]++
			}
		}
	}
	run()
	if has[big] != 0 || has[small] != 6 || has[late] != 3 {
		t.Errorf("on small nodes: big has %d, small %d, late %d", has[big], has[small], has[late])
	}
	s.AddNode(NodeSpec{Host: "n3", Rack: "/r", Capability: res(16, 16)})
	run()
	if has[big] != 1 || has[small] != 6 || has[late] != 3 {
		t.Errorf("with a large node: big has %d, small %d, late %d", has[big], has[small], has[late])
	}
}
