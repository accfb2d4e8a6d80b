package offer

import (
	"math"
	"testing"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// However many nodes offer however much, the sum stays below what an int64 can hold, and is exact: it wrapped, and nothing was scheduled any more.
func TestSumsOfNodesWithoutLimitsFit(t *testing.T) {
	s := ledger.New()
	add := func(port int32, offered records.Resource) records.Resource {
		id := records.NodeID{Host: "n", Port: port}
		r := Bound(s, id, offered)
		s.Nodes[id] = &ledger.Node{ID: id, Capability: r}
		return r
	}
	usual := records.NewResource(1<<40, 1<<20)
	for port := range int32(9000) {
		if r := add(port, records.NewResource(math.MaxInt64, 1<<62)); r[0] > records.MaxAmount || r[1] > records.MaxAmount || r[0] < small {
			t.Fatalf("node %d counts for %v", port, r)
		}
		if port > 8200 {
			port = 8999 // sums take long
		}
		if port%100 == 0 {
			if r := add(10_000+port, usual); r != usual {
				t.Fatalf("a usual node counts for %v", r)
			}
		}
	}
	var sum records.Resource
	for _, n := range s.Nodes {
		sum = sum.Add(n.Capability)
	}
	if sum[0] > 1<<62 || sum[0] < 1<<60 {
		t.Errorf("all have %d", sum[0])
	}
	for _, n := range s.Nodes {
		sum = sum.Sub(n.Capability)
	}
	if sum != (records.Resource{}) {
		t.Errorf("without all of them %v is left", sum)
	}
}

// A node that registers again doesn't count twice.
func TestNodesThatComeBackCountOnce(t *testing.T) {
	s, id := ledger.New(), records.NodeID{Host: "n", Port: 1}
	for i := range int32(8191) {
		other := records.NodeID{Host: "other", Port: i}
		s.Nodes[other] = &ledger.Node{ID: other, Capability: records.NewResource(records.MaxAmount, 1)}
	}
	for range 3 {
		r := Bound(s, id, records.NewResource(1<<62, 1))
		if r[0] != records.MaxAmount {
			t.Fatalf("it counts for %v", r)
		}
		s.Nodes[id] = &ledger.Node{ID: id, Capability: r}
	}
}
