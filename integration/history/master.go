package history

import (
	"context"
	"math/rand/v2"
	"time"

	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// master is an ApplicationMaster that asks for containers, keeps them for a while, and gives them back.
type master struct {
	w        *World
	rm       ipc.Invoker
	response int32
	asked    time.Duration
	want     int32
	held     []*tenure
	ids      map[records.ContainerID]*pb.ContainerId
}

func (w *World) master(ctx context.Context, user string) (*master, error) {
	to := w.clientOf(user)
	resp, err := protocol.GetNewApplication.Call(ctx, to, &pb.GetNewApplicationRequest{})
	if err != nil {
		return nil, err
	}
	if _, err := protocol.SubmitApplication.Call(ctx, to, w.submission(resp.GetApplicationId())); err != nil {
		return nil, err
	}
	ask := &pb.GetApplicationReportRequest{}
	ask.SetApplicationId(resp.GetApplicationId())
	rep, err := protocol.GetApplicationReport.Call(ctx, to, ask)
	if err != nil {
		return nil, err
	}
	t := token.FromPB(rep.GetApplicationReport().GetAmRmToken())
	m := &master{
		w: w, want: 6, ids: map[records.ContainerID]*pb.ContainerId{},
		rm: w.o.Client.Failover(w.o.Addresses(rm.MasterAddress), protocol.ApplicationMaster, ipc.Identity{User: user, Token: &t}, w.policy),
	}
	return m, m.register(ctx)
}

func (m *master) register(ctx context.Context) error {
	m.response = 0
	_, err := protocol.RegisterApplicationMaster.Call(ctx, m.rm, &pb.RegisterApplicationMasterRequest{})
	if ipc.IsClass(err, ipc.InvalidMasterRequest) {
		return nil // the answer to an earlier registration was lost
	}
	return err
}

func (m *master) live(ctx context.Context) {
	for ctx.Err() == nil {
		if err := m.allocate(ctx); err != nil && ctx.Err() == nil {
			m.w.failed(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(m.w.o.Pause + time.Duration(rand.IntN(4))*time.Millisecond):
		}
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, t := range m.held {
		m.w.tenures = append(m.w.tenures, *t)
	}
}

func (m *master) allocate(ctx context.Context) error {
	req := &pb.AllocateRequest{}
	req.SetResponseId(m.response)
	row := &pb.ResourceRequest{}
	row.SetResourceName("*")
	row.SetCapability(m.w.amount)
	row.SetNumContainers(max(0, m.want-int32(len(m.held))))
	req.SetAsk([]*pb.ResourceRequest{row})
	if m.asked == 0 {
		m.asked = m.w.now()
	}
	// Containers to give back stay in held until the call has been answered. The next call names them again.
	var back []*tenure
	begin := m.w.now()
	for _, t := range m.held {
		if t.released > 0 || rand.IntN(4) == 0 {
			if t.released == 0 {
				t.released = begin
			}
			back = append(back, t)
			req.SetRelease(append(req.GetRelease(), m.ids[t.id]))
		}
	}
	resp, err := protocol.Allocate.Call(ctx, m.rm, req)
	if ipc.IsClass(err, ipc.MasterNotRegistered) {
		return m.register(ctx)
	}
	if ipc.IsClass(err, ipc.InvalidMasterRequest) {
		// An answer of a leader that still leads was lost. Send the last id, which the message names.
		m.response++
		return nil
	}
	if err != nil {
		return err
	}
	m.response = resp.GetResponseId()
	m.settle(back)
	m.lose(resp.GetCompletedContainerStatuses())
	m.take(resp.GetAllocatedContainers())
	return nil
}

// settle records the containers whose return was acknowledged.
func (m *master) settle(back []*tenure) {
	now := m.w.now()
	gone := map[*tenure]bool{}
	for _, t := range back {
		t.settled = now
		gone[t] = true
	}
	m.file(gone)
}

// lose records the containers that the ResourceManager has taken away because their node is gone. That may have
// happened at any time since the ask.
func (m *master) lose(ended []*pb.ContainerStatus) {
	now := m.w.now()
	gone := map[*tenure]bool{}
	for _, s := range ended {
		id := records.ContainerIDFrom(s.GetContainerId())
		for _, t := range m.held {
			if t.id == id {
				t.released, t.settled, t.lost = t.asked, now, true
				gone[t] = true
			}
		}
	}
	m.file(gone)
}

func (m *master) file(gone map[*tenure]bool) {
	if len(gone) == 0 {
		return
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	keep := m.held[:0]
	for _, t := range m.held {
		if !gone[t] {
			keep = append(keep, t)
			continue
		}
		m.w.tenures = append(m.w.tenures, *t)
	}
	m.held = keep
}

func (m *master) take(containers []*pb.Container) {
	now := m.w.now()
	for _, c := range containers {
		t := &tenure{
			id: records.ContainerIDFrom(c.GetId()), node: records.NodeIDFrom(c.GetNodeId()), asked: m.asked, got: now,
		}
		m.held = append(m.held, t)
		m.ids[t.id] = c.GetId()
		if n := m.w.nodes[t.node]; n != nil {
			n.Start(t.id)
		}
	}
	m.asked = 0
	if len(containers) > 0 {
		select {
		case m.w.granted <- struct{}{}:
		default:
		}
	}
}
