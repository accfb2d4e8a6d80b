package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
)

// An application may ask with tens of thousands of requests at once. Neither entering them nor deciding on them goes through all of
// them for each.
func TestThousandsOfRequestsOfOneApplication(t *testing.T) {
	const n, ends = 20_000, 10
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="p0"><queue name="l0"><maxAMShare>-1</maxAMShare></queue></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	trees := map[string]*queue.Tree{"capacity": largeTree(t, nil), "fair": fair}
	one := func(id int) Ask {
		return Ask{Priority: 1, AllocationRequestID: int64(id), Name: Any, Count: 1, RelaxLocality: true, Capability: res(1, 1)}
	}
	floods := map[string]func(i int) []Ask{
		"ids": func(i int) []Ask { return []Ask{one(i)} },
		"priorities": func(i int) []Ask {
			a := one(0)
			a.Priority = int32(i)
			return []Ask{a}
		},
		"sizes": func(i int) []Ask {
			a := one(i)
			a.Capability[0] += int64(i)
			return []Ask{a}
		},
		"one host": func(i int) []Ask {
			anywhere, there := one(i), one(i)
			anywhere.RelaxLocality, there.Name = false, "n1"
			return []Ask{anywhere, there}
		},
		"a host each": func(i int) []Ask {
			there := one(i)
			there.Name = fmt.Sprintf("n%d", i)
			return []Ask{one(i), there}
		},
	}
	for kind, tree := range trees {
		for name, asks := range floods {
			t.Run(kind+" "+name, func(t *testing.T) {
				s := New(Config{Tree: tree, Minimum: res(1, 1), Heartbeat: time.Second})
				for i := range 100 {
					s.AddNode(NodeSpec{Host: fmt.Sprintf("n%d", i), Rack: fmt.Sprintf("/r%d", i/40), Capability: res(20, 20)})
				}
				var held []handle.Container
				now := int64(0)
				decide := func() {
					now += 600 // fair shares are looked at anew
					for _, d := range s.Schedule(now) {
						if d.Kind == Allocate {
							held = append(held, d.Container)
						}
					}
				}
				other := s.AddApp(AppSpec{Seq: 1, Queue: "root.p0.l0", User: "u", AM: res(1, 1)})
				s.UpdateAsks(other, []Ask{{Priority: 1, Name: Any, Count: 1990, RelaxLocality: true, Capability: res(1, 1)}})
				decide()
				s.ClearAsks(other)
				h := s.AddApp(AppSpec{Seq: 2, Queue: "root.p0.l0", User: "v", AM: res(1, 1)})
				var rows []Ask
				for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
					rows = append(rows, asks(i)...)
				}
				s.core.Demanded.Passed = 0
				s.UpdateAsks(h, rows)
				decide()
				for i := range ends {
					s.Free(held[i])
					decide()
				}
				if err := s.core.Check(); err != nil {
					t.Error(err)
				}
				if most := int64(n * 10 * (ends + 1)); s.core.Demanded.Passed > most {
					t.Errorf("%d requests were gone through one by one, which is more than %d", s.core.Demanded.Passed, most)
				}
			})
		}
	}
}

// What an application would have after a call counts rows that replace others once.
func TestRequestsThatACallWouldAdd(t *testing.T) {
	s, _ := cluster(1, res(1, 1))
	h := s.AddApp(AppSpec{})
	at := func(id int64, name string, count int32) Ask {
		return Ask{Priority: 1, AllocationRequestID: id, Name: name, Count: count, RelaxLocality: true, Capability: res(9, 9)}
	}
	s.UpdateAsks(h, []Ask{at(1, Any, 2), at(1, "n0", 1), at(2, Any, 1)})
	for _, c := range []struct {
		asks             []Ask
		requests, places int
	}{
		{nil, 2, 1},
		{[]Ask{at(1, Any, 5), at(1, "n0", 3), at(2, Any, 0)}, 2, 1},
		{[]Ask{at(3, Any, 1), at(3, "n0", 1), at(3, "n0", 2), at(4, Any, 0)}, 3, 2},
		{[]Ask{at(1, "n1", 1), at(2, "n0", 1)}, 2, 3},
	} {
		if requests, places := s.RequestsWith(h, c.asks); requests != c.requests || places != c.places {
			t.Errorf("%v: %d requests with %d rows for places, want %d and %d", c.asks, requests, places, c.requests, c.places)
		}
	}
}
