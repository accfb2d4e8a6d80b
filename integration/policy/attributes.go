package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// attributes has an administrator change attributes of nodes, or a node report its own.
func (p *play) attributes(ctx context.Context, s Step, act *Act) error {
	switch s.Args[0] {
	case "add", "remove", "replace":
		return p.mapAttributes(ctx, s)
	case "report":
		return p.reportAttributes(ctx, s.Args[1:])
	case "show":
		return p.showAttributes(ctx, act)
	}
	return fmt.Errorf("attributes are added, removed, replaced, reported or shown, not %q", s.Args[0])
}

// parseAttributes reads NAME=VALUE,PREFIX/NAME=VALUE. Without a prefix it is the administrators'.
func parseAttributes(text string) (all []*pb.NodeAttribute) {
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		key := &pb.NodeAttributeKey{}
		if prefix, rest, has := strings.Cut(name, "/"); has {
			key.SetAttributePrefix(prefix)
			name = rest
		}
		key.SetAttributeName(unescape(name))
		a := &pb.NodeAttribute{}
		a.SetAttributeKey(key)
		a.SetAttributeType(pb.NodeAttributeType_STRING)
		a.SetAttributeValue(unescape(value))
		all = append(all, a)
	}
	return all
}

// mapAttributes reads NODE:ATTRIBUTES for each node.
func (p *play) mapAttributes(ctx context.Context, s Step) error {
	req := &pb.NodesToAttributesMappingRequest{}
	req.SetOperation(pb.AttributeMappingOperationType(pb.AttributeMappingOperationType_value[strings.ToUpper(s.Args[0])]))
	req.SetFailOnUnknownNodes(s.Options["known"] != "")
	for _, word := range s.Args[1:] {
		name, attributes, _ := strings.Cut(word, ":")
		m := &pb.NodeToAttributes{}
		if m.SetNode(p.hosts[name]); p.hosts[name] == "" {
			m.SetNode(name) // no node of the script
		}
		m.SetNodeAttributes(parseAttributes(attributes))
		req.SetNodeToAttributes(append(req.GetNodeToAttributes(), m))
	}
	_, err := protocol.MapAttributesToNodes.Call(ctx, p.admin, req)
	return err
}

// reportAttributes has a node's next heartbeat say which it has.
func (p *play) reportAttributes(ctx context.Context, words []string) error {
	n, err := p.node(words[0])
	if err != nil {
		return err
	}
	m := &pb.NodeAttributes{}
	m.SetNodeAttributes(parseAttributes(strings.Join(words[1:], ",")))
	told := make(chan string, 1)
	n.mu.Lock()
	n.attributes, n.told = m, told
	n.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case text := <-told:
		if text != "" {
			return &refusedReport{strings.ReplaceAll(text, n.ID.String(), n.name)}
		}
		return nil
	}
}

// refusedReport holds the ResourceManager's answer to a node whose report it doesn't take.
type refusedReport struct{ text string }

func (e *refusedReport) Error() string { return e.text }

// showAttributes records which nodes have which attributes.
func (p *play) showAttributes(ctx context.Context, act *Act) error {
	resp, err := protocol.GetNodesToAttributes.Call(ctx, p.who, &pb.GetNodesToAttributesRequest{})
	if err != nil {
		return err
	}
	for _, n := range resp.GetNodesToAttributes() { // stock continues naming hosts that have none any more
		for _, a := range n.GetNodeAttributes() {
			key := a.GetAttributeKey()
			act.Queues = append(act.Queues, fmt.Sprintf("attributes %s %s/%s=%s", p.nameOf(n.GetNode()), key.GetAttributePrefix(), key.GetAttributeName(), a.GetAttributeValue()))
		}
	}
	slices.Sort(act.Queues)
	return nil
}
