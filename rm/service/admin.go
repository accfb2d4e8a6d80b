package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"heddle/rm/hosts"
	"heddle/rm/leader/queueconf"
	"heddle/rm/service/attributes"
	"heddle/rm/service/labels"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// ServeAdmins serves ResourceManagerAdministrationProtocol and, where there are several ResourceManagers,
// HAServiceProtocol.
func (s *Service) ServeAdmins(server *ipc.Server) {
	protocol.RefreshQueues.Serve(server, administered(s, "refreshQueues", s.refreshQueues))
	protocol.RefreshNodes.Serve(server, administered(s, "refreshNodes", s.refreshNodes))
	protocol.RefreshNodesResources.Serve(server,
		refresh[pb.RefreshNodesResourcesRequest, pb.RefreshNodesResourcesResponse](s, "refreshNodesResources"))
	protocol.RefreshSuperUserGroupsConfiguration.Serve(server,
		reread[pb.RefreshSuperUserGroupsConfigurationRequest, pb.RefreshSuperUserGroupsConfigurationResponse](
			s, "refreshSuperUserGroupsConfiguration", ProxyUsers))
	protocol.RefreshUserToGroupsMappings.Serve(server,
		reread[pb.RefreshUserToGroupsMappingsRequest, pb.RefreshUserToGroupsMappingsResponse](
			s, "refreshUserToGroupsMappings", Groups))
	protocol.RefreshAdminAcls.Serve(server,
		reread[pb.RefreshAdminAclsRequest, pb.RefreshAdminAclsResponse](s, "refreshAdminAcls", Admins))
	serviceACLs := reread[pb.RefreshServiceAclsRequest, pb.RefreshServiceAclsResponse](s, "refreshServiceAcls", ServiceACLs)
	if !s.ServiceACLs {
		serviceACLs = refuse[pb.RefreshServiceAclsRequest, pb.RefreshServiceAclsResponse](s, "refreshServiceAcls", "Service Authorization (hadoop.security.authorization) not enabled.")
	}
	protocol.RefreshServiceAcls.Serve(server, serviceACLs)
	protocol.RefreshClusterMaxPriority.Serve(server,
		refresh[pb.RefreshClusterMaxPriorityRequest, pb.RefreshClusterMaxPriorityResponse](s, "refreshClusterMaxPriority"))
	protocol.CheckForDecommissioningNodes.Serve(server, s.leavingNodes)
	protocol.UpdateNodeResource.Serve(server, administered(s, "updateNodeResource", s.updateNodeResource))
	protocol.GetGroupsForUser.Serve(server, s.groupsForUser)
	(&labels.Labels{Admin: s.admin, Leader: s.leader, Exception: s.exception, Done: s.administered}).ServeAdmins(server)
	(&attributes.Attributes{Admin: s.admin, Leader: s.leader, Exception: s.exception, Done: s.administered}).ServeAdmins(server)
	if s.Backend.HA() {
		s.serveHA(server)
	}
}

// administered answers a call that changes something, and writes what came of it into the audit log.
func administered[Req, Resp any](s *Service, name string, answer func(context.Context, *Req) (*Resp, error)) func(context.Context, *Req) (*Resp, error) {
	return func(ctx context.Context, req *Req) (*Resp, error) {
		resp, err := answer(ctx, req)
		s.administered(ctx, name, err)
		return resp, err
	}
}

func (s *Service) administered(ctx context.Context, name string, err error) {
	who := callerOf(ctx)
	s.Door.Administered(who, name, !s.Access.Admin(who.User), err)
}

// refresh has an administrator reread what is configured. The files that it would reread are read when they are needed, so
// there is nothing left to do.
func refresh[Req, Resp any](s *Service, name string) func(context.Context, *Req) (*Resp, error) {
	return administered(s, name, func(ctx context.Context, _ *Req) (*Resp, error) { return allowed[Resp](ctx, s, name) })
}

// allowed is an empty answer to an administrator of a leader.
func allowed[Resp any](ctx context.Context, s *Service, name string) (*Resp, error) {
	if err := s.admin(ctx, name); err != nil {
		return nil, err
	}
	if _, err := s.leader(); err != nil {
		return nil, err
	}
	return new(Resp), nil
}

// refreshQueues makes the leader read the files of queues again.
func (s *Service) refreshQueues(ctx context.Context, _ *pb.RefreshQueuesRequest) (*pb.RefreshQueuesResponse, error) {
	if err := s.admin(ctx, "refreshQueues"); err != nil {
		return nil, err
	}
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	err = l.QueueConf().Refresh()
	var wrong *queueconf.Error
	switch {
	case errors.As(err, &wrong):
		return nil, ipc.NewException(ipc.YarnException, "java.io.IOException: Failed to re-init queues : %v", wrong)
	case err != nil:
		return nil, s.exception(err)
	}
	return &pb.RefreshQueuesResponse{}, nil
}

