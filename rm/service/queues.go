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
	tree, uses := s.View.QueueUses(s.Queues.Tree(), records.Resource{})
	q, ok := tree.Find(req.GetQueueName())
	if !ok || req.GetQueueName() == "" {
		return resp, nil
	}
	t := queueTree{
		Service: s, ctx: ctx, tree: tree, uses: uses,
		apps: req.GetIncludeApplications(), deep: req.GetRecursive(), total: s.View.Total(),
		parts: view.PartitionsOf(s.View, tree),
	}
	resp.SetQueueInfo(t.info(q, req.GetIncludeChildQueues()))
	return resp, nil
}

// queuePaths returns the paths that names mean.
func (s *Service) queuePaths(names []string) []string {
	tree, out := s.Queues.Tree(), make([]string, len(names))
	for i, name := range names {
		out[i] = tree.Path(name)
	}
	return out
}

// queueTree makes answers about queues.
type queueTree struct {
	*Service
	ctx  context.Context
	tree *queue.Tree
	uses map[string]*view.QueueUse
	apps bool // with the applications in them
	deep bool // with all queues below

	total records.Resource // of nodes without a label
	parts *view.Partitions
}

// currentCapacity returns the part of what a queue is guaranteed that it uses. Capacity queues measure it by all resources that count for their
// limits, at least of one smallest container (Hadoop: CSQueueUtils.updateUsedCapacity); others by memory.
func currentCapacity(kind queue.Kind, u *view.QueueUse) float32 {
	if kind == queue.Capacity && u.State.Path != "" {
		return float32(u.State.UsedShare)
	}
	return part(u.Used, u.Share.Min)
}

