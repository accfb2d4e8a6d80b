package leader

import (
	"heddle/rm/leader/session"
	"heddle/yarn/records"
)

// NodeCaller is the identity of a caller that speaks for a node.
type NodeCaller = session.NodeCaller

// ErrStranger is for a call on behalf of a node from another than who registered it.
var ErrStranger = session.ErrStranger

// stranger says why a call doesn't come from who registered the node, if it doesn't.
func (s *nodeSession) stranger(who NodeCaller) error {
	by, _ := s.caller.Load().(NodeCaller)
	return by.Stranger(s.id, who)
}

// callerOf checks who calls for a node. For one that hasn't registered with this leader speaks who can prove it.
func (ns *nodeManagers) callerOf(id records.NodeID, who NodeCaller) error {
	if s := ns.nodeSessions.Get(id); s != nil {
		return s.stranger(who)
	}
	return who.Unregistered(id)
}
