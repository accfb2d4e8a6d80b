// Package offer bounds what nodes offer, so that sums over all of them fit into an int64. It is pure.
package offer

import (
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Nodes that offer at most small of each type aren't counted: a million of them have half of what fits. The others may have maxSum together.
const (
	small  = 1 << 41
	maxSum = 1 << 61
)

// Bound returns what a node counts for that offers r, or offered it before: at most records.MaxAmount of each type, and together with the other nodes
// that the ledger has at most maxSum. The part that is cut off a "no limit" of that size is never missed.
func Bound(s *ledger.State, id records.NodeID, r records.Resource) records.Resource {
	large := false
	for i, n := range r {
		r[i] = min(n, records.MaxAmount)
		large = large || r[i] > small
	}
	if !large {
		return r
	}
	var others records.Resource
	for of, n := range s.Nodes {
		if of != id {
			others = others.Add(n.Capability)
		}
	}
	for i := range r {
		if r[i] > small {
			r[i] = max(min(r[i], maxSum-others[i]), small)
		}
	}
	return r
}
