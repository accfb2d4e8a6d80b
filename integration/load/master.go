package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// master is a simulated ApplicationMaster.
type master struct {
	run      *run
	client   *ipc.Client
	rm       ipc.Invoker
	response int32
	label    string

	waiting []time.Time       // when each pending container was asked for, oldest first
	asked   int32             // the count last sent to the ResourceManager
	release []*pb.ContainerId // containers to give back with the next call
	held    []heldContainer   // live containers by the time of their end
}

// heldContainer has no pointers. Hundreds of thousands may be held, and the garbage collector must not have to scan
// them while the load is measured.
type heldContainer struct {
	id    records.ContainerID
	node  int32         // index of its node among the run's nodes, -1 for other nodes
	until time.Duration // since the run began
}

// tokenPatience bounds the wait until an application's report has a token.
const tokenPatience = 60 * time.Second

// newMaster submits an application and registers its ApplicationMaster.
func newMaster(ctx context.Context, r *run, i int) (*master, error) {
	m := &master{run: r, client: r.o.client(), label: labelOf(&r.o, i)}
	rm := m.client.Failover(r.o.Client, protocol.ApplicationClient, r.o.user(), ipc.RetryPolicy{MaxElapsed: 30 * time.Second})
	o := r.o
	o.Queue = queueOf(&o, i)
	t, err := submit(ctx, rm, o)
	if err != nil {
		m.client.Close()
		return nil, err
	}
	m.rm = m.client.Failover(r.o.Master, protocol.ApplicationMaster, ipc.Identity{User: r.o.User, Token: &t},
		ipc.RetryPolicy{MaxElapsed: 30 * time.Second})
	err = m.register(ctx)
	if err == nil {
		err = m.askUnmet(ctx, share(o.Unmet, i, o.Masters))
	}
	if err != nil {
		m.client.Close()
		return nil, err
	}
	return m, nil
}

func submit(ctx context.Context, rm ipc.Invoker, o Options) (token.Token, error) {
	app, err := protocol.GetNewApplication.Call(ctx, rm, &pb.GetNewApplicationRequest{})
	if err != nil {
		return token.Token{}, fmt.Errorf("get a new application: %w", err)
	}
	id := records.ApplicationIDFrom(app.GetApplicationId())
	sub := &pb.ApplicationSubmissionContext{}
	sub.SetApplicationId(app.GetApplicationId())
	sub.SetApplicationName("load")
	sub.SetQueue(o.Queue)
	sub.SetUnmanagedAm(true)
	sub.SetResource(records.ResourceTypes{}.PB(o.Container))
	sub.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	if o.Submits != nil {
		life := &pb.ApplicationTimeoutMap{}
		life.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
		life.SetTimeout(int64((o.Warmup + o.Duration + spare) / time.Second))
		sub.SetApplicationTimeouts([]*pb.ApplicationTimeoutMap{life})
		if err := o.Submits(id.String()); err != nil {
			return token.Token{}, err
		}
	}
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(sub)
	if _, err := protocol.SubmitApplication.Call(ctx, rm, req); err != nil {
		return token.Token{}, fmt.Errorf("submit %v: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tokenPatience)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	ask := &pb.GetApplicationReportRequest{}
	ask.SetApplicationId(app.GetApplicationId())
	for {
		resp, err := protocol.GetApplicationReport.Call(ctx, rm, ask)
		if err != nil {
			return token.Token{}, fmt.Errorf("report of %v: %w", id, err)
		}
		rep := resp.GetApplicationReport()
		if rep.HasAmRmToken() {
			return token.FromPB(rep.GetAmRmToken()), nil
		}
		if s := rep.GetYarnApplicationState(); s >= pb.YarnApplicationState_FINISHED {
			return token.Token{}, fmt.Errorf("%v is %v: %s", id, s, rep.GetDiagnostics())
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return token.Token{}, fmt.Errorf("%v got no token within %v: %s", id, tokenPatience, rep.GetDiagnostics())
		}
	}
}

func (m *master) register(ctx context.Context) error {
	req := &pb.RegisterApplicationMasterRequest{}
	req.SetHost("localhost")
	req.SetRpcPort(-1)
	req.SetTrackingUrl("")
	if _, err := protocol.RegisterApplicationMaster.Call(ctx, m.rm, req); err != nil {
		return fmt.Errorf("register an ApplicationMaster: %w", err)
	}
	m.response, m.asked = 0, 0
	return nil
}

// live asks for containers until ctx ends.
func (m *master) live(ctx context.Context) {
	defer m.client.Close()
	o := m.run.o
	next := time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		if o.Rate > 0 {
			// Arrivals don't depend on whether the ResourceManager keeps up.
			for ; next.Before(now); next = next.Add(m.gap()) {
				m.waiting = append(m.waiting, next)
			}
		} else {
			for len(m.waiting) < o.Outstanding {
				m.waiting = append(m.waiting, now)
			}
		}
		m.endContainers(now)
		if err := m.allocate(ctx); err != nil {
			if ctx.Err() == nil {
				m.run.failed(err)
			}
			return
		}
		pause := o.Interval
		if o.Rate > 0 && len(m.waiting) == 0 {
			pause = max(pause, time.Until(next))
		}
		sleep(ctx, pause)
	}
}

// gap returns the time until the next arrival of a Poisson stream.
func (m *master) gap() time.Duration {
	rate := m.run.o.Rate / float64(m.run.o.Masters)
	return time.Duration(rand.ExpFloat64() / rate * float64(time.Second))
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// endContainers ends the containers whose time is up, on their nodes or by giving them back.
func (m *master) endContainers(now time.Time) {
	for len(m.held) > 0 && m.held[0].until <= now.Sub(m.run.begin) {
		if c := m.held[0]; c.node >= 0 && m.run.o.EndByNode {
			m.run.nodes[c.node].End(c.id)
		} else {
			m.release = append(m.release, c.id.PB())
		}
		m.held = m.held[1:]
	}
}

func (m *master) allocate(ctx context.Context) error {
	req := &pb.AllocateRequest{}
	req.SetResponseId(m.response)
	req.SetProgress(0.5)
	if want := int32(len(m.waiting)); want != m.asked {
		if m.run.o.Constrained {
			req.SetSchedulingRequests([]*pb.SchedulingRequest{scheduling(0, priority, want, m.run.container, counted(tag, 0, maxOnNode))})
		} else {
			req.SetAsk([]*pb.ResourceRequest{m.row(want)})
		}
		m.asked = want
	}
	req.SetRelease(m.release)
	resp, err := protocol.Allocate.Call(ctx, m.rm, req)
	if ipc.IsClass(err, ipc.MasterNotRegistered) {
		return errors.Join(m.register(ctx))
	}
	if err != nil {
		return fmt.Errorf("allocate: %w", err)
	}
	m.response = resp.GetResponseId()
	m.release = nil
	m.take(resp.GetAllocatedContainers())
	return nil
}

func (m *master) take(containers []*pb.Container) {
	now := time.Now()
	m.run.granted.Add(int64(len(containers)))
	for _, c := range containers {
		if len(m.waiting) > 0 {
			m.run.grants.add(now.Sub(m.waiting[0]))
			m.waiting = m.waiting[1:]
			m.asked--
		}
		held := heldContainer{id: records.ContainerIDFrom(c.GetId()), node: -1, until: now.Sub(m.run.begin) + m.run.o.Hold}
		if i, ours := m.run.placeOf[records.NodeIDFrom(c.GetNodeId())]; ours {
			held.node = i
			if m.run.o.EndByNode {
				m.run.nodes[i].Start(held.id)
			}
		}
		m.held = append(m.held, held)
	}
}
