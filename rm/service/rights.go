package service

import (
	"context"

	"heddle/rm/door"
	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// callerOf is who makes a call.
func callerOf(ctx context.Context) door.Caller {
	call := ipc.CallFrom(ctx)
	return door.Caller{User: call.User, Address: call.Addr.Addr(), Context: call.CallerContext}
}

// visible returns an error unless the caller may see what belongs to an application that is there.
func (s *Service) visible(ctx context.Context, id records.ApplicationID, what string) error {
	a, err := s.app(id)
	if err != nil {
		return err
	}
	if user := ipc.CallFrom(ctx).User; !s.Access.MayView(user, a.Rights()) {
		return ipc.NewException(ipc.YarnException, "User %s does not have privilege to see this %s", user, what)
	}
	return nil
}

// shown returns what the caller may see of an application (Hadoop: RMAppImpl.createAndGetApplicationReport): a itself, or a copy
// with the rest taken out.
func (s *Service) shown(ctx context.Context, a *view.App) *view.App {
	if s.Access.MayView(ipc.CallFrom(ctx).User, a.Rights()) {
		return a
	}
	const unavailable = "N/A"
	hidden := *a
	hidden.Host, hidden.RPCPort = unavailable, -1
	hidden.TrackingURL, hidden.OriginalTrackingURL = unavailable, unavailable
	hidden.Diagnostics, hidden.Progress = unavailable, 0
	hidden.Attempt = records.AttemptID{App: a.ID}
	hidden.Used, hidden.ResourceSeconds, hidden.PreemptedSeconds = records.Resource{}, records.Resource{}, records.Resource{}
	hidden.Hidden = true
	return &hidden
}

func (s *Service) move(
	ctx context.Context, req *pb.MoveApplicationAcrossQueuesRequest,
) (*pb.MoveApplicationAcrossQueuesResponse, error) {
	l, err := s.leader()
	if err != nil {
		return nil, err
	}
	if _, err := s.Door.Move(l, callerOf(ctx), records.ApplicationIDFrom(req.GetApplicationId()), req.GetTargetQueue()); err != nil {
		return nil, s.exception(err)
	}
	return &pb.MoveApplicationAcrossQueuesResponse{}, nil
}

// admin returns the exception for a user who must not administer the cluster, as Hadoop's AdminService wraps it.
func (s *Service) admin(ctx context.Context, what string) error {
	if err := s.adminOfHA(ctx, what); err != nil {
		return ipc.NewException(ipc.YarnException, "%s: %v", ipc.AccessControlException, err)
	}
	return nil
}

// adminOfHA is admin for HAServiceProtocol, whose exceptions come as they are.
func (s *Service) adminOfHA(ctx context.Context, what string) error {
	if user := ipc.CallFrom(ctx).User; !s.Access.Admin(user) {
		return ipc.NewException(ipc.AccessControlException, "User %s doesn't have permission to call '%s'", user, what)
	}
	return nil
}
