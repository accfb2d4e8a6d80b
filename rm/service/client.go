package service

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/rm/audit"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/service/attributes"
	"heddle/rm/service/labels"
	"heddle/rm/service/past"
	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// ServeClients serves ApplicationClientProtocol, and ApplicationHistoryProtocol in place of a timeline server.
func (s *Service) ServeClients(server *ipc.Server) {
	protocol.GetNewApplication.Serve(server, s.newApplication)
	protocol.SubmitApplication.Serve(server, s.submit)
	protocol.GetApplicationReport.Serve(server, s.report)
	protocol.ForceKillApplication.Serve(server, s.kill)
	protocol.FailApplicationAttempt.Serve(server, s.failAttempt)
	protocol.GetApplications.ServeLong(server, s.applications)
	protocol.GetApplicationAttempts.Serve(server, s.attempts)
	protocol.GetApplicationAttemptReport.Serve(server, s.attempt)
	protocol.GetContainers.ServeLong(server, s.containers)
	protocol.GetContainerReport.Serve(server, s.container)
	protocol.GetClusterMetrics.Serve(server, s.metrics)
	protocol.GetClusterNodes.ServeLong(server, s.nodes)
	protocol.GetQueueInfo.ServeLong(server, s.queue)
	protocol.GetQueueUserAcls.ServeLong(server, s.queueACLs)
	protocol.UpdateApplicationPriority.Serve(server, s.updatePriority)
	protocol.UpdateApplicationTimeouts.Serve(server, s.updateTimeouts)
	protocol.MoveApplicationAcrossQueues.Serve(server, s.move)
	protocol.SignalToContainer.Serve(server, s.signal)
	protocol.GetDelegationToken.Serve(server, s.delegationToken)
	protocol.RenewDelegationToken.Serve(server, s.renewDelegationToken)
	protocol.CancelDelegationToken.Serve(server, s.cancelDelegationToken)
	s.serveExtras(server)
	protocol.GetPastApplicationReport.Serve(server, s.report)
	protocol.GetPastApplications.ServeLong(server, s.applications)
	protocol.GetPastAttempts.Serve(server, s.attempts)
	protocol.GetPastAttemptReport.Serve(server, s.attempt)
	(&past.Past{View: s.View, Visible: s.visible, Report: s.containerReport, Absent: s.absent}).ServeClients(server)
	(&labels.Labels{View: view.LabelsOf(s.View)}).ServeClients(server)
	(&attributes.Attributes{Read: s.View.Source.Read}).ServeClients(server)
}

func (s *Service) newApplication(
	ctx context.Context, _ *pb.GetNewApplicationRequest,
) (*pb.GetNewApplicationResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	id, maximum, err := l.NewApplication(ipc.CallFrom(ctx).User)
	if err != nil {
		return nil, s.exception(err)
	}
	resp := &pb.GetNewApplicationResponse{}
	resp.SetApplicationId(id.PB())
	resp.SetMaximumCapability(s.Types.PB(maximum))
	return resp, nil
}

func (s *Service) submit(ctx context.Context, req *pb.SubmitApplicationRequest) (*pb.SubmitApplicationResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	user := ipc.CallFrom(ctx).User
	if user == "" {
		return nil, ipc.NewException(ipc.AccessControlException, "an application can't be submitted without a user name")
	}
	if err := s.Door.Submit(l, callerOf(ctx), req.GetApplicationSubmissionContext()); err != nil {
		if refusal.Is(err, refusal.AccessDenied) {
			return nil, ipc.NewException(ipc.YarnException, "%s: %v", ipc.AccessControlException, err)
		}
		return nil, s.exception(err)
	}
	return &pb.SubmitApplicationResponse{}, nil
}

// app finds an application or answers that it isn't there.
func (s *Service) app(id records.ApplicationID) (view.App, error) {
	if a, ok := s.View.App(id); ok {
		return a, nil
	}
	return view.App{}, s.noApplication(id)
}

func (s *Service) noApplication(id records.ApplicationID) error {
	return s.absent(ipc.ApplicationNotFound, "Application with id '%v' doesn't exist in RM. Please check that the job submission was successful.", id)
}

func (s *Service) report(
	ctx context.Context, req *pb.GetApplicationReportRequest,
) (*pb.GetApplicationReportResponse, error) {
	a, err := s.app(records.ApplicationIDFrom(req.GetApplicationId()))
	if err != nil {
		return nil, err
	}
	one := []view.App{a}
	s.View.AddDiagnostics(one)
	a = one[0]
	if call := ipc.CallFrom(ctx); call.User == a.User && a.State < ledger.AppFinishing { // a driver asks again and again, also after a change of leaders
		s.Door.Note(a.ID, callerOf(ctx))
	}
	r := s.reportTo(ctx, s.shown(ctx, &a))
	if t := s.unmanagedToken(ctx, &a); t != nil {
		r.SetAmRmToken(t)
	}
	resp := &pb.GetApplicationReportResponse{}
	resp.SetApplicationReport(r)
	return resp, nil
}

