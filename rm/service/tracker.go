package service

import (
	"context"

	"heddle/conf"
	"heddle/rm/leader"
	"heddle/rm/leader/warming"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/service/attributes"
	"heddle/rm/service/labels"
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
	if id.Host == "" || id.Port <= 0 {
		return s.refuseNode("NodeManager without host or port: %v", id), nil
	}
	r := registrationFrom(req, s.Types)
	r.NodeCaller, r.Names, r.Capability = who, s.namesOf(ctx, id.Host, who), capability
	reply, err := l.RegisterNode(r)
	if err != nil {
		return nil, s.exception(err)
	}
	if reply.Wait { // Hadoop's nodes try on after this exception, and after no other answer
		return nil, ipc.NewException(ipc.StandbyException, "%s", reply.Diagnostics)
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
	labels.Answer(resp, reply.LabelsAccepted, reply.Diagnostics)
	attributes.Answer(resp, reply.Attributes)
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

// nodeKey returns the key that nodes are to have: the next one as soon as there is one.
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

func (s *Service) heartbeat(ctx context.Context, req *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	who, err := s.nodeCaller(ctx, records.NodeIDFrom(req.GetNodeStatus().GetNodeId()))
	if err != nil {
		return nil, err
	}
	call := nodeCallFrom(req, s.Types)
	call.NodeCaller = who
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
	s.Handed.Keep(req.GetNodeStatus().GetKeepAliveApplications())
	handed, sequence := s.Handed.Beat(call.Node, req.GetTokenSequenceNo())
	resp.SetSystemCredentialsForApps(handed)
	resp.SetTokenSequenceNo(sequence)
	s.Collectors.Beat(call.Node, req, resp)
	return resp, nil
}

func (s *Service) heartbeatReply(resp *pb.NodeHeartbeatResponse, reply *leader.NodeReply) {
	resp.SetResponseId(reply.ResponseID)
	labels.Answer(resp, reply.LabelsAccepted, reply.Diagnostics)
	attributes.Answer(resp, reply.Attributes)
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
	if n := reply.QueueLimit; n != nil {
		limit := &pb.ContainerQueuingLimit{}
		limit.SetMaxQueueLength(int32(*n))
		limit.SetMaxQueueWaitTimeInMs(-1)
		resp.SetContainerQueuingLimit(limit)
	}
	if reply.Long != nil {
		resp.SetHeddleLong(*reply.Long)
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

// shrinkOrders tells a node to hold containers to less, each by a token of its new size.
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
