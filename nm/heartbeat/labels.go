package heartbeat

import (
	"heddle/nm/nodeattributes"
	"heddle/nm/nodelabels"
	"heddle/yarn/pb"
)

// labels tells the node's label, where nodes say so.
type labels struct {
	*nodelabels.Provider
	sent *pb.NodeLabels // by the message that is under way; nil: nothing
}

func (l *labels) Registering(req *pb.RegisterNodeManagerRequest) {
	if l.sent = l.Register(); l.sent != nil {
		req.SetNodeLabels(l.sent)
	}
}

func (l *labels) Registered(resp *pb.RegisterNodeManagerResponse) {
	l.Told(l.sent, resp.GetAreNodeLabelsAcceptedByRM(), resp.GetDiagnosticsMessage())
}

func (l *labels) Report(req *pb.NodeHeartbeatRequest) {
	if l.sent = l.Beat(); l.sent != nil {
		req.SetNodeLabels(l.sent)
	}
}

func (l *labels) Delivered(resp *pb.NodeHeartbeatResponse) {
	l.Told(l.sent, resp.GetAreNodeLabelsAcceptedByRM(), resp.GetDiagnosticsMessage())
}

// attributes tells the node's attributes, where nodes say so.
type attributes struct {
	*nodeattributes.Provider
	sent *pb.NodeAttributes // by the message that is under way; nil: nothing
}

func (a *attributes) Registering(req *pb.RegisterNodeManagerRequest) {
	if a.sent = a.Register(); a.sent != nil {
		req.SetNodeAttributes(a.sent)
	}
}

func (a *attributes) Registered(resp *pb.RegisterNodeManagerResponse) {
	a.Told(a.sent, resp.GetAreNodeAttributesAcceptedByRM(), resp.GetDiagnosticsMessage())
}

func (a *attributes) Report(req *pb.NodeHeartbeatRequest) {
	if a.sent = a.Beat(); a.sent != nil {
		req.SetNodeAttributes(a.sent)
	}
}

func (a *attributes) Delivered(resp *pb.NodeHeartbeatResponse) {
	a.Told(a.sent, resp.GetAreNodeAttributesAcceptedByRM(), resp.GetDiagnosticsMessage())
}
