package service

import (
	"context"
	"fmt"
	"time"

	"heddle/nm/container"
	"heddle/nm/suspend"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// order begins to bring a container to the level that an order says, and returns when it has that level's CPU (container.Order).
func (s *Service) order(ctx context.Context, c *container.Container, m *pb.ContainerOrder) error {
	if m.HasAhead() {
		s.Containers.Ahead(c, m.GetAhead())
		return nil
	}
	o, err := orderFrom(m, s.Types, c.Grant().Resource)
	if err != nil {
		return fmt.Errorf("order for container %s: %w", c.ID(), err)
	}
	if o.Level.Still() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.SuspendTimeout)
		defer cancel()
	} // else it may need to wait until it fits
	return c.Order(ctx, o)
}

// orderFrom reads an order for a container of a size.
func orderFrom(m *pb.ContainerOrder, types records.ResourceTypes, size records.Resource) (suspend.Order, error) {
	o := suspend.Order{Level: suspend.Level(m.GetLevel()), Version: m.GetVersion(), For: m.GetBeneficiary()}
	const longest = int64(24 * time.Hour / time.Millisecond)
	every := m.GetBreathEveryMs()
	if every < 0 || every > longest {
		return o, fmt.Errorf("a container can't breathe every %d ms: 0 means never, and at most %d ms may lie between two breaths", every, longest)
	}
	o.BreathEvery = time.Duration(every) * time.Millisecond
	if !m.HasHeld() || o.Level == suspend.Running { // the ResourceManager may know of another size already, or still
		return o.Fill(nil, size), nil
	}
	held, err := types.From(m.GetHeld())
	if err != nil {
		return o, err
	}
	held = held.Min(size)
	return o.Fill(&held, size), nil
}

// orderContainers takes orders of the ResourceManager, whose tokens name the application and no attempt. An ApplicationMaster that could
// order would make its containers deaf to later orders by a high version.
func (s *Service) orderContainers(ctx context.Context, req *pb.OrderContainersRequest) (*pb.OrderContainersResponse, error) {
	who, err := caller(ctx)
	if err == nil && who.Attempt.Attempt != 0 {
		err = refusal("%s may not order levels of containers: only the ResourceManager may", who.Attempt)
	}
	if err == nil {
		err = tooMany(len(req.GetOrder()))
	}
	if err != nil {
		return nil, err
	}
	resp := &pb.OrderContainersResponse{}
	var failed []*pb.ContainerExceptionMap
	var states []*pb.ContainerSuspension
	for _, m := range req.GetOrder() {
		id := records.ContainerIDFrom(m.GetContainerId())
		c, err := s.find(who, id, "suspend")
		if err == nil {
			err = s.order(ctx, c, m)
		}
		if err != nil {
			failed = append(failed, failure(id, err))
		}
		if c != nil {
			states = append(states, SuspensionPB(c.ID(), c.Status().Suspension, s.Types))
		}
	}
	resp.SetSuspension(states)
	resp.SetFailedRequests(failed)
	return resp, nil
}

// SuspensionPB tells how far a container is with its orders.
func SuspensionPB(id records.ContainerID, s suspend.State, types records.ResourceTypes) *pb.ContainerSuspension {
	m := &pb.ContainerSuspension{}
	m.SetContainerId(id.PB())
	m.SetVersion(s.Version)
	m.SetWanted(s.Level.PB())
	m.SetLevel(s.Have.PB())
	m.SetHeld(types.PB(s.Holds))
	m.SetSwapped(s.Swapped)
	m.SetTookMs(s.Took.Milliseconds())
	if s.Reason != "" {
		m.SetReason(s.Reason)
	}
	if s.Failed {
		m.SetFailed(true)
	}
	return m
}
