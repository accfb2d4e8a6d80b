package heartbeat

import (
	"context"
	"time"

	"heddle/nm/container"
	"heddle/nm/service"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// suspensions tells how far the containers are that there were orders for.
func (u *Updater) suspensions() []*pb.ContainerSuspension {
	var out []*pb.ContainerSuspension
	now := time.Now()
	for _, c := range u.o.Containers.Containers() {
		s := c.Status()
		if s.State != container.Done && s.Suspension.Version > 0 {
			out = append(out, service.SuspensionPB(c.ID(), s.Suspension, u.o.Types, now))
		}
	}
	return out
}

// memory tells how the node's memory is, or nil where that can't be found out.
func (u *Updater) memory() *pb.NodeMemory {
	if u.o.Pressure == nil {
		return nil
	}
	p, err := u.o.Pressure()
	if err != nil {
		return nil
	}
	m := &pb.NodeMemory{}
	m.SetSwapTotal(p.SwapTotal)
	m.SetSwapFree(p.SwapFree)
	if p.Some >= 0 {
		m.SetSome(float32(p.Some))
	}
	if p.Full >= 0 {
		m.SetFull(float32(p.Full))
	}
	if out, in := u.o.Containers.Rates(); out > 0 || in > 0 {
		m.SetPageOutRate(out)
		m.SetPageInRate(in)
	}
	if why := p.Refusal(); why != "" {
		m.SetNoReclaim(why)
	}
	return m
}

// order carries out an order. It comes again until the ResourceManager sees its version in a heartbeat.
func (u *Updater) order(ctx context.Context, m *pb.ContainerOrder) {
	if err := u.o.Service.Order(ctx, m); err != nil && ctx.Err() == nil {
		u.o.Log.WithError(err).WithField("container", records.ContainerIDFrom(m.GetContainerId()).String()).
			Warn("An order of the ResourceManager could not be carried out")
	}
}
