package leader

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

// stranger says why a call doesn't come from who registered the node, if it doesn't: by proof, or from the same address
// where there is none.
func (s *nodeSession) stranger(who NodeCaller) error {
	by, _ := s.caller.Load().(NodeCaller)
	switch {
	case who.Proven, !by.Proven && by.Address == who.Address:
		return nil
	case by.Proven:
		return fmt.Errorf("%w: %v has proved who it is, and %s hasn't", ErrStranger, s.id, who.Address)
	}
	return fmt.Errorf("%w: %v was registered from %s, and this call came from %s", ErrStranger, s.id, by.Address, who.Address)
}

// callerOf checks who calls for a node. For one that hasn't registered with this leader speaks who can prove it.
func (ns *nodeManagers) callerOf(id records.NodeID, who NodeCaller) error {
	s := ns.nodeSessions.Get(id)
	switch {
	case s != nil:
		return s.stranger(who)
	case !who.Proven:
		return fmt.Errorf("%w, or nobody: %v is not registered with this ResourceManager, and the call came from %s", ErrStranger, id, who.Address)
	}
	return nil
}
