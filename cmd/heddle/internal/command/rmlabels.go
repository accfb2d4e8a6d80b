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

// wrongLabels says what is wrong with the arguments of a command, or that it has none, as Hadoop's RMAdminCLI does.
func wrongLabels(s *session, arguments []string, command, why string) error {
	if len(arguments) > 0 {
		why = command + ": " + why
	}
	fmt.Fprintln(s.err, why)
	return s.usage()
}

const noLabels = "No cluster node-labels are specified"

func (s *session) addLabels(l *option.Line) error {
	names := option.Words(l.Values("addToClusterNodeLabels"))
	if len(names) == 0 {
		return wrongLabels(s, l.Values("addToClusterNodeLabels"), "addToClusterNodeLabels", noLabels)
	}
	req := &pb.AddToClusterNodeLabelsRequest{}
	for _, text := range names {
		label, err := nodelabels.Parse(text)
		if err != nil {
			return wrongLabels(s, names, "addToClusterNodeLabels", err.Error())
		}
		m := &pb.NodeLabel{}
		m.SetName(label.Name)
		m.SetIsExclusive(label.Exclusive)
		req.SetNodeLabels(append(req.GetNodeLabels(), m))
	}
	return administer(s, protocol.AddToClusterNodeLabels, req)
}

func (s *session) removeLabels(l *option.Line) error {
	names := option.Words(l.Values("removeFromClusterNodeLabels"))
	if len(names) == 0 {
		return wrongLabels(s, l.Values("removeFromClusterNodeLabels"), "removeFromClusterNodeLabels", noLabels)
	}
	req := &pb.RemoveFromClusterNodeLabelsRequest{}
	req.SetNodeLabels(names)
	return administer(s, protocol.RemoveFromClusterNodeLabels, req)
}

func (s *session) replaceLabels(l *option.Line) error {
	req := &pb.ReplaceLabelsOnNodeRequest{}
	for _, text := range strings.Fields(strings.Join(l.Values("replaceLabelsOnNode"), " ")) {
		node, err := nodelabels.ParseNode(text)
		if err != nil {
			return wrongLabels(s, l.Values("replaceLabelsOnNode"), "replaceLabelsOnNode", err.Error())
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
		return wrongLabels(s, l.Values("replaceLabelsOnNode"), "replaceLabelsOnNode", "No node-to-labels mappings are specified")
	}
	req.SetFailOnUnknownNodes(l.Has("failOnUnknownNodes"))
	return administer(s, protocol.ReplaceLabelsOnNodes, req)
}

func administer[Req, Resp any](s *session, m protocol.Method[Req, Resp], req *Req) error {
	c, err := s.cluster()
	if err == nil {
		_, err = cluster.Admin(s, c, m, req)
	}
	return err
}
