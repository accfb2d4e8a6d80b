package service

import (
	"context"

	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// queue answers with a queue, and those below it. An unknown queue is an answer without one, as in Hadoop.
func (s *Service) queue(ctx context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
	resp := &pb.GetQueueInfoResponse{}
	q, ok := s.Queues.Tree().Find(req.GetQueueName())
	if !ok || req.GetQueueName() == "" {
		return resp, nil
	}
	t := queueTree{
		Service: s, ctx: ctx, uses: s.View.QueueUses(s.Queues.Tree(), records.Resource{}),
		apps: req.GetIncludeApplications(), deep: req.GetRecursive(),
	}
	resp.SetQueueInfo(t.info(q, req.GetIncludeChildQueues()))
	return resp, nil
}

// queueTree makes answers about queues.
type queueTree struct {
	*Service
	ctx  context.Context
	uses map[string]*view.QueueUse
	apps bool // with the applications in them
	deep bool // with all queues below
}

// currentCapacity is the part of what a queue is promised that it uses. Capacity queues measure it by all resources that count for their
// limits, at least of one smallest container (Hadoop: CSQueueUtils.updateUsedCapacity); others by memory.
func currentCapacity(kind queue.Kind, u *view.QueueUse) float32 {
	if kind == queue.Capacity && u.State.Path != "" {
		return float32(u.State.UsedShare)
	}
	if promised := u.Share.Min.MemoryMB(); promised > 0 {
		return float32(u.Used.MemoryMB()) / float32(promised)
	}
	return 0
}

func (t *queueTree) info(q *queue.Queue, children bool) *pb.QueueInfo {
	u := t.uses[q.Path]
	promised, most := u.Share.Min, u.Share.Max
	m := &pb.QueueInfo{}
	m.SetQueueName(q.Name)
	m.SetQueuePath(q.Path)
	m.SetCapacity(q.Capacity)
	m.SetMaximumCapacity(q.Maximum)
	m.SetCurrentCapacity(currentCapacity(t.Queues.Tree().Kind, u))
	m.SetState(queueState(q, u))
	m.SetAccessibleNodeLabels(q.Labels)
	m.SetPreemptionDisabled(q.NoPreemption)
	m.SetIntraQueuePreemptionDisabled(q.NoIntraPreemption)
	m.SetWeight(-1)
	m.SetMaxParallelApps(q.MaxParallelApps)
	m.SetSchedulerType(schedulerTypes[t.Queues.Tree().Kind])
	m.SetQueueStatistics(t.statistics(q, u, most))
	c := &pb.QueueConfigurations{}
	c.SetCapacity(q.Capacity)
	c.SetAbsoluteCapacity(q.AbsoluteCapacity)
	c.SetMaxCapacity(q.Maximum)
	c.SetAbsoluteMaxCapacity(q.AbsoluteMaximum)
	c.SetMaxAMPercentage(q.MaxAMShare)
	c.SetEffectiveMinCapacity(t.Types.PB(promised))
	c.SetEffectiveMaxCapacity(t.Types.PB(most))
	c.SetConfiguredMinCapacity(t.Types.PB(records.Resource{}))
	c.SetConfiguredMaxCapacity(t.Types.PB(records.Resource{}))
	partition := &pb.QueueConfigurationsMap{}
	partition.SetPartitionName("")
	partition.SetQueueConfigurations(c)
	m.SetQueueConfigurationsMap([]*pb.QueueConfigurationsMap{partition})
	if t.apps {
		var list []*pb.ApplicationReport
		for _, a := range u.Apps {
			list = append(list, t.appReport(t.shown(t.ctx, a)))
		}
		m.SetApplications(list)
	}
	if children {
		var list []*pb.QueueInfo
		for _, child := range q.Children {
			list = append(list, t.info(child, t.deep))
		}
		m.SetChildQueues(list)
	}
	return m
}

var schedulerTypes = map[queue.Kind]string{
	queue.Capacity: "CapacityScheduler", queue.Fair: "FairScheduler", queue.FIFO: "FifoScheduler",
}

// queueState: a queue that was stopped drains as long as there are applications in it.
func queueState(q *queue.Queue, u *view.QueueUse) pb.QueueState {
	switch {
	case !q.Stopped:
		return pb.QueueState_Q_RUNNING
	case len(u.Apps) > 0:
		return pb.QueueState_Q_DRAINING
	}
	return pb.QueueState_Q_STOPPED
}

// statistics count what lives in a queue; what has ended is counted for the cluster alone, and so for its only queue.
func (t *queueTree) statistics(q *queue.Queue, u *view.QueueUse, most records.Resource) *pb.QueueStatistics {
	m := &pb.QueueStatistics{}
	started := int64(u.Started())
	m.SetNumAppsSubmitted(int64(len(u.Apps)))
	m.SetNumAppsRunning(started)
	m.SetNumAppsPending(int64(len(u.Apps)) - started)
	m.SetNumAppsCompleted(0)
	m.SetNumAppsKilled(0)
	m.SetNumAppsFailed(0)
	if q.Parent == nil || len(t.Queues.Tree().Root.Children) == 1 && q.Leaf() {
		all := t.View.Metrics()
		m.SetNumAppsSubmitted(all.Submitted)
		m.SetNumAppsCompleted(all.Completed)
		m.SetNumAppsKilled(all.Killed)
		m.SetNumAppsFailed(all.Failed)
	}
	m.SetNumActiveUsers(int64(u.Users()))
	free := most.Sub(u.Used).Max(records.Resource{})
	m.SetAvailableMemoryMB(free.MemoryMB())
	m.SetAvailableVCores(free.VCores())
	m.SetAllocatedMemoryMB(u.Used.MemoryMB())
	m.SetAllocatedVCores(u.Used.VCores())
	m.SetPendingMemoryMB(u.Pending.MemoryMB())
	m.SetPendingVCores(u.Pending.VCores())
	m.SetReservedMemoryMB(u.Reserved.Resource.MemoryMB())
	m.SetReservedVCores(u.Reserved.Resource.VCores())
	m.SetAllocatedContainers(int64(u.Containers))
	m.SetPendingContainers(u.Waiting)
	m.SetReservedContainers(int64(u.Reserved.Containers))
	return m
}

// queueACLs tells the caller what he may do with each queue.
func (s *Service) queueACLs(ctx context.Context, _ *pb.GetQueueUserAclsInfoRequest) (*pb.GetQueueUserAclsInfoResponse, error) {
	user := ipc.CallFrom(ctx).User
	var out []*pb.QueueUserACLInfo
	s.Queues.Tree().Root.All(func(q *queue.Queue) {
		info := &pb.QueueUserACLInfo{}
		info.SetQueueName(q.Path)
		var may []pb.QueueACL
		if s.Access.OnQueue(queue.Submit, user, q.Path) {
			may = append(may, pb.QueueACL_QACL_SUBMIT_APPLICATIONS)
		}
		if s.Access.OnQueue(queue.Administer, user, q.Path) {
			may = append(may, pb.QueueACL_QACL_ADMINISTER_QUEUE)
		}
		info.SetUserAcls(may)
		out = append(out, info)
	})
	resp := &pb.GetQueueUserAclsInfoResponse{}
	resp.SetQueueUserAcls(out)
	return resp, nil
}