// unmanagedToken returns the token of an unmanaged ApplicationMaster, for its owner's report.
func (s *Service) unmanagedToken(ctx context.Context, a *view.App) *pb.Token {
	if !a.Unmanaged || a.State != ledger.AppAccepted || a.Attempt.Attempt == 0 || ipc.CallFrom(ctx).User != a.User {
		return nil
	}
	l := s.Backend.Leader()
	if l == nil {
		return nil
	}
	return s.amrmToken(l, a.Attempt).PB()
}

func (s *Service) kill(ctx context.Context, req *pb.KillApplicationRequest) (*pb.KillApplicationResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	if err := s.Door.Kill(l, callerOf(ctx), records.ApplicationIDFrom(req.GetApplicationId()), req.GetDiagnostics()); err != nil {
		return nil, s.exception(err)
	}
	resp := &pb.KillApplicationResponse{}
	resp.SetIsKillCompleted(true)
	return resp, nil
}

func (s *Service) failAttempt(
	ctx context.Context, req *pb.FailApplicationAttemptRequest,
) (*pb.FailApplicationAttemptResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	if err := s.Door.FailAttempt(l, callerOf(ctx), records.AttemptIDFrom(req.GetApplicationAttemptId())); err != nil {
		return nil, s.exception(err)
	}
	return &pb.FailApplicationAttemptResponse{}, nil
}

// known omits values that have no name here, of a client with a newer version: as in Java they are as if the client had not sent them.
func known[E protoreflect.Enum](values []E) []E {
	return slices.DeleteFunc(slices.Clone(values), func(v E) bool { return v.Descriptor().Values().ByNumber(v.Number()) == nil })
}

func (s *Service) applications(
	ctx context.Context, req *pb.GetApplicationsRequest,
) (*pb.GetApplicationsResponse, error) {
	f := view.Filter{
		Types: req.GetApplicationTypes(), States: known(req.GetApplicationStates()), Users: req.GetUsers(),
		Queues: s.queuePaths(req.GetQueues()), Tags: req.GetApplicationTags(),
		Started:  view.Range{Begin: req.GetStartBegin(), End: req.GetStartEnd()},
		Finished: view.Range{Begin: req.GetFinishBegin(), End: req.GetFinishEnd()},
		Limit:    req.GetLimit(),
	}
	if req.HasName() {
		name := req.GetName()
		f.Name = &name
	}
	if req.GetScope() == pb.ApplicationsRequestScope_OWN {
		f.Users = append(f.Users, ipc.CallFrom(ctx).User)
	}
	var out []*pb.ApplicationReport
	mine := s.FilterByUser
	for a := range s.View.Each(f, s.View.AddDiagnostics) {
		shown := s.shown(ctx, a)
		if shown == a || !mine {
			out = append(out, s.reportTo(ctx, shown))
		}
		if err := ctx.Err(); err != nil {
			return nil, err // the answer isn't read
		}
	}
	slices.Reverse(out)
	resp := &pb.GetApplicationsResponse{}
	resp.SetApplications(out)
	return resp, nil
}

func (s *Service) attempts(
	ctx context.Context, req *pb.GetApplicationAttemptsRequest,
) (*pb.GetApplicationAttemptsResponse, error) {
	id := records.ApplicationIDFrom(req.GetApplicationId())
	if err := s.visible(ctx, id, "application "+id.String()); err != nil {
		return nil, err
	}
	list, _ := s.View.Attempts(id)
	var out []*pb.ApplicationAttemptReport
	for i := range list {
		out = append(out, attemptReport(&list[i]))
	}
	resp := &pb.GetApplicationAttemptsResponse{}
	resp.SetApplicationAttempts(out)
	return resp, nil
}

func (s *Service) attempt(
	ctx context.Context, req *pb.GetApplicationAttemptReportRequest,
) (*pb.GetApplicationAttemptReportResponse, error) {
	id := records.AttemptIDFrom(req.GetApplicationAttemptId())
	if err := s.visible(ctx, id.App, "attempt "+id.String()); err != nil {
		return nil, err
	}
	list, _ := s.View.Attempts(id.App)
	for i := range list {
		if list[i].ID == id {
			resp := &pb.GetApplicationAttemptReportResponse{}
			resp.SetApplicationAttemptReport(attemptReport(&list[i]))
			return resp, nil
		}
	}
	return nil, s.absent(ipc.AttemptNotFound, "ApplicationAttempt with id '%v' doesn't exist in RM.", id)
}

func (s *Service) containers(ctx context.Context, req *pb.GetContainersRequest) (*pb.GetContainersResponse, error) {
	id := records.AttemptIDFrom(req.GetApplicationAttemptId())
	if err := s.visible(ctx, id.App, "application "+id.App.String()); err != nil {
		return nil, err
	}
	list, ok := s.View.Containers(id)
	if !ok {
		return nil, s.absent(ipc.AttemptNotFound, "ApplicationAttempt with id '%v' doesn't exist in RM.", id)
	}
	var out []*pb.ContainerReport
	for i := range list {
		out = append(out, s.containerReport(&list[i]))
	}
	return pb.GetContainersResponse_builder{Containers: out}.Build(), nil
}

