package service

import (
	"time"

	"heddle/rm/leader"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/level"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/leader/warming"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/service/attributes"
	"heddle/rm/service/labels"
	"heddle/rm/service/stages"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// registrationFrom reads a node's registration, except for the caller and the node's offers.
func registrationFrom(req *pb.RegisterNodeManagerRequest, types records.ResourceTypes) leader.NodeRegistration {
	c := req.GetHeddleCapabilities()
	r := leader.NodeRegistration{
		Node: records.NodeIDFrom(req.GetNodeId()), HTTPPort: req.GetHttpPort(), Version: req.GetNmVersion(),
		Instance: c.GetInstance(), Features: c.GetFeatures(), Missing: c.GetMissing(), Release: c.GetRelease(), ProbePort: c.GetProbePort(),
		Logs: req.GetLogAggregationReportsForApps(),
	}
	if t := shortTasks(req.GetHeddleShortTasks(), types); t != nil {
		r.Lent = t.Lent
	}
	r.Labels, r.Attributes = labels.NamesOf(req), attributes.Of(req)
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
	return r
}

func nodeStatus(m *pb.NodeStatus) leader.NodeStatus {
	h := m.GetNodeHealthStatus()
	return leader.NodeStatus{
		Healthy: h.GetIsNodeHealthy(), HealthReport: h.GetHealthReport(), HealthTime: h.GetLastHealthReportTime(),
		Containers: m.GetContainersUtilization(), Node: m.GetNodeUtilization(), Chances: opportunistic.StatusFrom(m.GetOpportunisticContainersStatus()),
	}
}

// nodeCallFrom reads a node's heartbeat, except for the caller.
func nodeCallFrom(req *pb.NodeHeartbeatRequest, types records.ResourceTypes) leader.NodeCall {
	status, memory := req.GetNodeStatus(), req.GetHeddleMemory()
	call := leader.NodeCall{
		Node: records.NodeIDFrom(status.GetNodeId()), ResponseID: status.GetResponseId(), Status: nodeStatus(status),
		Logs: req.GetLogAggregationReportsForApps(),
		Memory: level.Memory{
			Full: memory.GetNoReclaim() != "", Out: memory.GetPageOutRate(), In: memory.GetPageInRate(), Pressure: pressure(memory.GetSome()),
		},
		Outputs: stages.OutputsFrom(req.GetHeddleMapOutputs()), FetchRate: req.GetHeddleFetchRate(),
		Inputs: warming.News{Inputs: warming.Inputs(req.GetHeddleJobInputs()), Staged: warming.StagedFrom(req.GetHeddleStagedInputs())},
	}
	call.Status.ShortTasks, call.Status.Waiting = shortTasks(req.GetHeddleShortTasks(), types), int(max(req.GetHeddleShortTasks().GetWaiting(), 0))
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
	for _, c := range req.GetHeddleContainerMemory() {
		call.Used = append(call.Used, level.Used{ID: records.ContainerIDFrom(c.GetContainerId()), Bytes: max(c.GetBytes(), 0)})
	}
	call.Labels, call.Attributes = labels.NamesOf(req), attributes.Of(req)
	call.Levels, call.Failed = levelsFrom(req.GetHeddleSuspensions(), types)
	return call
}

// containerTimes returns what a Heddle node tells of a container's life.
func containerTimes(c *pb.ContainerStatus) *ledgerpb.ContainerTimes {
	if !c.HasHeddleTimes() {
		return nil
	}
	t := c.GetHeddleTimes()
	ago := func(has bool, ms int64) int64 {
		if !has {
			return -1
		}
		return ms
	}
	times := ledgerpb.NewContainerTimes(ago(t.HasAccepted(), t.GetAccepted()), ago(t.HasLocalized(), t.GetLocalized()),
		ago(t.HasLaunched(), t.GetLaunched()), ago(t.HasEnded(), t.GetEnded()))
	times.Cold, times.Starved = t.GetCold(), max(t.GetStarved(), 0)
	return times
}

// levelsFrom reads what a node says of containers that there were orders for, and which orders it can't carry out.
func levelsFrom(all []*pb.ContainerSuspension, types records.ResourceTypes) (reports []level.Report, failed []level.Failed) {
	for _, c := range all {
		id := records.ContainerIDFrom(c.GetContainerId())
		if c.GetFailed() {
			failed = append(failed, level.Failed{Container: id, Version: c.GetVersion(), Reason: c.GetReason()})
		}
		held, err := types.From(c.GetHeld())
		if err != nil { // a type that this cluster doesn't have
			continue
		}
		reports = append(reports, level.Report{
			Container: id, Version: c.GetVersion(), Wanted: c.GetWanted(), Level: c.GetLevel(), Held: held,
			Swapped: max(c.GetSwapped(), 0), Took: max(c.GetTookMs(), 0), Reason: limit.Head(c.GetReason(), limit.MaxName),
		})
	}
	return reports, failed
}

// pressure returns a percentage, whatever a node says.
func pressure(some float32) float64 {
	if !(some > 0) { // nor is it a number then
		return 0
	}
	return min(float64(some), 100)
}

// shortTasks reads what a node says of what it was lent; nil if it says nothing, or nothing that can be true.
func shortTasks(m *pb.NodeShortTasks, types records.ResourceTypes) *lending.Report {
	const longest = 1 << 40 // ms
	lent, err := types.From(m.GetLent())
	used, err2 := types.From(m.GetUsed())
	if m == nil || err != nil || err2 != nil || min(m.GetStarted(), m.GetWaitedMs(), m.GetBrokenQuotes(), m.GetQuotes()-m.GetBrokenQuotes()) < 0 || m.GetWaitedMs() > longest {
		return nil
	}
	return &lending.Report{Lent: lent, Used: used, News: lending.News{
		Started: m.GetStarted(), Waited: time.Duration(m.GetWaitedMs()) * time.Millisecond, Quotes: m.GetQuotes(), Broken: m.GetBrokenQuotes(),
		Waiting: int64(max(m.GetWaiting(), 0)), Ages: time.Duration(min(max(m.GetWaitingMs(), 0), longest)) * time.Millisecond,
	}}
}
