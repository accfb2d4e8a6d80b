package policy

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// unescape reads a label as scripts have it: a blank is %20, and % alone is a name of no characters.
func unescape(word string) string {
	if word == "%" {
		return ""
	}
	if text, err := url.PathUnescape(word); err == nil {
		return text
	}
	return word
}

// labels has an administrator add or remove labels of nodes, or give them to nodes.
func (p *play) labels(ctx context.Context, s Step) error {
	switch s.Args[0] {
	case "add":
		return p.addLabels(ctx, s.Args[1:])
	case "remove":
		req := &pb.RemoveFromClusterNodeLabelsRequest{}
		for _, word := range s.Args[1:] {
			req.SetNodeLabels(append(req.GetNodeLabels(), unescape(word)))
		}
		_, err := protocol.RemoveFromClusterNodeLabels.Call(ctx, p.admin, req)
		return err
	case "on":
		return p.labelNodes(ctx, s)
	}
	return fmt.Errorf("labels are added, removed or on nodes, not %q", s.Args[0])
}

func (p *play) addLabels(ctx context.Context, words []string) error {
	req := &pb.AddToClusterNodeLabelsRequest{}
	for _, word := range words {
		name, shared := strings.CutSuffix(unescape(word), "(exclusive=false)")
		l := &pb.NodeLabel{}
		l.SetName(name)
		l.SetIsExclusive(!shared)
		req.SetNodeLabels(append(req.GetNodeLabels(), l))
	}
	_, err := protocol.AddToClusterNodeLabels.Call(ctx, p.admin, req)
	return err
}

// labelNodes reads NODE=LABEL, NODE:port=LABEL for the node rather than all of its host, and NODE= for no label. Several labels stand
// between +.
func (p *play) labelNodes(ctx context.Context, s Step) error {
	req := &pb.ReplaceLabelsOnNodeRequest{}
	for _, word := range s.Args[1:] {
		name, labels, _ := strings.Cut(word, "=")
		name, single := strings.CutSuffix(name, ":port")
		id := &pb.NodeId{}
		if id.SetHost(p.hosts[name]); p.hosts[name] == "" {
			id.SetHost(name) // no node of the script
		}
		if single {
			n, err := p.node(name)
			if err != nil {
				return err
			}
			id.SetPort(n.ID.Port)
		}
		m := &pb.NodeIdToLabels{}
		m.SetNodeId(id)
		for label := range strings.SplitSeq(labels, "+") {
			if label != "" {
				m.SetNodeLabels(append(m.GetNodeLabels(), unescape(label)))
			}
		}
		req.SetNodeToLabels(append(req.GetNodeToLabels(), m))
	}
	req.SetFailOnUnknownNodes(s.Options["known"] != "")
	_, err := protocol.ReplaceLabelsOnNodes.Call(ctx, p.admin, req)
	return err
}

// want sets how many containers the requests of a priority still wait for.
func (m *master) want(ctx context.Context, s Step) error {
	count, err := strconv.Atoi(s.Args[1])
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for r := range m.wanted {
		if strconv.Itoa(int(r.priority)) == s.Options["priority"] {
			m.wanted[r] = int32(count)
		}
	}
	return m.allocate(ctx)
}
