package service

import (
	"context"
	"time"

	"heddle/rm/audit"
	"heddle/rm/door"
	"heddle/rm/leader"
	"heddle/rm/leader/preemption"
	"heddle/rm/leader/resize"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/service/stages"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// maxWait bounds how long an ApplicationMaster's answer is held back at its request.
const maxWait = 30 * time.Second

// ServeMasters serves ApplicationMasterProtocol. Its methods name no attempt: that is in the token of the connection.
func (s *Service) ServeMasters(server *ipc.Server) {
	protocol.RegisterApplicationMaster.Serve(server, s.registerMaster)
	protocol.Allocate.Serve(server, s.allocate)
	protocol.FinishApplicationMaster.Serve(server, s.finishMaster)
}

// bearer returns the caller, and the leader to be asked on its behalf.
func (s *Service) bearer(ctx context.Context) (*leader.Leader, token.AMRM, error) {
	l, err := s.leader()
	if err != nil {
		return nil, token.AMRM{}, err
	}
	id, ok := ipc.CallFrom(ctx).Identifier.(token.AMRM)
	if !ok {
		return nil, token.AMRM{}, ipc.NewException(ipc.AccessControlException, "No AMRMToken found for user %s",
			ipc.CallFrom(ctx).User)
	}
	return l, id, nil
}

// owner holds the fields of an application that every message about its containers needs.
type owner struct {
	user      string
	timestamp int64
	logs      *pb.LogAggregationContext
}

func (s *Service) owner(id records.ApplicationID) (o owner) {
	s.Backend.Read(func(st *ledger.State) {
		o.timestamp = st.Timestamp
		if a := st.Apps[id]; a != nil {
			o.user, o.logs = a.User, a.Context.GetLogAggregationContext()
		}
	})
	return o
}

// master is an ApplicationMaster as the audit log names it: by its application's owner. Its own name is that of its attempt.
func (s *Service) master(ctx context.Context, id records.ApplicationID) door.Caller {
	who := callerOf(ctx)
	who.User = s.owner(id).user
	return who
}

func (s *Service) registerMaster(
	ctx context.Context, req *pb.RegisterApplicationMasterRequest,
) (*pb.RegisterApplicationMasterResponse, error) {
	l, id, err := s.bearer(ctx)
	if err != nil {
		return nil, err
	}
	if all := req.GetPlacementConstraints(); len(all) > 0 {
		if err := l.TakeConstraints(id.Attempt, all); err != nil {
			return nil, s.exception(err)
		}
	}
	r, err := l.Register(id.Attempt, req.GetHost(), req.GetRpcPort(), req.GetTrackingUrl())
	if err != nil {
		return nil, s.exception(err)
	}
	s.Door.Note(id.Attempt.App, callerOf(ctx))
	s.Door.Mastered(s.master(ctx, id.Attempt.App), audit.RegisterMaster, id.Attempt)
	resp := &pb.RegisterApplicationMasterResponse{}
	resp.SetMaximumCapability(s.Types.PB(r.Maximum))
	resp.SetApplication_ACLs(r.ACLs)
	resp.SetQueue(r.Queue)
	resp.SetSchedulerResourceTypes([]pb.SchedulerResourceTypes{
		pb.SchedulerResourceTypes_MEMORY, pb.SchedulerResourceTypes_CPU,
	})
	resp.SetResourceTypes(s.resourceTypes())
	resp.SetHeddleMaxWaitMs(int32(maxWait / time.Millisecond))
	resp.SetHeddleTakesSwaps(true)
	if s.ClientTokens {
		resp.SetClientToAmTokenMasterKey(clientKey(l, id.Attempt).Secret())
	}
	o := s.owner(id.Attempt.App)
	previous, err := s.grants(l, r.Previous, o)
	if err != nil {
		return nil, err
	}
	resp.SetContainersFromPreviousAttempts(previous)
	resp.SetNmTokensFromPreviousAttempts(s.nmTokens(l, id.Attempt, r.NewNodes, o.user))
	return resp, nil
}

func (s *Service) resourceTypes() []*pb.ResourceTypeInfo {
	infos := make([]*pb.ResourceTypeInfo, s.Types.Len())
	for i := range infos {
		t := s.Types.At(i)
		infos[i] = &pb.ResourceTypeInfo{}
		infos[i].SetName(t.Name)
		infos[i].SetUnits(t.Units)
		infos[i].SetType(pb.ResourceTypes_COUNTABLE)
	}
	return infos
}

func (s *Service) allocate(ctx context.Context, req *pb.AllocateRequest) (*pb.AllocateResponse, error) {
	l, id, err := s.bearer(ctx)
	if err != nil {
		return nil, err
	}
	if req.GetHeddleNudge() {
		l.Nudge(id.Attempt)
		return &pb.AllocateResponse{}, nil
	}
	call := leader.AllocateCall{
		ResponseID:      req.GetResponseId(),
		Progress:        req.GetProgress(),
		Asks:            req.GetAsk(),
		Scheduling:      req.GetSchedulingRequests(),
		BlacklistAdd:    req.GetBlacklistRequest().GetBlacklistAdditions(),
		BlacklistRemove: req.GetBlacklistRequest().GetBlacklistRemovals(),
		TrackingURL:     req.GetTrackingUrl(),
		Probes:          req.GetHeddleProbes(),
		Stages:          stages.ReportFrom(req.GetHeddleStages()),
		Performance:     stages.PerformanceFrom(req.GetHeddlePerformance()),
		Tries:           stages.TriesFrom(req.GetHeddleTries()),
		WantsHints:      req.GetHeddleWantsHints(),
		WantsClasses:    req.GetHeddleWantsLevels(),
		Swaps:           stages.SwapsFrom(req.GetHeddleSwaps()),
		Wait:            min(time.Duration(req.GetHeddleWaitMs())*time.Millisecond, maxWait),
	}
	for _, c := range req.GetRelease() {
		call.Releases = append(call.Releases, records.ContainerIDFrom(c))
	}
	for _, u := range req.GetUpdateRequests() {
		call.Updates = append(call.Updates, resize.Wish{
			ID: records.ContainerIDFrom(u.GetContainerId()), Version: u.GetContainerVersion(), Kind: u.GetUpdateType(),
			Capability: u.GetCapability(),
		})
	}
	reply, err := l.Allocate(id.Attempt, call)
	if err != nil {
		return nil, s.exception(err)
	}
	return s.allocateResponse(l, id, &reply, req)
}

func (s *Service) allocateResponse(
	l *leader.Leader, id token.AMRM, reply *leader.AllocateReply, req *pb.AllocateRequest,
) (*pb.AllocateResponse, error) {
	o := s.owner(id.Attempt.App)
	resp := &pb.AllocateResponse{}
	resp.SetResponseId(reply.ResponseID)
	containers, err := s.grants(l, reply.Grants, o)
	if err != nil {
		return nil, err
	}
	resp.SetAllocatedContainers(containers)
	resp.SetCompletedContainerStatuses(s.completions(reply.Completed))
	resp.SetLimit(s.Types.PB(reply.Limit))
	resp.SetUpdatedNodes(s.nodeUpdates(reply.Updated))
	resp.SetNumClusterNodes(int32(reply.Nodes))
	resp.SetRejectedSchedulingRequests(reply.Rejected)
	resp.SetNmTokens(s.nmTokens(l, id.Attempt, reply.NewNodes, o.user))
	resp.SetApplicationPriority(priority(reply.Priority))
	probeNodes(s, l, resp, id.Attempt, reply, o.user)
	if id.KeyID != l.Keys(ledgerpb.KeyKind_AM_RM).Current.ID {
		resp.SetAmRmToken(s.amrmToken(l, id.Attempt).PB())
	}
	if m := s.preemptionMessage(&reply.Preemption); m != nil {
		resp.SetPreempt(m)
	}
	stages.Hint(resp, reply)
	s.Collectors.Tell(id.Attempt.App, resp)
	if reply.Suspended != nil {
		p := s.parts()
		suspended := &pb.SuspendedContainers{}
		suspended.SetContainerId(p.containers(reply.Suspended.IDs))
		resp.SetHeddleSuspended(suspended)
		s.done(p)
	}
	if err := s.resized(l, resp, reply, o, req.GetUpdateRequests()); err != nil {
		return nil, err
	}
	return resp, nil
}

// preemptionMessage says which containers an ApplicationMaster will lose; nil if none.
func (s *Service) preemptionMessage(p *preemption.Message) *pb.PreemptionMessage {
	if len(p.Containers) == 0 {
		return nil
	}
	containers := make([]*pb.PreemptionContainer, len(p.Containers))
	for i, id := range p.Containers {
		containers[i] = &pb.PreemptionContainer{}
		containers[i].SetId(id.PB())
	}
	m := &pb.PreemptionMessage{}
	if p.Strict {
		strict := &pb.StrictPreemptionContract{}
		strict.SetContainer(containers)
		m.SetStrictContract(strict)
		return m
	}
	row := &pb.ResourceRequest{}
	row.SetPriority(priority(-1))
	row.SetResourceName("*")
	row.SetCapability(s.Types.PB(p.Minimum))
	row.SetNumContainers(p.Count)
	request := &pb.PreemptionResourceRequest{}
	request.SetResource(row)
	contract := &pb.PreemptionContract{}
	contract.SetContainer(containers)
	contract.SetResource([]*pb.PreemptionResourceRequest{request})
	m.SetContract(contract)
	return m
}

// resized tells which containers have another size now, and which can't get it.
func (s *Service) resized(
	l *leader.Leader, resp *pb.AllocateResponse, reply *leader.AllocateReply, o owner, asked []*pb.UpdateContainerRequest,
) error {
	grants := make([]leader.Grant, len(reply.Resized))
	for i := range reply.Resized {
		grants[i] = reply.Resized[i].Grant
	}
	containers, err := s.grants(l, grants, o)
	if err != nil {
		return err
	}
	var updated []*pb.UpdatedContainer
	for i, c := range containers {
		u := &pb.UpdatedContainer{}
		u.SetUpdateType(reply.Resized[i].Kind)
		u.SetContainer(c)
		updated = append(updated, u)
	}
	resp.SetUpdatedContainers(updated)
	var errs []*pb.UpdateContainerError
	for _, r := range reply.Unresized {
		e := &pb.UpdateContainerError{}
		e.SetReason(r.Reason)
		e.SetCurrentContainerVersion(r.Version)
		if r.Index < len(asked) { // of an answer that is given again, the call may be another
			e.SetUpdateRequest(asked[r.Index])
		}
		errs = append(errs, e)
	}
	resp.SetUpdateErrors(errs)
	return nil
}

func (s *Service) grants(l *leader.Leader, grants []leader.Grant, o owner) ([]*pb.Container, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	out := make([]*pb.Container, len(grants))
	p := s.parts()
	defer s.done(p)
	for i := range grants {
		g := &grants[i]
		id, n := p.container(g.ID), s.forms(g.Node)
		t, err := s.containerToken(l, id, n, g, o, p)
		if err != nil {
			return nil, err
		}
		out[i] = pb.Container_builder{
			Id: id, NodeId: n.id, NodeHttpAddress: &g.NodeHTTPAddress, Resource: p.size(g.Resource), Priority: p.prio(g.Priority),
			ContainerToken: t.PB(), ExecutionType: &g.ExecutionType, AllocationRequestId: &g.AllocationRequestID,
			AllocationTags: g.Tags, Version: &g.Version,
		}.Build()
	}
	return out, nil
}

func (s *Service) nmTokens(
	l *leader.Leader, attempt records.AttemptID, nodes []records.NodeID, user string,
) []*pb.NMToken {
	var out []*pb.NMToken
	for _, n := range nodes {
		t := &pb.NMToken{}
		t.SetNodeId(s.forms(n).id)
		t.SetToken(s.nmToken(l, attempt, n, user).PB())
		out = append(out, t)
	}
	return out
}

// probeNodes tells of nodes that take probes of short tasks, with tokens for them.
func probeNodes(s *Service, l *leader.Leader, resp *pb.AllocateResponse, attempt records.AttemptID, reply *leader.AllocateReply, user string) {
	var come []*pb.ProbeNode
	for _, n := range reply.ProbeNodes {
		m := &pb.ProbeNode{}
		m.SetNodeId(s.forms(n.ID).id)
		m.SetPort(n.Port)
		m.SetLong(n.Long)
		m.SetShort(n.Short)
		m.SetToken(s.nmToken(l, attempt, n.ID, user).PB())
		come = append(come, m)
	}
	var gone []*pb.NodeId
	for _, id := range reply.ProbesGone {
		gone = append(gone, s.forms(id).id)
	}
	resp.SetHeddleProbeNodes(come)
	resp.SetHeddleProbeNodesGone(gone)
}

// complete has an address, which builders take.
var complete = pb.ContainerState_C_COMPLETE

func (s *Service) completions(list []leader.Completion) []*pb.ContainerStatus {
	out := make([]*pb.ContainerStatus, len(list))
	p := s.parts()
	defer s.done(p)
	for i := range list {
		c := &list[i]
		out[i] = pb.ContainerStatus_builder{
			ContainerId: p.container(c.ID), State: &complete, Diagnostics: &c.Diagnostics,
			ExitStatus: &c.ExitStatus, Capability: p.size(c.Resource), ExecutionType: &c.Execution,
		}.Build()
	}
	return out
}

// nodeUpdates reports nodes that came or went, each once, as it is now.
func (s *Service) nodeUpdates(list []leader.NodeUpdate) []*pb.NodeReport {
	last := map[records.NodeID]pb.NodeUpdateType{}
	var order []records.NodeID
	for _, u := range list {
		if _, seen := last[u.Node]; !seen {
			order = append(order, u.Node)
		}
		last[u.Node] = u.Kind
	}
	var out []*pb.NodeReport
	for _, id := range order {
		n, ok := s.View.Node(id)
		if !ok {
			continue
		}
		r := s.nodeReport(&n)
		r.SetNodeUpdateType(last[id])
		out = append(out, r)
	}
	return out
}

func (s *Service) finishMaster(
	ctx context.Context, req *pb.FinishApplicationMasterRequest,
) (*pb.FinishApplicationMasterResponse, error) {
	l, id, err := s.bearer(ctx)
	if err != nil {
		return nil, err
	}
	err = l.Finish(id.Attempt, req.GetFinalApplicationStatus(), req.GetDiagnostics(), req.GetTrackingUrl())
	if err != nil {
		return nil, s.exception(err)
	}
	s.Door.Mastered(s.master(ctx, id.Attempt.App), audit.UnregisterMaster, id.Attempt)
	resp := &pb.FinishApplicationMasterResponse{}
	resp.SetIsUnregistered(true)
	return resp, nil
}
