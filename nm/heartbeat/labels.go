package heartbeat

import (
	"heddle/nm/nodeattributes"
	"heddle/nm/nodelabels"
	"heddle/yarn/pb"
)

// labels tells the node's label, where nodes say so.
type labels struct {
	*nodelabels.Provider
	said *pb.NodeLabels // by the message that is under way; nil: nothing
}

func (l *labels) Registering(req *pb.RegisterNodeManagerRequest) {
	if l.said = l.Register(); l.said != nil {
		req.SetNodeLabels(l.said)
	}
}

func (l *labels) Registered(resp *pb.RegisterNodeManagerResponse) {
	l.Told(l.said, resp.GetAreNodeLabelsAcceptedByRM(), resp.GetDiagnosticsMessage())
}

func (l *labels) Report(req *pb.NodeHeartbeatRequest) {
	if l.said = l.Beat(); l.said != nil {
		req.SetNodeLabels(l.said)
	}
}

func (l *labels) Delivered(resp *pb.NodeHeartbeatResponse) {
	l.Told(l.said, resp.GetAreNodeLabelsAcceptedByRM(), resp.GetDiagnosticsMessage())
}

// attributes tells the node's attributes, where nodes say so.
type attributes struct {
	*nodeattributes.Provider
	said *pb.NodeAttributes // by the message that is under way; nil: nothing
}

func (a *attributes) Registering(req *pb.RegisterNodeManagerRequest) {
	if a.said = a.Register(); a.said != nil {
		req.SetNodeAttributes(a.said)
	}
}

func (a *attributes) Registered(resp *pb.RegisterNodeManagerResponse) {
	a.Told(a.said, resp.GetAreNodeAttributesAcceptedByRM(), resp.GetDiagnosticsMessage())
}

func (a *attributes) Report(req *pb.NodeHeartbeatRequest) {
	if a.said = a.Beat(); a.said != nil {
		req.SetNodeAttributes(a.said)
	}
}

func (a *attributes) Delivered(resp *pb.NodeHeartbeatResponse) {
	a.Told(a.said, resp.GetAreNodeAttributesAcceptedByRM(), resp.GetDiagnosticsMessage())
}
