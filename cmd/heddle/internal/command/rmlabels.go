package command

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

func (s *session) noLabels() error {
	fmt.Fprintln(s.err, "No cluster node-labels are specified")
	return s.usage()
}

func (s *session) addLabels(l *option.Line) error {
	names := words(l.Values("addToClusterNodeLabels"))
	if len(names) == 0 {
		return s.noLabels()
	}
	req := &pb.AddToClusterNodeLabelsRequest{}
	for _, text := range names {
		label, err := parseLabel(text)
		if err != nil {
			return err
		}
		req.SetNodeLabels(append(req.GetNodeLabels(), label))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	_, err = cluster.Admin(s, c, protocol.AddToClusterNodeLabels, req)
	return err
}

// parseLabel reads name or name(exclusive=true).
func parseLabel(text string) (*pb.NodeLabel, error) {
	name, property, has := strings.Cut(text, "(")
	label := &pb.NodeLabel{}
	label.SetIsExclusive(true)
	if has {
		key, value, _ := strings.Cut(strings.TrimSuffix(property, ")"), "=")
		exclusive, err := strconv.ParseBool(strings.TrimSpace(value))
		if strings.TrimSpace(key) != "exclusive" || err != nil || !strings.HasSuffix(property, ")") {
			return nil, fmt.Errorf("%q is not a label: want name, name(exclusive=true) or name(exclusive=false)", text)
		}
		label.SetIsExclusive(exclusive)
	}
	if name = strings.TrimSpace(name); name == "" {
		return nil, fmt.Errorf("%q is a label without a name", text)
	}
	label.SetName(name)
	return label, nil
}

func (s *session) removeLabels(l *option.Line) error {
	names := words(l.Values("removeFromClusterNodeLabels"))
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
		m, err := parseNodeLabels(text)
		if err != nil {
			return err
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

// parseNodeLabels reads node[:port]=label, or the older form node[:port],label. Without a label the node loses its
// labels. A node without a port stands for all NodeManagers of the host.
func parseNodeLabels(text string) (*pb.NodeIdToLabels, error) {
	node, label, ok := strings.Cut(text, "=")
	if !ok {
		node, label, _ = strings.Cut(text, ",")
	}
	host, port, hasPort := strings.Cut(node, ":")
	if host == "" {
		return nil, fmt.Errorf("node name cannot be empty: %q", text)
	}
	id := &pb.NodeId{}
	id.SetHost(host)
	id.SetPort(0)
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q: port %q is not a number below 65536", text, port)
		}
		id.SetPort(int32(n))
	}
	labels := words([]string{label})
	if len(labels) > 1 {
		return nil, fmt.Errorf("%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single host for now", len(labels), host)
	}
	m := &pb.NodeIdToLabels{}
	m.SetNodeId(id)
	m.SetNodeLabels(labels)
	return m, nil
}
