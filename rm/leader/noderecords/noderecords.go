// Package noderecords bounds the nodes that the ledger has on record: how many there may be, and how many of them may be gone. It is pure.
package noderecords

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/records"
)

// MaxGone is how many nodes that are gone are remembered: some have another port after each start.
const MaxGone = 1000

// Forget enters commands that drop nodes that are gone when there are too many, those first that registered longest ago. here says which
// nodes are not gone, and n is their number.
func Forget(s *ledger.State, n int, here func(records.NodeID) bool, enter func(*ledgerpb.Command)) {
	if len(s.Nodes)-n <= MaxGone {
		return
	}
	var gone []*ledger.Node
	for id, n := range s.Nodes {
		if !here(id) && len(n.Containers) == 0 {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, func(a, b *ledger.Node) int {
		return cmp.Or(cmp.Compare(a.RegisteredAt, b.RegisteredAt), a.ID.Compare(b.ID))
	})
	for _, n := range gone[:max(0, len(gone)-MaxGone)] {
		enter(&ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{Node: ledger.NodeRef(n.ID)}})
	}
}

// Full says why there is no room for a node, "" if there is, or if it is on record already.
func Full(s *ledger.State, b limit.Bounds, id records.NodeID) string {
	n := len(s.Nodes)
	if s.Nodes[id] != nil || !limit.Over(int64(b.Nodes), int64(n+1)) && !limit.Over(b.NodeBytes, s.Kept.Nodes()) {
		return ""
	}
	return fmt.Sprintf("NodeManager %v can't register: there are %d nodes, which say %d MB of themselves, and may be %d with %d MB. "+
		"If most of them don't exist, list the hosts that may be nodes in yarn.resourcemanager.nodes.include-path and run yarn rmadmin -refreshNodes",
		id, n, s.Kept.Nodes()>>20, b.Nodes, b.NodeBytes>>20)
}

// ByID returns all nodes on record, by their ids.
func ByID(s *ledger.State) []*ledger.Node {
	return slices.SortedFunc(maps.Values(s.Nodes), func(a, b *ledger.Node) int { return a.ID.Compare(b.ID) })
}
