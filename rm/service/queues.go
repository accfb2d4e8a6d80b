package service

import (
	"context"

	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
)

// queue answers for the one queue that there is, and its root. An unknown queue is an answer without one, as in Hadoop.
func (s *Service) queue(_ context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
	resp := &pb.GetQueueInfoResponse{}
	switch req.GetQueueName() {
	case "root":
		root := s.queueInfo("root", "root", req.GetIncludeApplications())
		if req.GetIncludeChildQueues() {
			root.SetChildQueues([]*pb.QueueInfo{s.queueInfo("default", "root.default", req.GetIncludeApplications())})
		}
		resp.SetQueueInfo(root)
	case "default", "root.default":
		resp.SetQueueInfo(s.queueInfo("default", "root.default", req.GetIncludeApplications()))
	}
	return resp, nil
}

func (s *Service) queueInfo(name, path string, apps bool) *pb.QueueInfo {
	total, used := s.View.Total(), s.View.Used()
	q := &pb.QueueInfo{}
	q.SetQueueName(name)
	q.SetQueuePath(path)
	q.SetCapacity(1)
	q.SetMaximumCapacity(1)
	q.SetCurrentCapacity(0)
	if total.MemoryMB() > 0 {
		q.SetCurrentCapacity(float32(used.MemoryMB()) / float32(total.MemoryMB()))
	}
	q.SetState(pb.QueueState_Q_RUNNING)
	q.SetAccessibleNodeLabels([]string{"*"})
	q.SetPreemptionDisabled(true)
	q.SetIntraQueuePreemptionDisabled(true)
	q.SetSchedulerType("CapacityScheduler")
	if apps {
		var list []*pb.ApplicationReport
		for _, a := range s.View.Apps(view.Filter{States: []pb.YarnApplicationState{
			pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING,
		}}) {
			list = append(list, s.appReport(&a))
		}
		q.SetApplications(list)
	}
	return q
}

func (s *Service) queueACLs(
	context.Context, *pb.GetQueueUserAclsInfoRequest,
) (*pb.GetQueueUserAclsInfoResponse, error) {
	var out []*pb.QueueUserACLInfo
	for _, name := range []string{"root", "default"} {
		info := &pb.QueueUserACLInfo{}
		info.SetQueueName(name)
		info.SetUserAcls([]pb.QueueACL{pb.QueueACL_QACL_SUBMIT_APPLICATIONS, pb.QueueACL_QACL_ADMINISTER_QUEUE})
		out = append(out, info)
	}
	resp := &pb.GetQueueUserAclsInfoResponse{}
	resp.SetQueueUserAcls(out)
	return resp, nil
}

// admin returns the exception for a user who must not administer the cluster.
func (s *Service) admin(ctx context.Context, what string) error {
	if user := ipc.CallFrom(ctx).User; !s.Access.Admin(user) {
		return ipc.NewException(ipc.AccessControlException, "User %s doesn't have permission to call '%s'", user, what)
	}
	return nil
}
