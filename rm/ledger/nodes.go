package ledger

import (
	"fmt"
	"net"
	"strconv"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// HTTPAddress is host:port of the node's web server, or "" when it has none.
func (n *Node) HTTPAddress() string { return n.httpAddress }

// NodeHTTPAddress returns the HTTPAddress of the container's node, while the container lives.
func (c *Container) NodeHTTPAddress() string {
	if c.node == nil {
		return ""
	}
	return c.node.httpAddress
}

// Capacity returns the sum of the usable nodes' resources.
func (s *State) Capacity() records.Resource { return s.Kept.Capacity() }

// nodeRegistered adds a node, or refreshes one that registers again; its containers stay.
func (s *State) nodeRegistered(now int64, c *ledgerpb.NodeRegistered) error {
	id := nodeID(c.GetNode())
	if id.Host == "" {
		return fmt.Errorf("a node without a host: %v", id)
	}
	n := s.Nodes[id]
	if n == nil {
		n = &Node{ID: id}
		s.Nodes[id] = n
	} else {
		s.Kept.RemoveNode(n.weight())
	}
	n.HTTPPort, n.httpAddress = c.GetHttpPort(), ""
	if n.HTTPPort != 0 {
		n.httpAddress = net.JoinHostPort(id.Host, strconv.Itoa(int(n.HTTPPort)))
	}
	n.Rack = c.GetRack()
	n.Capability = amounts(c.GetCapability())
	n.Version = c.GetVersion()
	n.Features = c.GetFeatures()
	n.Missing = c.GetMissing()
	n.State = pb.NodeState_NS_RUNNING
	n.HealthReport = ""
	n.DecommissionDeadline = 0
	n.RegisteredAt = now
	s.Kept.AddNode(n.weight())
	return nil
}

func (s *State) nodeUpdated(c *ledgerpb.NodeUpdated) error {
	id := nodeID(c.GetNode())
	n := s.Nodes[id]
	if n == nil {
		return fmt.Errorf("node %v: %w", id, ErrUnknown)
	}
	s.Kept.RemoveNode(n.weight())
	defer func() { s.Kept.AddNode(n.weight()) }()
	if c.State != nil {
		n.State = pb.NodeState(c.GetState())
	}
	if c.Capability != nil {
		n.Capability = amounts(c.GetCapability())
	}
	if c.HealthReport != nil {
		n.HealthReport = c.GetHealthReport()
	}
	if c.DecommissionDeadline != nil {
		n.DecommissionDeadline = c.GetDecommissionDeadline()
	}
	return nil
}

func (s *State) nodeForgotten(c *ledgerpb.NodeForgotten) error {
	id := nodeID(c.GetNode())
	n := s.Nodes[id]
	if n == nil {
		return fmt.Errorf("node %v: %w", id, ErrUnknown)
	}
	if len(n.Containers) > 0 {
		return fmt.Errorf("node %v can't be forgotten: %d containers live on it", id, len(n.Containers))
	}
	s.Kept.RemoveNode(n.weight())
	if delete(s.Nodes, id); len(s.Attributes.Of(id.Host, nodeattributes.Reported)) == 0 {
		return nil
	}
	for other := range s.Nodes {
		if other.Host == id.Host {
			return nil
		}
	}
	s.Attributes.Forget(id.Host)
	return nil
}
