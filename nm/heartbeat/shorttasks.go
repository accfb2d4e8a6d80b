package heartbeat

import (
	"context"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ShortTasks runs short tasks beside containers. None of the methods may wait.
type ShortTasks interface {
	// State says how the node uses what it was lent, and what has come since the last call.
	State() *pb.NodeShortTasks
	// Lend says what the node may use for short tasks.
	Lend(r records.Resource)
	// SetLong says whether long tasks run on the node.
	SetLong(has bool)
	// EndApplication says that an application is over.
	EndApplication(app records.ApplicationID)
}

// shortTasks tells of short tasks, and what the node may use for them.
type shortTasks struct{ *Options }

func (s *shortTasks) Registering(req *pb.RegisterNodeManagerRequest) {
	req.SetHeddleShortTasks(s.ShortTasks.State())
}

func (s *shortTasks) Registered(resp *pb.RegisterNodeManagerResponse) {
	s.lend(resp.GetHeddleLent())
	s.ShortTasks.SetLong(false) // until it is told, by the next heartbeat
}

func (s *shortTasks) Report(req *pb.NodeHeartbeatRequest) {
	req.SetHeddleShortTasks(s.ShortTasks.State())
}

func (s *shortTasks) Apply(_ context.Context, resp *pb.NodeHeartbeatResponse) {
	if resp.HasHeddleLent() {
		s.lend(resp.GetHeddleLent())
	}
	if resp.HasHeddleLong() {
		s.ShortTasks.SetLong(resp.GetHeddleLong())
	}
}

func (s *shortTasks) AppEnded(app records.ApplicationID) { s.ShortTasks.EndApplication(app) }

func (s *shortTasks) lend(m *pb.Resource) {
	lent, err := s.Types.From(m)
	if err != nil {
		s.Log.WithError(err).Error("the ResourceManager lends resources of types that this node doesn't have")
	}
	s.ShortTasks.Lend(lent)
}
