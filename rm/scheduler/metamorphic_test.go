package scheduler

import (
	"fmt"
	"strings"
	"testing"

	"heddle/rm/queue"

	"pgregory.net/rapid"
)

// steady gives each application of a drawn load what it can get of a number of equal nodes, and returns the number of
// containers of each queue.
func steady(t *rapid.T, settings map[string]string, nodes int, reverse bool, demand map[string]int32) map[string]int32 {
	tree, err := queue.ParseCapacity(settings)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Tree: tree, Minimum: res(1, 1)})
	for i := range nodes {
		s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: "/r", Capability: res(8, 8)})
	}
	names := strings.Split(settings["root.queues"], ",")
	for i, name := range names {
		h := s.AddApp(AppSpec{Queue: "root." + name, User: "u", Seq: int64(i), AM: res(1, 1)})
		asks := []Ask{
			{Priority: 1, Name: Any, Count: demand[name] / 2, RelaxLocality: true, Capability: res(1, 1)},
			{Priority: 2, Name: Any, Count: demand[name] - demand[name]/2, RelaxLocality: true, Capability: res(1, 1)},
		}
		if reverse {
			asks[0], asks[1] = asks[1], asks[0]
		}
		s.UpdateAsks(h, asks)
	}
	s.Schedule(0)
	out := map[string]int32{}
	for _, name := range names {
		q, _ := s.Queue("root." + name)
		out[name] = int32(q.Containers)
	}
	return out
}

// Doubling the nodes lowers no queue's share in containers; the order in which an application states its asks changes
// nothing; queues with other names get the same.
func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "queues")
		load := func(prefix string) (map[string]string, []string) {
			settings := map[string]string{"maximum-am-resource-percent": "1", "user-limit-factor": "100"}
			var names []string
			for i := range n {
				names = append(names, fmt.Sprintf("%s%d", prefix, i))
			}
			settings["root.queues"] = strings.Join(names, ",")
			return settings, names
		}
		a, as := load("a")
		b, bs := load("z")
		left := 100
		demand := map[string]int32{}
		for i := range n {
			share := left
			if i < n-1 {
				share = rapid.IntRange(0, left).Draw(t, "share")
			}
			left -= share
			asked := rapid.Int32Range(0, 60).Draw(t, "demand")
			for _, x := range []struct {
				settings map[string]string
				name     string
			}{{a, as[i]}, {b, bs[i]}} {
				x.settings["root."+x.name+".capacity"] = fmt.Sprint(share)
				x.settings["root."+x.name+".user-limit-factor"] = "100"
				demand[x.name] = asked
			}
		}
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		got := steady(t, a, nodes, false, demand)
		more := steady(t, a, 2*nodes, false, demand)
		turned := steady(t, a, nodes, true, demand)
		renamed := steady(t, b, nodes, false, demand)
		for i, name := range as {
			if more[name] < got[name] {
				t.Errorf("queue %s has %d containers on %d nodes, and %d on twice as many", name, got[name], nodes, more[name])
			}
			if turned[name] != got[name] {
				t.Errorf("queue %s has %d containers, or %d if it asks in another order", name, got[name], turned[name])
			}
			if renamed[bs[i]] != got[name] {
				t.Errorf("queue %s has %d containers, and %d by the name of %s", name, got[name], renamed[bs[i]], bs[i])
			}
		}
	})
}
