package command

import (
	"fmt"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/nodelabels"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

func (s *session) noLabels() error {
	fmt.Fprintln(s.err, "No cluster node-labels are specified")
	return s.usage()
}

func (s *session) addLabels(l *option.Line) error {
	names := option.Words(l.Values("addToClusterNodeLabels"))
	if len(names) == 0 {
		return s.noLabels()
	}
	req := &pb.AddToClusterNodeLabelsRequest{}
	for _, text := range names {
		label, err := nodelabels.Parse(text)
		if err != nil {
			return err
		}
		m := &pb.NodeLabel{}
		m.SetName(label.Name)
		m.SetIsExclusive(label.Exclusive)
		req.SetNodeLabels(append(req.GetNodeLabels(), m))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	_, err = cluster.Admin(s, c, protocol.AddToClusterNodeLabels, req)
	return err
}

func (s *session) removeLabels(l *option.Line) error {
	names := option.Words(l.Values("removeFromClusterNodeLabels"))
	if len(names) == 0 {
		return s.noLabels()
	}
	req := &pb.RemoveFromClusterNodeLabelsRequest{}
	req.SetNodeLabels(names)
	c, err := s.cluster()
	if err != nil {
		return err
	}
	_, err = cluster.Admin(s, c, protocol.RemoveFromClusterNodeLabels, req)
	return err
}

func (s *session) replaceLabels(l *option.Line) error {
	req := &pb.ReplaceLabelsOnNodeRequest{}
	for _, text := range strings.Fields(strings.Join(l.Values("replaceLabelsOnNode"), " ")) {
		node, err := nodelabels.ParseNode(text)
		if err != nil {
			return err
		}
		id := &pb.NodeId{}
		id.SetHost(node.Host)
		id.SetPort(node.Port)
		m := &pb.NodeIdToLabels{}
		m.SetNodeId(id)
		if node.Label != "" {
			m.SetNodeLabels([]string{node.Label})
		}
		req.SetNodeToLabels(append(req.GetNodeToLabels(), m))
	}
	if len(req.GetNodeToLabels()) == 0 {
		fmt.Fprintln(s.err, "No node-to-labels mappings are specified")
		return s.usage()
	}
	req.SetFailOnUnknownNodes(l.Has("failOnUnknownNodes"))
	c, err := s.cluster()
	if err != nil {
		return err
	}
	_, err = cluster.Admin(s, c, protocol.ReplaceLabelsOnNodes, req)
	return err
}
