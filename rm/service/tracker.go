package service

import (
	"context"
	"time"

	"heddle/conf"
	"heddle/rm/leader"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/level"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/leader/warming"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/service/stages"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// ServeNodes serves ResourceTracker.
func (s *Service) ServeNodes(server *ipc.Server) {
	protocol.RegisterNodeManager.Serve(server, s.registerNode)
	protocol.NodeHeartbeat.Serve(server, s.heartbeat)
	protocol.UnRegisterNodeManager.Serve(server, s.unregisterNode)
}

func (s *Service) registerNode(
	ctx context.Context, req *pb.RegisterNodeManagerRequest,
) (*pb.RegisterNodeManagerResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	capability, err := s.Types.From(req.GetResource())
	if err != nil {
		return s.refuseNode("NodeManager %v: %v", records.NodeIDFrom(req.GetNodeId()), err), nil
	}
	id := records.NodeIDFrom(req.GetNodeId())
	who, err := s.nodeCaller(ctx, id)
	if err != nil {
		return nil, err
	}
	r := leader.NodeRegistration{
		Node: id, NodeCaller: who, Names: s.namesOf(ctx, id.Host, who), HTTPPort: req.GetHttpPort(), Capability: capability,
		Version:  req.GetNmVersion(),
		Instance: req.GetHeddleCapabilities().GetInstance(),
		Features: req.GetHeddleCapabilities().GetFeatures(), Missing: req.GetHeddleCapabilities().GetMissing(),
		Logs:      req.GetLogAggregationReportsForApps(),
		ProbePort: req.GetHeddleCapabilities().GetProbePort(),
	}
	if t := shortTasks(req.GetHeddleShortTasks(), s.Types); t != nil {
		r.Lent = t.Lent
	}
	if r.Node.Host == "" || r.Node.Port <= 0 {
		return s.refuseNode("NodeManager without host or port: %v", r.Node), nil
	}
	for _, c := range req.GetContainerStatuses() {
		r.Containers = append(r.Containers, leader.NodeContainer{
			ID: records.ContainerIDFrom(c.GetContainerId()), State: c.GetContainerState(),
			ExitStatus: c.GetContainerExitStatus(), Diagnostics: c.GetDiagnostics(), Resource: c.GetResource(),
		})
	}
	for _, id := range req.GetRunningApplications() {
		r.Apps = append(r.Apps, records.ApplicationIDFrom(id))
	}
	if req.HasNodeStatus() {
		status := nodeStatus(req.GetNodeStatus())
		r.Status = &status
	}
	reply, err := l.RegisterNode(r)
	if err != nil {
		return nil, s.exception(err)
	}
	if reply.Action != pb.NodeAction_NORMAL {
		return s.refuseNode("%s", reply.Diagnostics), nil
	}
	resp := &pb.RegisterNodeManagerResponse{}
	resp.SetContainerTokenMasterKey(masterKey(nodeKey(l, ledgerpb.KeyKind_CONTAINER)))
	resp.SetNmTokenMasterKey(masterKey(nodeKey(l, ledgerpb.KeyKind_NM)))
	resp.SetNodeAction(reply.Action)
	resp.SetRmIdentifier(s.View.Cluster().Timestamp)
	resp.SetRmVersion(conf.HadoopVersion)
	if !reply.FirstLent.IsZero() {
		resp.SetHeddleLent(s.Types.PB(reply.FirstLent))
		resp.SetResource(s.Types.PB(reply.Rest))
	}
	return resp, nil
}

func (s *Service) refuseNode(format string, args ...any) *pb.RegisterNodeManagerResponse {
	text := ipc.NewException("", format, args...).Text
	s.Log.WithField("reason", text).Warn("node refused")
	resp := &pb.RegisterNodeManagerResponse{}
	resp.SetNodeAction(pb.NodeAction_SHUTDOWN)
	resp.SetDiagnosticsMessage(text)
	return resp
}

// nodeKey is the key that nodes are to have: the next one as soon as there is one.
func nodeKey(l *leader.Leader, kind ledgerpb.KeyKind) ledger.Key {
	ring := l.Keys(kind)
	if ring.Next.Secret != nil {
		return ring.Next
	}
	return ring.Current
}

func masterKey(key ledger.Key) *pb.MasterKey {
	m := &pb.MasterKey{}
	m.SetKeyId(key.ID)
	m.SetBytes(key.Secret)
	return m
}

func nodeStatus(m *pb.NodeStatus) leader.NodeStatus {
	h := m.GetNodeHealthStatus()
	return leader.NodeStatus{
		Healthy: h.GetIsNodeHealthy(), HealthReport: h.GetHealthReport(), HealthTime: h.GetLastHealthReportTime(),
		Containers: m.GetContainersUtilization(), Node: m.GetNodeUtilization(),
	}
}

func (s *Service) heartbeat(ctx context.Context, req *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	status := req.GetNodeStatus()
	who, err := s.nodeCaller(ctx, records.NodeIDFrom(status.GetNodeId()))
	if err != nil {
		return nil, err
	}
	call := leader.NodeCall{
		NodeCaller: who, Node: records.NodeIDFrom(status.GetNodeId()), ResponseID: status.GetResponseId(), Status: nodeStatus(status),
		Logs: req.GetLogAggregationReportsForApps(),
	}
	for _, c := range status.GetContainersStatuses() {
		call.Containers = append(call.Containers, leader.NodeContainer{
			ID: records.ContainerIDFrom(c.GetContainerId()), State: c.GetState(), ExitStatus: c.GetExitStatus(),
			Diagnostics: c.GetDiagnostics(), Sub: c.GetContainerSubState(), Resource: c.GetCapability(), Times: containerTimes(c),
		})
	}
	for _, c := range status.GetIncreasedContainers() {
		call.Increased = append(call.Increased, leader.NodeContainer{ID: records.ContainerIDFrom(c.GetId()), Resource: c.GetResource()})
	}
	for _, r := range req.GetHeddleRefusals() {
		call.Refused = append(call.Refused, startrefusal.Refusal{App: records.ApplicationIDFrom(r.GetApplicationId()), Reason: r.GetReason()})
	}
	memory := req.GetHeddleMemory()
	call.Memory = level.Memory{Full: memory.GetNoReclaim() != "", Out: memory.GetPageOutRate(), In: memory.GetPageInRate(), Pressure: pressure(memory.GetSome())}
	call.Levels, call.Failed = s.levels(req.GetHeddleSuspensions())
	for _, c := range req.GetHeddleContainerMemory() {
		call.Used = append(call.Used, level.Used{ID: records.ContainerIDFrom(c.GetContainerId()), Bytes: max(c.GetBytes(), 0)})
	}
	call.Outputs, call.FetchRate = stages.OutputsFrom(req.GetHeddleMapOutputs()), req.GetHeddleFetchRate()
	call.Inputs = warming.Inputs(req.GetHeddleJobInputs())
	call.ShortTasks = shortTasks(req.GetHeddleShortTasks(), s.Types)
	reply, err := l.HeartbeatNode(call)
	if err != nil {
		return nil, s.stranger(err)
	}
	resp := &pb.NodeHeartbeatResponse{}
	resp.SetNodeAction(reply.Action)
	if reply.Action != pb.NodeAction_NORMAL {
		resp.SetDiagnosticsMessage(reply.Diagnostics)
		return resp, nil
	}
	s.heartbeatReply(resp, &reply)
	if err := s.shrinkOrders(l, resp, reply.Resized); err != nil {
		return nil, err
	}
	if key := nodeKey(l, ledgerpb.KeyKind_CONTAINER); key.ID != req.GetLastKnownContainerTokenMasterKey().GetKeyId() {
		resp.SetContainerTokenMasterKey(masterKey(key))
	}
	if key := nodeKey(l, ledgerpb.KeyKind_NM); key.ID != req.GetLastKnownNmTokenMasterKey().GetKeyId() {
		resp.SetNmTokenMasterKey(masterKey(key))
	}
	resp.SetTokenSequenceNo(1)
	return resp, nil
}

// shortTasks reads what a node says of what it was lent; nil if it says nothing, or nothing that can be true.
func shortTasks(m *pb.NodeShortTasks, types records.ResourceTypes) *leader.ShortTasks {
	const longest = 1 << 40 // ms
	lent, err := types.From(m.GetLent())
	used, err2 := types.From(m.GetUsed())
	if m == nil || err != nil || err2 != nil || min(m.GetStarted(), m.GetWaitedMs(), m.GetBrokenQuotes(), m.GetQuotes()-m.GetBrokenQuotes()) < 0 || m.GetWaitedMs() > longest {
		return nil
	}
	return &leader.ShortTasks{Lent: lent, Used: used, News: lending.News{
		Started: m.GetStarted(), Waited: time.Duration(m.GetWaitedMs()) * time.Millisecond, Quotes: m.GetQuotes(), Broken: m.GetBrokenQuotes(),
	}}
}

// pressure is a percentage, whatever a node says.
func pressure(some float32) float64 {
	if !(some > 0) { // nor is it a number then
		return 0
	}
	return min(float64(some), 100)
}

// levels reads what a node says of containers that there were orders for, and which orders it can't carry out.
func (s *Service) levels(all []*pb.ContainerSuspension) (levels []level.Report, failed []level.Failed) {
	for _, c := range all {
		id := records.ContainerIDFrom(c.GetContainerId())
		if c.GetFailed() {
			failed = append(failed, level.Failed{Container: id, Version: c.GetVersion(), Reason: c.GetReason()})
		}
		held, err := s.Types.From(c.GetHeld())
		if err != nil { // a type that this cluster doesn't have
			continue
		}
		levels = append(levels, level.Report{
			Container: id, Version: c.GetVersion(), Wanted: c.GetWanted(), Level: c.GetLevel(), Held: held,
			Swapped: max(c.GetSwapped(), 0), Took: max(c.GetTookMs(), 0), Reason: limit.Head(c.GetReason(), limit.MaxName),
		})
	}
	return levels, failed
}

func (s *Service) heartbeatReply(resp *pb.NodeHeartbeatResponse, reply *leader.NodeReply) {
	resp.SetResponseId(reply.ResponseID)
	resp.SetNextHeartBeatInterval(s.Heartbeat.Milliseconds())
	p := s.parts()
	defer s.done(p)
	resp.SetContainersToCleanup(p.containers(reply.Cleanup))
	resp.SetContainersToBeRemovedFromNm(p.containers(reply.Removed))
	var apps []*pb.ApplicationId
	for _, id := range reply.CleanupApps {
		apps = append(apps, id.PB())
	}
	resp.SetApplicationsToCleanup(apps)
	if reply.Resource != nil {
		resp.SetResource(s.Types.PB(*reply.Resource))
	}
	if reply.Lent != nil {
		resp.SetHeddleLent(s.Types.PB(*reply.Lent))
	}
	var signals []*pb.SignalContainerRequest
	for _, sig := range reply.Signals {
		m := &pb.SignalContainerRequest{}
		m.SetContainerId(sig.Container.PB())
		m.SetCommand(sig.Command)
		signals = append(signals, m)
	}
	resp.SetContainersToSignal(signals)
	resp.SetHeddleWarming(warming.OrdersPB(reply.Warming))
}

// shrinkOrders has a node hold containers to less, each by a token of its new size.
func (s *Service) shrinkOrders(l *leader.Leader, resp *pb.NodeHeartbeatResponse, grants []leader.Grant) error {
	var all []*pb.Container
	for i := range grants {
		one, err := s.grants(l, grants[i:i+1], s.owner(grants[i].ID.Attempt.App))
		if err != nil {
			return err
		}
		all = append(all, one...)
	}
	resp.SetContainersToUpdate(all)
	return nil
}

func (s *Service) unregisterNode(
	ctx context.Context, req *pb.UnRegisterNodeManagerRequest,
) (*pb.UnRegisterNodeManagerResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	id := records.NodeIDFrom(req.GetNodeId())
	who, err := s.nodeCaller(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := l.UnregisterNode(id, who); err != nil {
		return nil, s.stranger(err)
	}
	return &pb.UnRegisterNodeManagerResponse{}, nil
}

// containerTimes is what a Heddle node tells of the life of a container that has ended.
func containerTimes(c *pb.ContainerStatus) *ledgerpb.ContainerTimes {
	if c.GetState() != pb.ContainerState_C_COMPLETE || !c.HasHeddleTimes() {
		return nil
	}
	t := c.GetHeddleTimes()
	ago := func(has bool, ms int64) int64 {
		if !has {
			return -1
		}
		return ms
	}
	return ledger.NewContainerTimes(ago(t.HasAccepted(), t.GetAccepted()), ago(t.HasLocalized(), t.GetLocalized()),
		ago(t.HasLaunched(), t.GetLaunched()), ago(t.HasEnded(), t.GetEnded()))
}
