package policy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// submit submits an application, and waits until it is admitted or not. An unmanaged ApplicationMaster then registers.
func (p *play) submit(ctx context.Context, s Step) error {
	if _, err := p.master(s.Args[0]); err == nil {
		return errors.New("there is one with that name already")
	}
	user := s.Options["user"]
	if user == "" {
		user = "user"
	}
	as := p.client.Failover([]string{p.rm.client}, protocol.ApplicationClient, ipc.Identity{User: user}, patience)
	app, err := protocol.GetNewApplication.Call(ctx, as, &pb.GetNewApplicationRequest{})
	if err != nil {
		return err
	}
	m := &master{
		name: s.Args[0], user: user, id: records.ApplicationIDFrom(app.GetApplicationId()), play: p,
		wanted: map[row]int32{}, told: map[row]int32{},
	}
	sub, err := p.submission(m, s.Options)
	if err != nil {
		return err
	}
	managed := !sub.GetUnmanagedAm()
	p.mu.Lock()
	p.masters[m.id] = m
	p.mu.Unlock()
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(sub)
	if _, err := protocol.SubmitApplication.Call(ctx, as, req); err != nil {
		p.mu.Lock()
		delete(p.masters, m.id)
		p.mu.Unlock()
		return err
	}
	ask := &pb.GetApplicationReportRequest{}
	ask.SetApplicationId(app.GetApplicationId())
	var report *pb.ApplicationReport
	err = poll(ctx, func() (bool, error) {
		resp, err := protocol.GetApplicationReport.Call(ctx, as, ask)
		report = resp.GetApplicationReport()
		state := report.GetYarnApplicationState()
		return state > pb.YarnApplicationState_ACCEPTED || state == pb.YarnApplicationState_ACCEPTED && (managed || report.HasAmRmToken()), err
	})
	if err != nil || managed || report.GetYarnApplicationState() > pb.YarnApplicationState_RUNNING {
		return err
	}
	return m.begin(context.WithoutCancel(ctx), token.FromPB(report.GetAmRmToken()))
}

// submission returns the submission context of an application.
func (p *play) submission(m *master, options map[string]string) (*pb.ApplicationSubmissionContext, error) {
	sub := &pb.ApplicationSubmissionContext{}
	sub.SetApplicationId(m.id.PB())
	sub.SetApplicationName(m.name)
	if name, ok := options["name"]; ok {
		sub.SetApplicationName(name)
	}
	if q, ok := options["queue"]; ok {
		sub.SetQueue(q)
	}
	m.registered = options["constraints"]
	if tags := options["tags"]; tags != "" {
		sub.SetApplicationTags(strings.Split(tags, ","))
	}
	if text := options["priority"]; text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, err
		}
		sub.SetPriority(&pb.Priority{})
		sub.GetPriority().SetPriority(int32(n))
	}
	if text := options["lifetime"]; text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		to := &pb.ApplicationTimeoutMap{}
		to.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
		to.SetTimeout(n)
		sub.SetApplicationTimeouts([]*pb.ApplicationTimeoutMap{to})
	}
	sub.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	managed := options["am"] != ""
	sub.SetUnmanagedAm(!managed)
	if managed {
		r, err := parseResource(options["am"], p.types)
		if err != nil {
			return nil, err
		}
		sub.SetResource(p.types.PB(r))
		if label, said := options["amlabel"]; said {
			row := &pb.ResourceRequest{}
			row.SetPriority(&pb.Priority{})
			row.SetResourceName("*")
			row.SetCapability(p.types.PB(r))
			row.SetNumContainers(1)
			row.SetRelaxLocality(true)
			row.SetNodeLabelExpression(unescape(label))
			sub.SetAmContainerResourceRequest([]*pb.ResourceRequest{row})
		}
	}
	if label, said := options["label"]; said {
		sub.SetNodeLabelExpression(unescape(label))
	}
	return sub, nil
}

// kill kills an application.
func (p *play) kill(ctx context.Context, m *master) error {
	report := &pb.GetApplicationReportRequest{}
	report.SetApplicationId(m.id.PB())
	resp, err := protocol.GetApplicationReport.Call(ctx, p.who, report)
	if err != nil {
		return err
	}
	switch resp.GetApplicationReport().GetYarnApplicationState() {
	case pb.YarnApplicationState_FAILED, pb.YarnApplicationState_FINISHED:
		return fmt.Errorf("application %s: %w", m.id, errNotThere)
	}
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(m.id.PB())
	err = poll(ctx, func() (bool, error) {
		resp, err := protocol.ForceKillApplication.Call(ctx, p.who, req)
		return resp.GetIsKillCompleted(), err
	})
	if err != nil {
		return err
	}
	m.end()
	m.mu.Lock()
	m.held = nil
	m.mu.Unlock()
	return p.await(ctx, m, pb.YarnApplicationState_KILLED)
}

// await waits until an application has a state.
func (p *play) await(ctx context.Context, m *master, state pb.YarnApplicationState) error {
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(m.id.PB())
	return poll(ctx, func() (bool, error) {
		resp, err := protocol.GetApplicationReport.Call(ctx, p.who, req)
		return resp.GetApplicationReport().GetYarnApplicationState() == state, err
	})
}

// setLifetime sets an application's lifetime in seconds, counted from its submission.
func (p *play) setLifetime(ctx context.Context, m *master, seconds string) error {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	ask := &pb.GetApplicationReportRequest{}
	ask.SetApplicationId(m.id.PB())
	resp, err := protocol.GetApplicationReport.Call(ctx, p.who, ask)
	if err != nil {
		return err
	}
	to := &pb.ApplicationUpdateTimeoutMap{}
	to.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
	to.SetExpireTime(view.FormatTime(time.UnixMilli(resp.GetApplicationReport().GetStartTime() + 1000*n)))
	req := &pb.UpdateApplicationTimeoutsRequest{}
	req.SetApplicationId(m.id.PB())
	req.SetApplicationTimeouts([]*pb.ApplicationUpdateTimeoutMap{to})
	_, err = protocol.UpdateApplicationTimeouts.Call(ctx, p.who, req)
	return err
}

// lifetime returns an application's lifetime in seconds, counted from its submission; 0 means without limit.
func lifetime(r *pb.ApplicationReport) (int64, error) {
	for _, to := range r.GetAppTimeouts() {
		expires := to.GetApplicationTimeout().GetExpireTime()
		if expires == "UNLIMITED" {
			continue
		}
		at, err := view.ParseTime(expires)
		if err != nil {
			return 0, fmt.Errorf("application %v: %w", records.ApplicationIDFrom(r.GetApplicationId()), err)
		}
		return (at.UnixMilli() - r.GetStartTime() + 500) / 1000, nil
	}
	return 0, nil
}
