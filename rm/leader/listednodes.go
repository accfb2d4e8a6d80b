package leader

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// listedNodes are the nodes that lists of hosts decide on.
type listedNodes struct{ ns *nodeManagers }

// Known implements decommission.Nodes, as do the following.
func (l listedNodes) Known(id records.NodeID) bool { return l.ns.nodes[id] != nil }

// Names returns what is known of the machine that a node called from. Of a node that has not called this leader yet there is but the host of
// its id.
func (l listedNodes) Names(id records.NodeID) []string {
	if s := l.ns.nodeSessions.Get(id); s != nil {
		if names, ok := s.names.Load().([]string); ok {
			return names
		}
	}
	return []string{id.Host}
}

// Used reports whether a live application has, or had, containers on a node.
func (l listedNodes) Used(id records.NodeID) bool {
	for _, soft := range l.ns.apps {
		if soft.nodes[id] {
			return true
		}
	}
	return false
}

// SetOpen opens or closes a node.
func (l listedNodes) SetOpen(id records.NodeID, open bool) {
	l.ns.setOpen(l.ns.nodes[id], open)
}

// Tell lets ApplicationMasters know of a node.
func (l listedNodes) Tell(id records.NodeID, kind pb.NodeUpdateType) { l.ns.tellNodes(id, kind) }

// Remove ends a node's life.
func (l listedNodes) Remove(id records.NodeID, state pb.NodeState) { l.ns.removeNode(id, state) }
