package service

import (
	"cmp"

	"heddle/rm/leader/request"
	"heddle/rm/service/attributes"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func (s *Service) appReport(a *view.App) *pb.ApplicationReport {
	r := &pb.ApplicationReport{}
	r.SetApplicationId(a.ID.PB())
	r.SetUser(a.User)
	r.SetQueue(a.Queue)
	r.SetName(a.Name)
	r.SetHost(a.Host)
	r.SetRpcPort(a.RPCPort)
	r.SetYarnApplicationState(a.State.Public())
	r.SetTrackingUrl(a.TrackingURL)
	r.SetDiagnostics(a.Diagnostics)
	r.SetStartTime(a.SubmitTime)
	r.SetFinishTime(a.FinishTime)
	r.SetFinalApplicationStatus(a.FinalStatus)
	r.SetAppResource_Usage(s.usage(a))
	r.SetOriginalTrackingUrl(a.OriginalTrackingURL)
	attempt := a.Attempt
	if attempt.Attempt == 0 {
		attempt = records.AttemptID{App: a.ID, Attempt: -1}
	}
	r.SetCurrentApplicationAttemptId(attempt.PB())
	r.SetProgress(a.Progress)
	r.SetApplicationType(a.Type)
	r.SetApplicationTags(a.Tags)
	if !a.Hidden {
		r.SetLogAggregationStatus(a.LogAggregation)
	}
	r.SetUnmanagedApplication(a.Unmanaged)
	r.SetPriority(priority(a.Priority))
	r.SetAppNodeLabelExpression(request.ShownLabel(a.Context))
	if !a.Unmanaged {
		r.SetAmNodeLabelExpression(cmp.Or(request.NotedLabel(a.Context), request.DefaultPartition))
	}
	r.SetAppTimeouts([]*pb.AppTimeoutsMap{s.lifetime(a)})
	r.SetLaunchTime(a.LaunchTime)
	return r
}

func (s *Service) lifetime(a *view.App) *pb.AppTimeoutsMap {
	to := &pb.ApplicationTimeout{}
	to.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
	expires, left := s.View.Lifetime(a)
	to.SetExpireTime(expires)
	to.SetRemainingTime(left)
	m := &pb.AppTimeoutsMap{}
	m.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
	m.SetApplicationTimeout(to)
	return m
}

func (s *Service) usage(a *view.App) *pb.ApplicationResourceUsageReport {
	u := &pb.ApplicationResourceUsageReport{}
	containers, used, reserved := int32(a.Containers), s.Types.PB(a.Used), s.Types.PB(a.Reserved.Resource)
	if a.State.Ended() || a.Hidden {
		containers = -1
		gone := s.Types.PB(records.NewResource(-1, -1))
		used, reserved = gone, gone
		u.SetNumReservedContainers(-1)
		u.SetNeededResources(gone)
	} else {
		u.SetNumReservedContainers(int32(a.Reserved.Requests)) // as YARN counts here
		u.SetNeededResources(s.Types.PB(a.Used.Add(a.Reserved.Resource)))
	}
	u.SetNumUsedContainers(containers)
	u.SetUsedResources(used)
	u.SetReservedResources(reserved)
	u.SetMemorySeconds(a.ResourceSeconds.MemoryMB())
	u.SetVcoreSeconds(a.ResourceSeconds.VCores())
	ofQueue, ofCluster := a.Usage(s.Queues.Tree())
	u.SetQueueUsagePercentage(ofQueue)
	u.SetClusterUsagePercentage(ofCluster)
	u.SetPreemptedMemorySeconds(a.PreemptedSeconds.MemoryMB())
	u.SetPreemptedVcoreSeconds(a.PreemptedSeconds.VCores())
	u.SetApplicationResourceUsageMap(s.amounts(a.ResourceSeconds))
	u.SetApplicationPreemptedResourceUsageMap(s.amounts(a.PreemptedSeconds))
	return u
}

func (s *Service) amounts(r records.Resource) []*pb.StringLongMap {
	out := make([]*pb.StringLongMap, s.Types.Len())
	for i := range out {
		out[i] = &pb.StringLongMap{}
		out[i].SetKey(s.Types.At(i).Name)
		out[i].SetValue(r[i])
	}
	return out
}

func attemptReport(t *view.Attempt) *pb.ApplicationAttemptReport {
	r := &pb.ApplicationAttemptReport{}
	r.SetApplicationAttemptId(t.ID.PB())
	r.SetHost(t.Host)
	r.SetRpcPort(t.RPCPort)
	r.SetTrackingUrl(t.TrackingURL)
	r.SetDiagnostics(t.Diagnostics)
	r.SetYarnApplicationAttemptState(t.State.Public())
	if t.AMContainer != (records.ContainerID{}) {
		r.SetAmContainerId(t.AMContainer.PB())
	}
	r.SetOriginalTrackingUrl(t.OriginalTrackingURL)
	r.SetStartTime(t.StartTime)
	r.SetFinishTime(t.FinishTime)
	return r
}

func (s *Service) containerReport(c *view.Container) *pb.ContainerReport {
	r := &pb.ContainerReport{}
	r.SetContainerId(c.ID.PB())
	r.SetResource(s.Types.PB(c.Resource))
	r.SetNodeId(c.Node.PB())
	r.SetPriority(priority(c.Priority))
	r.SetCreationTime(c.Allocated)
	r.SetFinishTime(c.Finished)
	if text := s.View.Diagnostics(*c); text != "" {
		r.SetDiagnosticsInfo(text) // absent, "yarn container -status" prints null
	}
	r.SetLogUrl(view.LogsURL(s.View.URL(c.NodeHTTPAddress), c.ID, c.User))
	r.SetContainerExitStatus(0)
	r.SetContainerState(pb.ContainerState_C_RUNNING)
	if c.Suspended() {
		r.SetHeddleSuspended(true) // YARN has no such state of a container
	}
	if c.NodeHTTPAddress != "" {
		r.SetNodeHttpAddress(s.View.URL(c.NodeHTTPAddress))
	}
	r.SetExecutionType(c.ExecutionType)
	return r
}

func (s *Service) nodeReport(n *view.Node) *pb.NodeReport {
	r := &pb.NodeReport{}
	r.SetNodeId(n.ID.PB())
	r.SetHttpAddress(n.HTTPAddress())
	r.SetRackName(n.Rack)
	r.SetUsed(s.Types.PB(n.Used))
	r.SetCapability(s.Types.PB(n.Capability))
	r.SetNumContainers(int32(n.Count))
	r.SetNodeState(n.State)
	r.SetHealthReport(n.HealthReport)
	if n.Label != "" {
		r.SetNodeLabels([]string{n.Label})
	}
	r.SetNodeAttributes(attributes.Messages(n.Attributes))
	r.SetLastHealthReportTime(n.RegisteredAt)
	if left := n.DecommissionDeadline - s.View.Now().UnixMilli(); n.State == pb.NodeState_NS_DECOMMISSIONING && n.DecommissionDeadline > 0 {
		r.SetDecommissioningTimeout(uint32(max(0, left+999) / 1000))
	}
	if n.Known {
		if n.Status.HealthTime > 0 {
			r.SetLastHealthReportTime(n.Status.HealthTime)
		}
		r.SetContainersUtilization(n.Status.Containers)
		r.SetNodeUtilization(n.Status.Node)
		if t := n.Status.ShortTasks; t != nil {
			r.SetHeddleLent(s.Types.PB(t.Lent))
			r.SetHeddleLentUsed(s.Types.PB(t.Used))
			r.SetHeddleProbesWaiting(int32(n.Status.Waiting))
		}
	}
	return r
}
