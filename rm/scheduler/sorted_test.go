package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/rm/queue"
	"heddle/rm/queue/nodesort"
	"heddle/rm/scheduler/handle"
)

// sortedTree has two queues of which the first gets nodes in the order of what is allocated.
func sortedTree(t testing.TB, interval string) *queue.Tree {
	return capacityTree(t, map[string]string{
		"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50", "root.a.user-limit-factor": "10", "root.b.user-limit-factor": "10",
		nodesort.EnabledKey: "true", nodesort.NamesKey: "least", "root.a." + nodesort.PolicyKey: "least", nodesort.PolicyKey + ".least.sorting-interval.ms": interval,
		nodesort.PolicyKey + ".least.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy",
	})
}

// Containers of a queue with YARN's policy for several nodes go to the node of which the least was allocated when nodes were sorted last; others take turns.
func TestNodesWithTheLeastAllocatedComeFirst(t *testing.T) {
	s := New(Config{Tree: sortedTree(t, "1000"), Minimum: res(1, 1)})
	var nodes []handle.Node
	for i := range 3 {
		nodes = append(nodes, s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: "/r", Capability: res(8, 8)}))
	}
	a := s.AddApp(AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: res(0, 0)})
	s.Regrant(a, nodes[0], res(4, 4))
	s.Regrant(a, nodes[1], res(2, 2))
	on := func(now int64, app handle.App, count int32) (of []int32) {
		t.Helper()
		s.UpdateAsks(app, []Ask{{Priority: 1, Name: Any, Count: count, RelaxLocality: true, Capability: res(1, 1)}})
		for _, d := range s.Schedule(now) {
			if d.Kind == Allocate {
				of = append(of, int32(d.Node))
			}
		}
		return of
	}
	check := func(what string, got []int32, want ...int32) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: on %v, not %v", what, got, want)
		}
	}
	check("the empty one until nodes are sorted again", on(5000, a, 3), 2, 2, 2)
	check("still", on(5999, a, 1), 2)
	check("sorted anew", on(6000, a, 2), 1, 1) // 4, 2 and 4 are allocated
	more := s.AddNode(NodeSpec{Host: "n3", Rack: "/r", Capability: res(8, 8)})
	check("one that came", on(7000, a, 1), int32(more))
	check("it leaves what is full", on(7001, a, 9), 3, 3, 3, 3, 3, 3, 3, 0, 0)
	s.At(nodes[0]).SetOpen(nodes[0], OpenIf(false))
	check("a closed one gets nothing", on(7002, a, 2), 1, 1)
	b := s.AddApp(AppSpec{Seq: 2, Queue: "root.b", User: "u", AM: res(0, 0)})
	s.At(nodes[0]).SetOpen(nodes[0], OpenIf(true))
	if got := on(7003, b, 2); len(got) != 2 || got[0] == got[1] {
		t.Errorf("the other queue's containers take turns: %v", got)
	}
}

// With an interval of 0 each millisecond's first container goes to a node of which no other with room has less allocated, whatever came, went, opened and closed.
func TestSortedNodesProperty(t *testing.T) {
	tree := sortedTree(t, "0")
	rapid.Check(t, func(t *rapid.T) {
		s := New(Config{Tree: tree, Minimum: res(1, 1)})
		a := s.AddApp(AppSpec{Seq: 1, Queue: "root.a", User: "u", AM: res(0, 0)})
		used, open, held := map[handle.Node]int64{}, map[handle.Node]bool{}, map[handle.Container]handle.Node{}
		now := int64(1)
		pick := func(of []handle.Node) handle.Node { return of[rapid.IntRange(0, len(of)-1).Draw(t, "which")] }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now++
			nodes := slices.Sorted(maps.Keys(used))
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				n := s.AddNode(NodeSpec{Host: fmt.Sprint("h", now), Rack: "/r", Capability: res(6, 6)})
				used[n], open[n] = 0, true
			case 1:
				if len(nodes) > 0 {
					n := pick(nodes)
					open[n] = !open[n]
					s.At(n).SetOpen(n, OpenIf(open[n]))
				}
			case 2:
				if len(nodes) > 0 {
					n := pick(nodes)
					for c, at := range held {
						if at == n {
							s.Free(c)
							delete(held, c)
						}
					}
					s.At(n).RemoveNode(n)
					delete(used, n)
				}
			case 3:
				for c, n := range held {
					s.Free(c)
					used[n]--
					delete(held, c)
					break
				}
			default:
				s.UpdateAsks(a, []Ask{{Priority: 1, Name: Any, Count: 1, RelaxLocality: true, Capability: res(1, 1)}})
				least := int64(100)
				for n, u := range used {
					if open[n] && u < 6 {
						least = min(least, u)
					}
				}
				for _, d := range s.Schedule(now) {
					if d.Kind != Allocate {
						continue
					}
					if used[d.Node] != least {
						t.Fatalf("a container goes to a node with %d, and one with %d has room", used[d.Node], least)
					}
					used[d.Node]++
					held[d.Container] = d.Node
					least = 100
				}
				if least != 100 {
					t.Fatalf("there is room, and nothing is granted")
				}
			}
		}
	})
}

// A decision where all leaves get sorted nodes, which are sorted each second.
func BenchmarkDecisionOnSortedNodes(b *testing.B) {
	for _, nodes := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			tree := largeTree(b, nil)
			for _, q := range tree.Queues() {
				q.SortNodes = time.Second
			}
			s, _ := largeCluster(b, tree, nodes, 1<<30)
			decide(b, s)
		})
	}
}