// reread has an administrator reread a part of the configuration. Members that begin to lead later read it then.
func reread[Req, Resp any](s *Service, name string, what Refreshable) func(context.Context, *Req) (*Resp, error) {
	return administered(s, name, func(ctx context.Context, _ *Req) (*Resp, error) {
		resp, err := allowed[Resp](ctx, s, name)
		if err != nil {
			return nil, err
		}
		if err := s.Refresh(what); err != nil {
			return nil, ipc.NewException(ipc.IOException, "%v", err)
		}
		return resp, nil
	})
}

// refreshNodes rereads the lists of hosts, and has the leader act on them.
func (s *Service) refreshNodes(ctx context.Context, req *pb.RefreshNodesRequest) (*pb.RefreshNodesResponse, error) {
	if err := s.admin(ctx, "refreshNodes"); err != nil {
		return nil, err
	}
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	if req.GetDecommissionType() == pb.DecommissionType_DECOMMISSION_FORCEFUL {
		if err := l.Hosts().EndDecommissioning(); err != nil {
			return nil, s.exception(err)
		}
		return &pb.RefreshNodesResponse{}, nil
	}
	lists, err := s.Hosts.Read()
	if err != nil {
		return nil, ipc.NewException(ipc.YarnException, "java.io.IOException: %v", err)
	}
	timeout := hosts.Unset
	if req.HasDecommissionTimeout() {
		timeout = time.Duration(req.GetDecommissionTimeout()) * time.Second
	}
	if err := l.Hosts().RefreshNodes(lists, req.GetDecommissionType() == pb.DecommissionType_DECOMMISSION_GRACEFUL, timeout); err != nil {
		return nil, s.exception(err)
	}
	return &pb.RefreshNodesResponse{}, nil
}

func (s *Service) leavingNodes(
	ctx context.Context, _ *pb.CheckForDecommissioningNodesRequest,
) (*pb.CheckForDecommissioningNodesResponse, error) {
	if err := s.admin(ctx, "checkForDecommissioningNodes"); err != nil {
		return nil, err
	}
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	ids, err := l.Hosts().Leaving()
	if err != nil {
		return nil, s.exception(err)
	}
	resp := &pb.CheckForDecommissioningNodesResponse{}
	var nodes []*pb.NodeId
	for _, id := range ids {
		nodes = append(nodes, id.PB())
	}
	resp.SetDecommissioningNodes(nodes)
	return resp, nil
}

// refuse tells an administrator why something can't be done. The ResourceManager's clients try a call again for minutes
// that fails by an IOException, so that AdminService wraps what are IOExceptions to it.
func refuse[Req, Resp any](s *Service, name, why string) func(context.Context, *Req) (*Resp, error) {
	return administered(s, name, func(ctx context.Context, _ *Req) (*Resp, error) {
		if err := s.admin(ctx, name); err != nil {
			return nil, err
		}
		return nil, ipc.NewException(ipc.YarnException, "java.io.IOException: %s", why)
	})
}

func (s *Service) updateNodeResource(
	ctx context.Context, req *pb.UpdateNodeResourceRequest,
) (*pb.UpdateNodeResourceResponse, error) {
	if err := s.admin(ctx, "updateNodeResource"); err != nil {
		return nil, err
	}
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	var unknown []string // one of them, and no node is changed
	for _, m := range req.GetNodeResourceMap() {
		id := records.NodeIDFrom(m.GetNodeId())
		if _, _, ok := l.Node(id); !ok {
			unknown = append(unknown, id.String())
		}
	}
	if len(unknown) > 0 {
		return nil, ipc.NewException(ipc.YarnException,
			"Resource update get failed on all nodes due to change resource on an unrecognized node: %s", strings.Join(unknown, ", "))
	}
	for _, m := range req.GetNodeResourceMap() {
		r, err := s.Types.From(m.GetResourceOption().GetResource())
		if err != nil {
			return nil, ipc.NewException(ipc.YarnException, "%v", err)
		}
		if err := l.SetNodeResource(records.NodeIDFrom(m.GetNodeId()), r); err != nil {
			return nil, s.exception(err)
		}
	}
	return &pb.UpdateNodeResourceResponse{}, nil
}

// groupsForUser says that a user who isn't known is in no groups, as UserGroupInformation does.
func (s *Service) groupsForUser(
	ctx context.Context, req *pb.GetGroupsForUserRequest,
) (*pb.GetGroupsForUserResponse, error) {
	if err := s.admin(ctx, "getGroupsForUser"); err != nil {
		return nil, ipc.NewException(ipc.IOException, "%s: %v", ipc.YarnException, err)
	}
	groups, err := s.Groups(req.GetUser())
	if err != nil {
		s.Log.WithError(err).WithField("user", req.GetUser()).Warn("groups of a user aren't known")
	}
	resp := &pb.GetGroupsForUserResponse{}
	resp.SetGroups(groups)
	return resp, nil
}
