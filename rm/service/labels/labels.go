// Package labels serves the calls about labels of nodes in ApplicationClientProtocol and ResourceManagerAdministrationProtocol.
package labels

import (
	"context"
	"slices"

	"heddle/rm/labels"
	"heddle/rm/leader"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// Labels serve calls.
type Labels struct {
	View labels.Viewer
	// Admin refuses callers who aren't administrators, Leader is the leader if this member leads, and Exception is what clients see of an error.
	// Done hears what came of a change.
	Admin     func(ctx context.Context, what string) error
	Leader    func() (*leader.Leader, error)
	Exception func(error) error
	Done      func(ctx context.Context, what string, err error)
}

// change has the leader change something, if the caller may call what.
func (s *Labels) change(ctx context.Context, what string, change func(*nodelabels.Labels) error) (err error) {
	defer func() { s.Done(ctx, what, err) }()
	if err := s.Admin(ctx, what); err != nil {
		return err
	}
	l, err := s.Leader()
	if err != nil {
		return err
	}
	return s.Exception(change(l.Labels()))
}

// ServeAdmins serves the calls that change labels.
func (s *Labels) ServeAdmins(server *ipc.Server) {
	protocol.AddToClusterNodeLabels.Serve(server, s.addLabels)
	protocol.RemoveFromClusterNodeLabels.Serve(server, s.removeLabels)
	protocol.ReplaceLabelsOnNodes.Serve(server, s.replaceLabels)
}

// ServeClients answers which labels nodes have.
func (s *Labels) ServeClients(server *ipc.Server) {
	protocol.GetClusterNodeLabels.Serve(server, s.clusterLabels)
	protocol.GetNodeToLabels.Serve(server, s.nodesToLabels)
	protocol.GetLabelsToNodes.Serve(server, s.labelsToNodes)
}

// clusterLabels names the labels twice: clients of Hadoop 2.6 know names alone.
func (s *Labels) clusterLabels(context.Context, *pb.GetClusterNodeLabelsRequest) (*pb.GetClusterNodeLabelsResponse, error) {
	resp := &pb.GetClusterNodeLabelsResponse{}
	var names []string
	var labels []*pb.NodeLabel
	for _, l := range s.View.All()[1:] {
		m := &pb.NodeLabel{}
		m.SetName(l.Name)
		m.SetIsExclusive(l.Exclusive)
		names, labels = append(names, l.Name), append(labels, m)
	}
	resp.SetDeprecatedNodeLabels(names)
	resp.SetNodeLabels(labels)
	return resp, nil
}

func (s *Labels) nodesToLabels(context.Context, *pb.GetNodesToLabelsRequest) (*pb.GetNodesToLabelsResponse, error) {
	var all []*pb.NodeIdToLabels
	for _, n := range s.View.Nodes() {
		m := &pb.NodeIdToLabels{}
		m.SetNodeId(n.Node.PB())
		m.SetNodeLabels([]string{n.Label.Name})
		all = append(all, m)
	}
	resp := &pb.GetNodesToLabelsResponse{}
	resp.SetNodeToLabels(all)
	return resp, nil
}

func (s *Labels) labelsToNodes(_ context.Context, req *pb.GetLabelsToNodesRequest) (*pb.GetLabelsToNodesResponse, error) {
	var all []*pb.LabelsToNodeIds
	wanted := req.GetNodeLabels()
	for _, l := range s.View.All()[1:] {
		if len(l.Nodes) == 0 || len(wanted) > 0 && !slices.Contains(wanted, l.Name) {
			continue
		}
		all = append(all, labelToNodes(&l))
	}
	resp := &pb.GetLabelsToNodesResponse{}
	resp.SetLabelsToNodes(all)
	return resp, nil
}

func labelToNodes(l *labels.Label) *pb.LabelsToNodeIds {
	m := &pb.LabelsToNodeIds{}
	m.SetNodeLabels(l.Name)
	var ids []*pb.NodeId
	for _, id := range l.Nodes {
		ids = append(ids, id.PB())
	}
	m.SetNodeId(ids)
	return m
}

func (s *Labels) addLabels(ctx context.Context, req *pb.AddToClusterNodeLabelsRequest) (*pb.AddToClusterNodeLabelsResponse, error) {
	var labels []nodelabels.Label
	for _, m := range req.GetNodeLabels() {
		labels = append(labels, nodelabels.Label{Name: m.GetName(), Exclusive: m.GetIsExclusive()})
	}
	if len(labels) == 0 {
		for _, name := range req.GetDeprecatedNodeLabels() {
			labels = append(labels, nodelabels.Label{Name: name, Exclusive: true})
		}
	}
	err := s.change(ctx, "addToClusterNodeLabels", func(l *nodelabels.Labels) error { return l.Add(labels) })
	if err != nil {
		return nil, err
	}
	return &pb.AddToClusterNodeLabelsResponse{}, nil
}

func (s *Labels) removeLabels(ctx context.Context, req *pb.RemoveFromClusterNodeLabelsRequest) (*pb.RemoveFromClusterNodeLabelsResponse, error) {
	err := s.change(ctx, "removeFromClusterNodeLabels", func(l *nodelabels.Labels) error { return l.Remove(req.GetNodeLabels()) })
	if err != nil {
		return nil, err
	}
	return &pb.RemoveFromClusterNodeLabelsResponse{}, nil
}

func (s *Labels) replaceLabels(ctx context.Context, req *pb.ReplaceLabelsOnNodeRequest) (*pb.ReplaceLabelsOnNodeResponse, error) {
	var mappings []nodelabels.Mapping
	for _, m := range req.GetNodeToLabels() {
		mappings = append(mappings, nodelabels.Mapping{Node: records.NodeIDFrom(m.GetNodeId()), Labels: m.GetNodeLabels()})
	}
	err := s.change(ctx, "replaceLabelsOnNode", func(l *nodelabels.Labels) error { return l.Replace(mappings, req.GetFailOnUnknownNodes()) })
	if err != nil {
		return nil, err
	}
	return &pb.ReplaceLabelsOnNodeResponse{}, nil
}

// NamesOf returns the names of the labels that a node says it has; nil if it says nothing of them.
func NamesOf(m interface {
	HasNodeLabels() bool
	GetNodeLabels() *pb.NodeLabels
},
) *[]string {
	if !m.HasNodeLabels() {
		return nil
	}
	names := []string{}
	for _, l := range m.GetNodeLabels().GetNodeLabels() {
		names = append(names, l.GetName())
	}
	return &names
}

// Answer tells a node whether its labels count, and if not, why.
func Answer(m interface {
	SetAreNodeLabelsAcceptedByRM(accepted bool)
	SetDiagnosticsMessage(text string)
}, accepted bool, why string,
) {
	if accepted {
		m.SetAreNodeLabelsAcceptedByRM(true)
	}
	if why != "" {
		m.SetDiagnosticsMessage(why)
	}
}
