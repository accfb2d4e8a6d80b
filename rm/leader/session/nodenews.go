package session

import (
	"sort"

	"heddle/yarn/records"
)

// NodeNews has the last change of each node that came or went. All applications share it, and each remembers how far it has heard: ten thousand
// applications that wait while ten thousand nodes come would otherwise have a hundred million changes in their boxes. The zero NodeNews has none.
// It is for the leader's loop.
type NodeNews struct {
	// Known reports whether a node is on record. Changes of others are dropped; nil: none is.
	Known func(records.NodeID) bool

	last    uint64 // changes so far
	changes []nodeChange
	at      map[records.NodeID]int // where the change of a node is
	enough  int                    // changes to have before the next look for some that can go
}

// nodeChange is a change. A later one of the same node replaces it.
type nodeChange struct {
	NodeUpdate
	nr       uint64
	replaced bool
}

// fewChanges are not worth a look for some that can go.
const fewChanges = 1000

// Add adds a change.
func (n *NodeNews) Add(u NodeUpdate) {
	if n.at == nil {
		n.at = map[records.NodeID]int{}
	}
	if i, ok := n.at[u.Node]; ok {
		n.changes[i].replaced = true
	}
	n.last++
	n.at[u.Node] = len(n.changes)
	n.changes = append(n.changes, nodeChange{NodeUpdate: u, nr: n.last})
	if len(n.changes) > max(n.enough, fewChanges) {
		n.shorten()
	}
}

// shorten drops changes that were replaced, or are of nodes that are on record no more.
func (n *NodeNews) shorten() {
	kept := n.changes[:0]
	for _, c := range n.changes {
		switch {
		case c.replaced:
		case n.Known != nil && !n.Known(c.Node):
			delete(n.at, c.Node)
		default:
			n.at[c.Node] = len(kept)
			kept = append(kept, c)
		}
	}
	n.changes, n.enough = kept, 2*len(kept)
}

// after returns the changes since one, in their order.
func (n *NodeNews) after(nr uint64) (out []NodeUpdate) {
	from := sort.Search(len(n.changes), func(i int) bool { return n.changes[i].nr > nr })
	for _, c := range n.changes[from:] {
		if !c.replaced {
			out = append(out, c.NodeUpdate)
		}
	}
	return out
}