// info returns a queue, with its children if they are wanted.
func (t *queueTree) info(q *queue.Queue, children bool) *pb.QueueInfo {
	u, describe := t.uses[q.Path], t.limited
	if t.tree.Kind == queue.Fair {
		describe = t.fair
	}
	m := describe(q, u)
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

// limited returns a queue of those with limits in parts of the cluster.
func (t *queueTree) limited(q *queue.Queue, u *view.QueueUse) *pb.QueueInfo {
	m := &pb.QueueInfo{}
	m.SetQueueName(q.Name)
	m.SetQueuePath(q.Path)
	m.SetCapacity(u.Share.Capacity)
	m.SetMaximumCapacity(u.Share.Maximum)
	m.SetCurrentCapacity(currentCapacity(t.tree.Kind, u))
	m.SetState(queueState(q, u))
	m.SetAccessibleNodeLabels(q.Labels)
	if q.DefaultLabel != "" {
		m.SetDefaultNodeLabelExpression(q.DefaultLabel)
	}
	m.SetPreemptionDisabled(q.NoPreemption)
	m.SetIntraQueuePreemptionDisabled(q.NoIntraPreemption)
	m.SetWeight(q.ShownWeight())
	m.SetMaxParallelApps(q.MaxParallelApps)
	m.SetSchedulerType(schedulerTypes[t.tree.Kind])
	m.SetQueueStatistics(t.statistics(q, u))
	m.SetQueueConfigurationsMap(t.configurations(q, &u.Share))
	return m
}

// configurations returns what is configured for a queue in each partition.
func (t *queueTree) configurations(q *queue.Queue, share *queue.Share) []*pb.QueueConfigurationsMap {
	all := []*pb.QueueConfigurationsMap{t.configuration("", q, share)}
	for _, name := range t.tree.LabelsOf(q) {
		in, part, _ := t.parts.Of(q, name)
		all = append(all, t.configuration(name, in, &part))
	}
	return all
}

func (t *queueTree) configuration(partition string, q *queue.Queue, share *queue.Share) *pb.QueueConfigurationsMap {
	c := &pb.QueueConfigurations{}
	c.SetCapacity(share.Capacity)
	c.SetAbsoluteCapacity(share.AbsoluteCapacity)
	c.SetMaxCapacity(share.Maximum)
	c.SetAbsoluteMaxCapacity(share.AbsoluteMaximum)
	c.SetMaxAMPercentage(q.MaxAMShare)
	c.SetEffectiveMinCapacity(t.Types.PB(share.Min))
	c.SetEffectiveMaxCapacity(t.Types.PB(share.Max))
	c.SetConfiguredMinCapacity(t.Types.PB(q.ConfiguredMin()))
	c.SetConfiguredMaxCapacity(t.Types.PB(q.ConfiguredMax()))
	m := &pb.QueueConfigurationsMap{}
	m.SetPartitionName(partition)
	m.SetQueueConfigurations(c)
	return m
}

// fair returns what YARN's FairScheduler tells of a queue (Hadoop: FSQueue.getQueueInfo): no limits in parts of the cluster, and the parts
// that it has by memory alone.
func (t *queueTree) fair(q *queue.Queue, u *view.QueueUse) *pb.QueueInfo {
	due := &u.State
	m := &pb.QueueInfo{}
	m.SetQueueName(q.Path)
	m.SetSchedulerType(schedulerTypes[queue.Fair])
	m.SetState(pb.QueueState_Q_RUNNING)
	m.SetCapacity(part(due.Fair, t.total))
	m.SetCurrentCapacity(part(u.Used, due.Fair))
	m.SetWeight(float32(q.Fair.Weight))
	m.SetMaxRunningApp(q.MaxParallelApps)
	m.SetPreemptionDisabled(!q.Fair.NoPreemption) // the wrong way round in Hadoop, and so in what its clients print
	least, most := u.Share.Min, u.Share.Max.Min(t.total)
	m.SetMinResourceMemory(least.MemoryMB())
	m.SetMinResourceVCore(records.Int32(most.VCores())) // not the least: Hadoop's QueueInfoPBImpl writes both into this field
	m.SetMaxResourceMemory(most.MemoryMB())
	m.SetReservedResourceMemory(u.Reserved.Resource.MemoryMB())
	m.SetReservedResourceVCore(records.Int32(u.Reserved.Resource.VCores()))
	m.SetSteadyFairShareMemory(due.Steady.MemoryMB())
	m.SetSteadyFairShareVCore(records.Int32(due.Steady.VCores()))
	m.SetQueueStatistics(t.statistics(q, u))
	return m
}

// part returns how much of a whole something is, by memory; nothing of nothing.
func part(of, whole records.Resource) float32 {
	if whole.MemoryMB() == 0 {
		return 0
	}
	return float32(of.MemoryMB()) / float32(whole.MemoryMB())
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

// statistics count what lives in a queue, and what has ended: in the cluster and its only queue from when the cluster began, elsewhere from when this leader began.
func (t *queueTree) statistics(q *queue.Queue, u *view.QueueUse) *pb.QueueStatistics {
	m := &pb.QueueStatistics{}
	started := int64(u.Started())
	m.SetNumAppsSubmitted(u.Past.Submitted)
	m.SetNumAppsRunning(started)
	m.SetNumAppsPending(int64(len(u.Apps)) - started)
	m.SetNumAppsCompleted(u.Past.Completed)
	m.SetNumAppsKilled(u.Past.Killed)
	m.SetNumAppsFailed(u.Past.Failed)
	if q.Parent == nil || len(t.tree.Root.Children) == 1 && q.Leaf() {
		all := t.View.Metrics()
		m.SetNumAppsSubmitted(all.Submitted)
		m.SetNumAppsCompleted(all.Completed)
		m.SetNumAppsKilled(all.Killed)
		m.SetNumAppsFailed(all.Failed)
	}
	m.SetNumActiveUsers(int64(u.Active().Users))
	free := u.Available(t.tree, q, t.total)
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

// queueACLs tells the caller what it may do with each queue, by the lists alone, as in YARN: yarn.acl.enable may be off.
func (s *Service) queueACLs(ctx context.Context, _ *pb.GetQueueUserAclsInfoRequest) (*pb.GetQueueUserAclsInfoResponse, error) {
	user := ipc.CallFrom(ctx).User
	var out []*pb.QueueUserACLInfo
	tree, _ := s.View.QueueUses(s.Queues.Tree(), records.Resource{})
	tree.Root.All(func(q *queue.Queue) {
		info := &pb.QueueUserACLInfo{}
		info.SetQueueName(q.Path)
		if tree.Kind == queue.FIFO {
			if q.Parent == nil {
				return // a FifoScheduler has only default
			}
			info.SetQueueName(q.Name)
		}
		info.SetUserAcls(s.Access.Rights(tree, user, q.Path))
		out = append(out, info)
	})
	resp := &pb.GetQueueUserAclsInfoResponse{}
	resp.SetQueueUserAcls(out)
	return resp, nil
}