func (s *Service) container(
	ctx context.Context, req *pb.GetContainerReportRequest,
) (*pb.GetContainerReportResponse, error) {
	id := records.ContainerIDFrom(req.GetContainerId())
	if err := s.visible(ctx, id.Attempt.App, "application "+id.Attempt.App.String()); err != nil {
		return nil, err
	}
	c, ok := s.View.Container(id)
	if !ok {
		return nil, s.absent(ipc.ContainerNotFound, "Container with id '%v' doesn't exist in RM.", id)
	}
	return pb.GetContainerReportResponse_builder{ContainerReport: s.containerReport(&c)}.Build(), nil
}

func (s *Service) metrics(context.Context, *pb.GetClusterMetricsRequest) (*pb.GetClusterMetricsResponse, error) {
	states := s.View.NodeCounts()
	m := &pb.YarnClusterMetrics{}
	all := 0
	for _, n := range states {
		all += n
	}
	m.SetNumNodeManagers(int32(states[pb.NodeState_NS_RUNNING]))
	m.SetNumDecommissionedNms(int32(states[pb.NodeState_NS_DECOMMISSIONED]))
	m.SetNumActiveNms(int32(states[pb.NodeState_NS_RUNNING]))
	m.SetNumLostNms(int32(states[pb.NodeState_NS_LOST]))
	m.SetNumUnhealthyNms(int32(states[pb.NodeState_NS_UNHEALTHY]))
	m.SetNumRebootedNms(int32(states[pb.NodeState_NS_REBOOTED]))
	m.SetNumDecommissioningNms(int32(states[pb.NodeState_NS_DECOMMISSIONING]))
	m.SetNumShutdownNms(int32(states[pb.NodeState_NS_SHUTDOWN]))
	resp := &pb.GetClusterMetricsResponse{}
	resp.SetClusterMetrics(m)
	return resp, nil
}

func (s *Service) nodes(_ context.Context, req *pb.GetClusterNodesRequest) (*pb.GetClusterNodesResponse, error) {
	var out []*pb.NodeReport
	for _, n := range s.View.Nodes(known(req.GetNodeStates())...) {
		out = append(out, s.nodeReport(&n))
	}
	resp := &pb.GetClusterNodesResponse{}
	resp.SetNodeReports(out)
	return resp, nil
}

func (s *Service) updatePriority(
	ctx context.Context, req *pb.UpdateApplicationPriorityRequest,
) (*pb.UpdateApplicationPriorityResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	p, err := s.Door.SetPriority(l, callerOf(ctx), records.ApplicationIDFrom(req.GetApplicationId()), req.GetApplicationPriority().GetPriority())
	if err != nil {
		return nil, s.exception(err)
	}
	resp := &pb.UpdateApplicationPriorityResponse{}
	resp.SetApplicationPriority(priority(p))
	return resp, nil
}

func (s *Service) updateTimeouts(
	ctx context.Context, req *pb.UpdateApplicationTimeoutsRequest,
) (*pb.UpdateApplicationTimeoutsResponse, error) {
	id := records.ApplicationIDFrom(req.GetApplicationId())
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	a, err := s.Door.Check(callerOf(ctx), audit.UpdateTimeouts, id)
	if err != nil {
		return nil, s.exception(err)
	}
	resp := &pb.UpdateApplicationTimeoutsResponse{}
	resp.SetApplicationTimeouts(req.GetApplicationTimeouts())
	if a.State.Ended() {
		return resp, nil // as updatePriority
	}
	for _, to := range req.GetApplicationTimeouts() {
		at, err := view.ParseTime(to.GetExpireTime())
		if err != nil {
			return nil, ipc.NewException(ipc.YarnException, "Expire time is not in ISO8601 format. ISO8601 supported format is "+
				"yyyy-MM-dd'T'HH:mm:ss.SSSZ. Configured timeout value is %s", to.GetExpireTime())
		}
		if !at.After(s.View.Now()) {
			return nil, ipc.NewException(ipc.YarnException, "Expire time is less than current time, current-time=%s expire-time=%s",
				view.FormatTime(s.View.Now()), to.GetExpireTime())
		}
		expires, err := s.Door.SetExpiry(l, callerOf(ctx), id, at.UnixMilli())
		if err != nil {
			return nil, s.exception(err)
		}
		if expires != at.UnixMilli() {
			to.SetExpireTime(view.FormatTime(time.UnixMilli(expires)))
		}
	}
	return resp, nil
}

func (s *Service) signal(ctx context.Context, req *pb.SignalContainerRequest) (*pb.SignalContainerResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	err = s.Door.Signal(l, callerOf(ctx), records.ContainerIDFrom(req.GetContainerId()), req.GetCommand())
	if refusal.Is(err, refusal.NoSuchContainer) {
		return nil, ipc.NewException(ipc.YarnException, "%v", err)
	}
	if err != nil {
		return nil, s.exception(err)
	}
	return &pb.SignalContainerResponse{}, nil
}
