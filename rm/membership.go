package rm

import (
	"context"
	"errors"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Transfer makes a member lead, or with "" any member but this one. A member that doesn't lead passes the request on to the leader.
func (r *ResourceManager) Transfer(ctx context.Context, to string) error {
	r.AwaitLeadership() // there may be an election under way
	l := r.Leader()
	if l == nil {
		admin, err := r.leadersControl()
		if err != nil {
			return err
		}
		req := &pb.TransferLeadershipRequest{}
		req.SetTo(to)
		_, err = protocol.TransferLeadership.Call(ctx, admin, req)
		return err
	}
	if to == r.id {
		return nil // since the election, perhaps
	}
	if to == "" {
		return r.raft.Transfer(ctx, to)
	}
	if _, err := r.WebAddressOf(to); err != nil {
		return err
	}
	if err := r.raft.CanLead(ctx, to); err != nil {
		return err
	}
	if err := l.OfferLeadership(to); err != nil {
		return err
	}
	err := r.raft.Transfer(ctx, to)
	if err != nil && r.Leader() == l {
		err = errors.Join(err, l.OfferLeadership(""))
	}
	return err
}

// RemoveMember removes a member from the group. Only the leader can.
func (r *ResourceManager) RemoveMember(ctx context.Context, id string) error {
	return r.raft.Remove(ctx, id)
}

// ForceLeader makes this member lead without the others, with what it has, or says what would be lost by that. by is the administrator's name.
func (r *ResourceManager) ForceLeader(ctx context.Context, by string, lose bool) (loss string, err error) {
	return r.raft.ForceLeader(ctx, by, lose)
}

// leadersControl returns where the leader takes other members' requests.
func (r *ResourceManager) leadersControl() (ipc.Invoker, error) {
	leads := r.LeaderID()
	if leads == "" || leads == r.id {
		return nil, errors.New("the group of ResourceManagers has no leader")
	}
	a, err := r.conf.RMAddress(AdminAddress, leads)
	if err != nil {
		return nil, err
	}
	return r.launcher.Client.Endpoint(r.conf.Connectable(a).String(), protocol.LeaderControl, r.own.identity()), nil
}
