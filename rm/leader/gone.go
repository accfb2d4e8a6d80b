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
func (t *turn) forgetNodes() {
	if len(t.work.Nodes)-len(t.nodes) <= maxGone {
		return
	}
	var gone []*ledger.Node
	for id, n := range t.work.Nodes {
		if t.nodes[id] == nil && len(n.Containers) == 0 {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, func(a, b *ledger.Node) int {
		return cmp.Or(cmp.Compare(a.RegisteredAt, b.RegisteredAt), a.ID.Compare(b.ID))
	})
	for _, n := range gone[:max(0, len(gone)-maxGone)] {
		t.Enter(&ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{Node: ledger.NodeRef(n.ID)}})
	}
}
