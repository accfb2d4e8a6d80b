package nodeset_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/records"
)

// After any history the sums over nodes, and what the indices of all nodes and of racks say, are what a look at each node gives.
func TestSumsAndIndices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calc := measure.New(2, records.NewResource(1, 1))
		s := nodeset.New(&calc, &handle.Space[handle.Node]{})
		size := func() records.Resource {
			return records.NewResource(rapid.Int64Range(0, 8).Draw(t, "mb"), rapid.Int64Range(0, 4).Draw(t, "cores"))
		}
		has := map[handle.Node]records.Resource{}
		racks := map[string]int32{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			h := handle.NoNode
			for n := range has { // any, as each step is drawn for all
				h = max(h, n)
			}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				spec := nodeset.Spec{Host: rapid.StringMatching("[ab]").Draw(t, "host"), Rack: rapid.StringMatching("/[rs]").Draw(t, "rack"), Capability: size()}
				h = s.Add(spec)
				s.Reindex(h)
				has[h], racks[spec.Rack] = spec.Capability, s.At[h].Rack
			case 1:
				if h != handle.NoNode {
					has[h] = size()
					s.SetCapability(h, has[h])
					s.Reindex(h)
				}
			case 2:
				if h != handle.NoNode {
					s.SetOpen(h, rapid.SampledFrom([]nodeset.Works{nodeset.AllWork, nodeset.NoWork, nodeset.WorkOf(1)}).Draw(t, "open"))
					s.Reindex(h)
				}
			case 3:
				if h != handle.NoNode {
					r := size()
					s.Charge(&s.At[h], &r, 1)
					s.Reindex(h)
				}
			case 4:
				if h != handle.NoNode {
					back := records.Resource{}.Sub(s.At[h].Used)
					s.Charge(&s.At[h], &back, 0)
					s.Shut(h)
					s.Remove(h)
					delete(has, h)
				}
			}
			check(t, &s, has, racks)
		}
	})
}

func check(t *rapid.T, s *nodeset.Set, has map[handle.Node]records.Resource, racks map[string]int32) {
	var headroom, largest records.Resource
	open := 0
	for h, c := range has {
		n := &s.At[h]
		if *s.Capability(n) != c {
			t.Fatalf("node %d has %v, not %v", h, *s.Capability(n), c)
		}
		room := records.Resource{-1, -1}
		if n.Open != nodeset.NoWork {
			open++
			room = s.Free(n)
			headroom, largest = headroom.Add(room.Max(records.Resource{})), largest.Max(c)
		}
		for i := range 2 {
			if all, inRack := s.Index.At(int(h)), s.IndexOf(s.Sites[n.Rack].Rack).At(int(n.InRack)); all[i] != room[i] || inRack[i] != room[i] {
				t.Fatalf("node %d has %v free; the indices say %v and %v", h, room, all, inRack)
			}
		}
	}
	if s.Headroom() != headroom || s.Largest() != largest || s.OpenNodes() != open {
		t.Fatalf("%d nodes are open, with %v free and %v at most; the set says %d, %v and %v",
			open, headroom, largest, s.OpenNodes(), s.Headroom(), s.Largest())
	}
	for name, rack := range racks {
		count := 0
		for h := range has {
			if s.At[h].Rack == rack {
				count++
			}
		}
		if r := s.Sites[rack].Rack; (r != nil) != (count > 0) {
			t.Fatalf("rack %s has %d nodes, and is known: %t", name, count, r != nil)
		}
	}
}

// What no node has any more gives its number back, or a cluster whose nodes come, change and go would fill the memory.
func TestKindsThatNoNodeHasAreForgotten(t *testing.T) {
	calc := measure.New(2, records.NewResource(1, 1))
	s := nodeset.New(&calc, &handle.Space[handle.Node]{})
	for i := range int64(20) {
		h := s.Add(nodeset.Spec{Host: "n", Rack: "/r", Capability: records.NewResource(i, 1)})
		s.SetCapability(h, records.NewResource(i, 2))
		if n := s.KindNumber(h); n > 1 { // while it changes there are two
			t.Fatalf("what the only node has is number %d", n)
		}
		s.Shut(h)
		s.Remove(h)
	}
}

// A node whose room changes often while nobody asks for its rack is noted once.
func TestNodesAreNotedOnceForTheirRack(t *testing.T) {
	calc := measure.New(2, records.NewResource(1, 1))
	s := nodeset.New(&calc, &handle.Space[handle.Node]{})
	h := s.Add(nodeset.Spec{Host: "n", Rack: "/r", Capability: records.NewResource(10, 10)})
	for range 5 {
		if s.Reindex(h); s.Late(h) != 1 {
			t.Fatalf("it is noted %d times", s.Late(h))
		}
	}
	if s.IndexOf(s.Sites[s.At[h].Rack].Rack); s.Late(h) != 0 {
		t.Error("it is noted still, though the index was asked for")
	}
}
