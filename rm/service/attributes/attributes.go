// Package attributes serves the calls about attributes of nodes in ApplicationClientProtocol and ResourceManagerAdministrationProtocol.
package attributes

import (
	"context"

	"heddle/rm/leader"
	"heddle/rm/leader/nodeattributes"
	"heddle/rm/ledger"
	store "heddle/rm/ledger/nodeattributes"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Attributes serve calls.
type Attributes struct {
	// Read calls f with the committed ledger, which f must neither change nor keep.
	Read func(f func(*ledger.State))
	// Admin refuses callers who aren't administrators, Leader is the leader if this member leads, and Exception is what clients see of an error.
	Admin     func(ctx context.Context, what string) error
	Leader    func() (*leader.Leader, error)
	Exception func(error) error
	// Done hears what came of a change.
	Done func(ctx context.Context, what string, err error)
}

// ServeAdmins serves the call that changes attributes.
func (s *Attributes) ServeAdmins(server *ipc.Server) {
	protocol.MapAttributesToNodes.Serve(server, s.mapAttributes)
}

// ServeClients answers which attributes nodes have.
func (s *Attributes) ServeClients(server *ipc.Server) {
	protocol.GetClusterNodeAttributes.Serve(server, s.clusterAttributes)
	protocol.GetAttributesToNodes.Serve(server, s.attributesToNodes)
	protocol.GetNodesToAttributes.Serve(server, s.nodesToAttributes)
}

func (s *Attributes) mapAttributes(ctx context.Context, req *pb.NodesToAttributesMappingRequest) (_ *pb.NodesToAttributesMappingResponse, err error) {
	defer func() { s.Done(ctx, "mapAttributesToNodes", err) }()
	if err := s.Admin(ctx, "mapAttributesToNodes"); err != nil {
		return nil, err
	}
	l, err := s.Leader()
	if err != nil {
		return nil, err
	}
	var mappings []nodeattributes.Mapping
	for _, m := range req.GetNodeToAttributes() {
		mappings = append(mappings, nodeattributes.Mapping{Host: m.GetNode(), Attributes: from(m.GetNodeAttributes())})
	}
	if err = l.Attributes().Map(req.GetOperation(), mappings, req.GetFailOnUnknownNodes()); err != nil {
		return nil, s.Exception(err)
	}
	return &pb.NodesToAttributesMappingResponse{}, nil
}

func (s *Attributes) clusterAttributes(context.Context, *pb.GetClusterNodeAttributesRequest) (*pb.GetClusterNodeAttributesResponse, error) {
	var all []*pb.NodeAttributeInfo
	for _, a := range s.byAttribute(nil) {
		m := &pb.NodeAttributeInfo{}
		m.SetAttributeKey(key(a.Attribute))
		m.SetAttributeType(pb.NodeAttributeType_STRING)
		all = append(all, m)
	}
	resp := &pb.GetClusterNodeAttributesResponse{}
	resp.SetNodeAttributes(all)
	return resp, nil
}

func (s *Attributes) attributesToNodes(_ context.Context, req *pb.GetAttributesToNodesRequest) (*pb.GetAttributesToNodesResponse, error) {
	wanted := map[store.Attribute]bool{}
	for _, k := range req.GetNodeAttributes() {
		wanted[store.Attribute{Prefix: k.GetAttributePrefix(), Name: k.GetAttributeName()}] = true
	}
	var all []*pb.AttributeToNodes
	for _, a := range s.byAttribute(wanted) {
		m := &pb.AttributeToNodes{}
		m.SetNodeAttribute(key(a.Attribute))
		m.SetNodeValueMap(a.nodes)
		all = append(all, m)
	}
	resp := &pb.GetAttributesToNodesResponse{}
	resp.SetAttributesToNodes(all)
	return resp, nil
}

func (s *Attributes) nodesToAttributes(_ context.Context, req *pb.GetNodesToAttributesRequest) (*pb.GetNodesToAttributesResponse, error) {
	var all []*pb.NodeToAttributes
	s.Read(func(state *ledger.State) {
		hosts := req.GetHostnames()
		if len(hosts) == 0 {
			hosts = state.Attributes.Hosts()
		}
		for _, host := range hosts {
			if has := state.Attributes.All(host); len(has) > 0 {
				m := &pb.NodeToAttributes{}
				m.SetNode(host)
				m.SetNodeAttributes(Messages(has))
				all = append(all, m)
			}
		}
	})
	resp := &pb.GetNodesToAttributesResponse{}
	resp.SetNodesToAttributes(all)
	return resp, nil
}

// valued is an attribute with the hosts that have it and their values.
type valued struct {
	store.Attribute
	nodes []*pb.NodeToAttributeValue
}

// byAttribute returns the wanted attributes, all if none is named, in the order in which hosts have them first.
func (s *Attributes) byAttribute(wanted map[store.Attribute]bool) (all []valued) {
	at := map[store.Attribute]int{}
	s.Read(func(state *ledger.State) {
		for _, host := range state.Attributes.Hosts() {
			for _, a := range state.Attributes.All(host) {
				if len(wanted) > 0 && !wanted[a.Key()] {
					continue
				}
				i, known := at[a.Key()]
				if !known {
					i = len(all)
					at[a.Key()], all = i, append(all, valued{Attribute: a.Key()})
				}
				m := &pb.NodeToAttributeValue{}
				m.SetHostname(host)
				m.SetAttributeValue(a.Value)
				all[i].nodes = append(all[i].nodes, m)
			}
		}
	})
	return all
}

func key(a store.Attribute) *pb.NodeAttributeKey {
	k := &pb.NodeAttributeKey{}
	k.SetAttributePrefix(a.Prefix)
	k.SetAttributeName(a.Name)
	return k
}

// Messages are attributes as clients and ApplicationMasters see them.
func Messages(attributes []store.Attribute) (all []*pb.NodeAttribute) {
	for _, a := range attributes {
		m := &pb.NodeAttribute{}
		m.SetAttributeKey(key(a))
		m.SetAttributeType(pb.NodeAttributeType_STRING)
		m.SetAttributeValue(a.Value)
		all = append(all, m)
	}
	return all
}

func from(all []*pb.NodeAttribute) []store.Attribute {
	out := []store.Attribute{}
	for _, m := range all {
		k := m.GetAttributeKey()
		out = append(out, store.Attribute{Prefix: k.GetAttributePrefix(), Name: k.GetAttributeName(), Value: m.GetAttributeValue()})
	}
	return out
}

// Of are the attributes that a node says it has; nil if it says nothing of them.
func Of(m interface {
	HasNodeAttributes() bool
	GetNodeAttributes() *pb.NodeAttributes
},
) *[]store.Attribute {
	if !m.HasNodeAttributes() {
		return nil
	}
	all := from(m.GetNodeAttributes().GetNodeAttributes())
	return &all
}

// Answer tells a node whether its attributes count, and if not, why, besides what it is told already.
func Answer(m interface {
	SetAreNodeAttributesAcceptedByRM(accepted bool)
	GetDiagnosticsMessage() string
	SetDiagnosticsMessage(text string)
}, answer nodeattributes.Answer,
) {
	if answer.Accepted {
		m.SetAreNodeAttributesAcceptedByRM(true)
	}
	if answer.Why != "" {
		m.SetDiagnosticsMessage(m.GetDiagnosticsMessage() + answer.Why)
	}
}
