package nodeindex_test

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/nodeindex"
	"heddle/yarn/records"
)

// After any history the index finds what a look at all nodes finds, in clusters of some nodes and of hundreds.
func TestIndexFindsTheFirstWithRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := nodeindex.New(2)
		model := map[int]records.Resource{}
		most := rapid.SampledFrom([]int{6, 40, 700}).Draw(t, "most")
		for range rapid.IntRange(1, 60).Draw(t, "sets") {
			i := rapid.IntRange(0, most).Draw(t, "leaf")
			r := records.NewResource(rapid.Int64Range(-1, 3).Draw(t, "mb"), rapid.Int64Range(-1, 3).Draw(t, "cores"))
			x.Set(i, &r)
			model[i] = r
			need := records.NewResource(rapid.Int64Range(0, 3).Draw(t, "need mb"), rapid.Int64Range(0, 3).Draw(t, "need cores"))
			find := func(from int) int {
				for j := from; j <= most; j++ {
					if r, ok := model[j]; ok && need.FitsIn(r) {
						return j
					}
				}
				return -1
			}
			from := rapid.IntRange(0, most+5).Draw(t, "from")
			if got, want := x.Next(from, &need), find(from); got != want {
				t.Fatalf("next(%d, %v) = %d, want %d", from, need, got, want)
			}
			if got, want := x.Has(&need), find(0) >= 0; got != want {
				t.Fatalf("some node has room for %v: %t, want %t", need, got, want)
			}
			for j, r := range model {
				if got := x.At(j); got != r {
					t.Fatalf("node %d has %v, want %v", j, got, r)
				}
			}
		}
	})
}

// An index of any size finds its last node, and none behind it.
func TestIndexGrowsToAnyNode(t *testing.T) {
	need, room := records.NewResource(1, 1), records.NewResource(1, 1)
	for last := range 1100 {
		x := nodeindex.New(2)
		x.Set(last, &room)
		x.Set(last/2, &nodeindex.Closed)
		if last/2 == last {
			x.Set(last, &room)
		}
		if got := x.Next(0, &need); got != last || x.At(last) != room {
			t.Fatalf("node %d has room; found %d", last, got)
		}
		for from := last + 1; from < last+10; from++ {
			if got := x.Next(from, &need); got != -1 {
				t.Fatalf("found %d from %d on, where there are %d nodes", got, from, last+1)
			}
		}
	}
}

// What is empty or closed has no room, not even for nothing.
func TestNothingGoesToClosedNodes(t *testing.T) {
	var nothing records.Resource
	x := nodeindex.New(2)
	if x.Has(&nothing) || x.Next(0, &nothing) != -1 {
		t.Error("an empty index has room for nothing")
	}
	for range 2 {
		x.Set(0, &nodeindex.Closed)
		x.Set(9, &nodeindex.Closed)
		if x.Has(&nothing) || x.Next(0, &nothing) != -1 {
			t.Error("closed nodes have room for nothing")
		}
	}
	for i, n := range nodeindex.Closed {
		if n >= 0 {
			t.Errorf("a closed node has %d of type %d", n, i)
		}
	}
	x.Set(9, &nothing)
	if !x.Has(&nothing) || x.Next(0, &nothing) != 9 {
		t.Error("a full node has no room for nothing")
	}
}
