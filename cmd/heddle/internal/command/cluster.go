package command

import (
	"fmt"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

var clusterInfo = verb{
	name: "cluster", title: "heddle cluster",
	short: "List the labels and attributes of the cluster's nodes",
	options: func() []option.Option {
		return []option.Option{
			{Name: "lnl", Long: "list-node-labels", Help: "Lists the cluster's node labels."},
			{Name: "lna", Long: "list-node-attributes", Help: "Lists the cluster's node attributes."},
			{Name: "dnl", Long: "directly-access-node-label-store", Hidden: true},
		}
	},
	run: func(s *session, l *option.Line) error {
		switch {
		case len(l.Args) > 0:
			return s.usage()
		case l.Has("dnl"):
			return fmt.Errorf("-directly-access-node-label-store: the labels are in the ResourceManagers' replicated state; leave this option out to ask a running one")
		case l.Has("lnl"):
			return s.clusterLabels()
		case l.Has("lna"):
			return s.clusterAttributes()
		}
		return s.invalid()
	},
}

func (s *session) clusterLabels() error {
	if s.json {
		return s.printREST(api+"/get-node-labels", nil)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	resp, err := cluster.Call(s, c, protocol.GetClusterNodeLabels, &pb.GetClusterNodeLabelsRequest{})
	if err != nil {
		return err
	}
	var texts []string
	for _, l := range resp.GetNodeLabels() {
		texts = append(texts, fmt.Sprintf("<%s:exclusivity=%t>", l.GetName(), l.GetIsExclusive()))
	}
	if len(texts) == 0 { // older servers send names only
		texts = resp.GetDeprecatedNodeLabels()
	}
	slices.Sort(texts)
	s.print("Node Labels: %s\n", strings.Join(texts, ","))
	return nil
}

func (s *session) clusterAttributes() error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	resp, err := cluster.Call(s, c, protocol.GetClusterNodeAttributes, &pb.GetClusterNodeAttributesRequest{})
	if err != nil {
		return err
	}
	type attribute struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	found := []attribute{}
	for _, a := range resp.GetNodeAttributes() {
		name := a.GetAttributeKey().GetAttributeName()
		if p := a.GetAttributeKey().GetAttributePrefix(); p != "" {
			name = p + "/" + name
		}
		found = append(found, attribute{name, a.GetAttributeType().String()})
	}
	slices.SortFunc(found, func(a, b attribute) int { return strings.Compare(a.Name, b.Name) })
	if s.json {
		return s.printValue(map[string]any{"nodeAttributes": found})
	}
	for _, a := range found {
		s.print("%s(%s)\n", a.Name, a.Type)
	}
	s.print("\n")
	return nil
}
