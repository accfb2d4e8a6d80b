package scheduler

import (
	"testing"

	"heddle/rm/queue"
)

// A capacity queue starves while it waits below its guarantee. What Fair queues are due only a round knows, so any that waits may starve.
func TestWhoStarves(t *testing.T) {
	for name, c := range map[string]struct {
		parse func() (*queue.Tree, error)
		above bool // whether one that has all that it is guaranteed, and waits, starves
	}{
		"capacity": {func() (*queue.Tree, error) {
			return queue.ParseCapacity(map[string]string{
				"maximum-am-resource-percent": "1", "root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
				"root.a.user-limit-factor": "9", "root.b.user-limit-factor": "9",
			})
		}, false},
		"fair": {func() (*queue.Tree, error) {
			return queue.ParseFair([]byte(`<allocations><queueMaxAMShareDefault>-1</queueMaxAMShareDefault><queue name="a"/><queue name="b"/></allocations>`))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := c.parse()
			if err != nil {
				t.Fatal(err)
			}
			s := New(Config{Tree: tree})
			s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(4, 4)})
			ask := func(queue string, seq int64, count int32) {
				a := s.AddApp(AppSpec{Queue: queue, User: "u", Seq: seq})
				s.UpdateAsks(a, []Ask{{Priority: 1, Name: Any, Capability: res(1, 1), Count: count, RelaxLocality: true}})
				s.Schedule(seq)
			}
			if ask("root.a", 1, 4); s.Starving() {
				t.Error("nobody waits, and somebody starves")
			}
			if ask("root.a", 2, 1); s.Starving() != c.above {
				t.Errorf("who waits above its guarantee starves: %v", s.Starving())
			}
			if ask("root.b", 3, 1); !s.Starving() {
				t.Error("who waits and has nothing doesn't starve")
			}

			// What is reserved isn't there yet.
			s = New(Config{Tree: tree, Minimum: res(1, 1)})
			s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(2, 2)})
			s.AddNode(NodeSpec{Host: "m", Rack: "/r", Capability: res(2, 2)})
			ask("root.a", 1, 2)
			b := s.AddApp(AppSpec{Queue: "root.b", User: "u", Seq: 2})
			s.UpdateAsks(b, []Ask{{Priority: 1, Name: Any, Capability: res(2, 2), Count: 1, RelaxLocality: true}})
			if s.Schedule(2); !s.Starving() {
				t.Error("who has only a reservation doesn't starve")
			}

			s = New(Config{Tree: tree})
			s.AddNode(NodeSpec{Host: "n", Rack: "/r", Capability: res(4, 4)})
			ask("root.a", 1, 2)
			ask("root.b", 2, 2)
			if ask("root.a", 3, 1); s.Starving() != c.above {
				t.Errorf("who waits and has its guarantee, no more and no less, starves: %v", s.Starving())
			}
		})
	}
}
