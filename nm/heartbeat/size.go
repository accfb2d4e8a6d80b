package heartbeat

import (
	"context"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// size has the resources that the node offers to containers.
type size struct {
	*Options
	own     records.Resource // with what it registers
	offered records.Resource // to containers: what is lent to short tasks is not
}

// Registering tells what the node has.
func (s *size) Registering(req *pb.RegisterNodeManagerRequest) {
	req.SetResource(s.Types.PB(s.own))
	req.SetPhysicalResource(s.Types.PB(s.Physical))
}

// Registered takes the size that an administrator has set.
func (s *size) Registered(resp *pb.RegisterNodeManagerResponse) {
	if s.ShortTasks != nil && !resp.HasResource() {
		s.offer(s.own) // nothing is lent any more
	}
	s.set(resp.HasResource(), resp.GetResource())
}

// Apply takes another size.
func (s *size) Apply(_ context.Context, resp *pb.NodeHeartbeatResponse) {
	s.set(resp.HasResource(), resp.GetResource())
}

func (s *size) set(has bool, m *pb.Resource) {
	if !has {
		return
	}
	r, err := s.Types.From(m)
	if err != nil {
		s.Log.WithError(err).Warn("the ResourceManager sent an invalid size for the node")
		return
	}
	s.offer(r)
}

// offer has the node offer resources to containers. It registers with them, unless it is lent a part of what it has: that may come back.
func (s *size) offer(r records.Resource) {
	if r == s.offered {
		return
	}
	s.Log.Infof("the node has %s for containers from now on", s.Types.Format(r))
	s.offered = r
	if s.ShortTasks == nil {
		s.own = r
	}
	s.Containers.SetResource(r)
}
