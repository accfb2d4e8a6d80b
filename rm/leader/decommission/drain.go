package decommission

import (
	"time"

	"heddle/rm/hosts"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Drain has one node leave gracefully, whatever the lists of hosts say: it gets no new containers, and leaves when the applications that ran on it have ended, at the latest
// after the timeout. hosts.Unset is the configured one, less than that is no end. For a node that is leaving already it sets another deadline. A node that has left shuts down, and joins
// again when its NodeManager is started again.
func (h *Hosts) Drain(id records.NodeID, timeout time.Duration) error {
	if timeout == hosts.Unset {
		timeout = h.cfg.Timeout
	}
	return h.loop.Do(func() error {
		node, err := h.here(id)
		if err == nil {
			h.decommission(node, timeout)
		}
		return err
	})
}

// Recommission has a node stay that is leaving. Its error is a refusal: a node that the lists of hosts exclude can't stay.
func (h *Hosts) Recommission(id records.NodeID) error {
	return h.loop.Do(func() error {
		node, err := h.here(id)
		if err != nil {
			return err
		}
		if !leaving(node) {
			return refusal.New(refusal.Refused, "Node %v is not being decommissioned: it is %s", id, records.NodeStateName(node.State))
		}
		if _, excluded := h.lists.Load().Excluded(append([]string{id.Host}, h.cfg.Nodes.Names(id)...)...); excluded {
			return refusal.New(refusal.Refused, "Node %v can't stay: yarn.resourcemanager.nodes.exclude-path has its host. Take it off, and run heddle rmadmin -refreshNodes", id)
		}
		h.recommission(node)
		return nil
	})
}

// here returns a node that hasn't left.
func (h *Hosts) here(id records.NodeID) (*ledger.Node, error) {
	node := h.work.Nodes[id]
	switch {
	case node == nil:
		return nil, refusal.New(refusal.Refused, "Node %v is not registered", id)
	case node.State == pb.NodeState_NS_DECOMMISSIONED && !h.cfg.Nodes.Known(id):
		return nil, refusal.New(refusal.Refused, "Node %v has left the cluster. It joins again when its NodeManager is started", id)
	case !h.cfg.Nodes.Known(id):
		return nil, refusal.New(refusal.Refused, "Node %v is gone: it is %s", id, records.NodeStateName(node.State))
	}
	return node, nil
}
