package session

import (
	"errors"
	"fmt"

	"heddle/yarn/records"
)

// NodeCaller is the identity of a caller that speaks for a node.
type NodeCaller struct {
	Address string // that it calls from
	Proven  bool   // it has proved, by the cluster's secret, that it is that node
}

// ErrStranger is for a call on behalf of a node from another than who registered it.
var ErrStranger = errors.New("another caller registered this node")

// Stranger says why a call doesn't come from who registered the node, if it doesn't: by proof, or from the same address where there is
// none.
func (by NodeCaller) Stranger(node records.NodeID, who NodeCaller) error {
	switch {
	case who.Proven, !by.Proven && by.Address == who.Address:
		return nil
	case by.Proven:
		return fmt.Errorf("%w: %v has proved who it is, and %s hasn't", ErrStranger, node, who.Address)
	}
	return fmt.Errorf("%w: %v was registered from %s, and this call came from %s", ErrStranger, node, by.Address, who.Address)
}

// Unregistered says why a caller can't speak for a node that hasn't registered with this leader, if it can't: it must prove who it is.
func (who NodeCaller) Unregistered(node records.NodeID) error {
	if who.Proven {
		return nil
	}
	return fmt.Errorf("%w, or nobody: %v is not registered with this ResourceManager, and the call came from %s", ErrStranger, node, who.Address)
}
