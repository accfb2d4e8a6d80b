package leader

import (
	"cmp"
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// maxGone is how many nodes that are gone are remembered: some have another port after each start.
const maxGone = 1000

// forgetNodes drops nodes that are gone when there are too many, those first that registered longest ago.
func (ns *nodeManagers) forgetNodes() {
	if len(ns.work.Nodes)-len(ns.nodes) <= maxGone {
		return
	}
	var gone []*ledger.Node
	for id, n := range ns.work.Nodes {
		if ns.nodes[id] == nil && len(n.Containers) == 0 {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, func(a, b *ledger.Node) int {
		return cmp.Or(cmp.Compare(a.RegisteredAt, b.RegisteredAt), a.ID.Compare(b.ID))
	})
	for _, n := range gone[:max(0, len(gone)-maxGone)] {
		ns.Enter(&ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{Node: ledger.NodeRef(n.ID)}})
	}
}
