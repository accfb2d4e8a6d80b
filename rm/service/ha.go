package service

import (
	"context"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// serveHA serves HAServiceProtocol. Leaders are elected by the group itself; a transition asked for by an administrator is
// a transfer of leadership.
func (s *Service) serveHA(server *ipc.Server) {
	protocol.MonitorHealth.Serve(server, empty[pb.MonitorHealthRequest, pb.MonitorHealthResponse])
	protocol.GetServiceStatus.Serve(server, s.serviceStatus)
	protocol.TransitionToActive.Serve(server, s.toActive)
	protocol.TransitionToStandby.Serve(server, s.toStandby)
	protocol.TransferLeadership.Serve(server, s.transferLeadership)
	protocol.RemoveMember.Serve(server, s.removeMember)
	protocol.ForceLeader.Serve(server, s.forceLeader)
	protocol.TransitionToObserver.Serve(server,
		off[pb.TransitionToObserverRequest, pb.TransitionToObserverResponse](
			ipc.NewException(ipc.ServiceFailed, "Does not support transition to Observer")))
}

func (s *Service) serviceStatus(
	context.Context, *pb.GetServiceStatusRequest,
) (*pb.GetServiceStatusResponse, error) {
	resp := &pb.GetServiceStatusResponse{}
	resp.SetState(pb.HAServiceState_STANDBY)
	if s.Backend.Leader() != nil {
		resp.SetState(pb.HAServiceState_ACTIVE)
	}
	resp.SetReadyToBecomeActive(true)
	resp.SetHeddleLedgerVersion(s.Backend.LedgerVersion())
	return resp, nil
}

func (s *Service) toActive(
	ctx context.Context, _ *pb.TransitionToActiveRequest,
) (*pb.TransitionToActiveResponse, error) {
	if err := s.transfer(ctx, "transitionToActive", false); err != nil {
		return nil, err
	}
	return &pb.TransitionToActiveResponse{}, nil
}

func (s *Service) toStandby(
	ctx context.Context, _ *pb.TransitionToStandbyRequest,
) (*pb.TransitionToStandbyResponse, error) {
	if err := s.transfer(ctx, "transitionToStandby", true); err != nil {
		return nil, err
	}
	return &pb.TransitionToStandbyResponse{}, nil
}

func (s *Service) transfer(ctx context.Context, what string, away bool) error {
	if err := s.adminOfHA(ctx, what); err != nil {
		return err
	}
	if leads := s.Backend.Leader() != nil; leads != away {
		return nil // it is so already
	}
	to := s.Backend.ID()
	if away {
		to = ""
	}
	if err := s.Backend.Transfer(ctx, to); err != nil {
		return ipc.NewException(ipc.ServiceFailed, "Error when transitioning %s: %v", s.Backend.ID(), err)
	}
	return nil
}

func (s *Service) transferLeadership(
	ctx context.Context, req *pb.TransferLeadershipRequest,
) (*pb.TransferLeadershipResponse, error) {
	if err := s.admin(ctx, "transferLeadership"); err != nil {
		return nil, err
	}
	if _, err := s.leader(); err != nil {
		return nil, err
	}
	if err := s.Backend.Transfer(ctx, req.GetTo()); err != nil {
		return nil, ipc.NewException(ipc.ServiceFailed, "Error when transferring leadership: %v", err)
	}
	return &pb.TransferLeadershipResponse{}, nil
}

func (s *Service) removeMember(ctx context.Context, req *pb.RemoveMemberRequest) (*pb.RemoveMemberResponse, error) {
	if err := s.admin(ctx, "removeMember"); err != nil {
		return nil, err
	}
	if _, err := s.leader(); err != nil {
		return nil, err
	}
	if err := s.Backend.RemoveMember(ctx, req.GetId()); err != nil {
		return nil, ipc.NewException(ipc.ServiceFailed, "Error when removing member %s: %v", req.GetId(), err)
	}
	return &pb.RemoveMemberResponse{}, nil
}

// forceLeader makes the member that is called lead without the others.
func (s *Service) forceLeader(ctx context.Context, req *pb.ForceLeaderRequest) (*pb.ForceLeaderResponse, error) {
	if err := s.admin(ctx, "forceLeader"); err != nil {
		return nil, err
	}
	loss, err := s.Backend.ForceLeader(ctx, ipc.CallFrom(ctx).User, req.GetLose())
	if err != nil {
		return nil, ipc.NewException(ipc.ServiceFailed, "Error when forcing %s to lead: %v", s.Backend.ID(), err)
	}
	resp := &pb.ForceLeaderResponse{}
	resp.SetLoss(loss)
	return resp, nil
}
