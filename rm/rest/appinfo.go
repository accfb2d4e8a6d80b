package rest

import (
	"strings"

	"heddle/rm/leader/request"
	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

type appInfo struct {
	ID            string  `yarn:"id"`
	User          string  `yarn:"user"`
	Name          string  `yarn:"name"`
	Queue         string  `yarn:"queue"`
	State         string  `yarn:"state"`
	FinalStatus   string  `yarn:"finalStatus"`
	Progress      float32 `yarn:"progress"` // percent
	TrackingUI    string  `yarn:"trackingUI"`
	TrackingURL   *string `yarn:"trackingUrl"`
	Diagnostics   string  `yarn:"diagnostics"`
	ClusterID     int64   `yarn:"clusterId"`
	Type          string  `yarn:"applicationType"`
	Tags          string  `yarn:"applicationTags"`
	Priority      int32   `yarn:"priority"`
	StartedTime   int64   `yarn:"startedTime"`
	LaunchTime    int64   `yarn:"launchTime"`
	FinishedTime  int64   `yarn:"finishedTime"`
	ElapsedTime   int64   `yarn:"elapsedTime"`
	AMLogs        *string `yarn:"amContainerLogs"`
	AMHTTPAddress *string `yarn:"amHostHttpAddress"`
	AMRPCAddress  *string `yarn:"amRPCAddress"`
	MasterNode    string  `yarn:"masterNodeId"`

	AllocatedMB       int64   `yarn:"allocatedMB"`
	AllocatedVCores   int64   `yarn:"allocatedVCores"`
	ReservedMB        int64   `yarn:"reservedMB"`
	ReservedVCores    int64   `yarn:"reservedVCores"`
	RunningContainers int     `yarn:"runningContainers"`
	MemorySeconds     int64   `yarn:"memorySeconds"`
	VCoreSeconds      int64   `yarn:"vcoreSeconds"`
	QueueUsage        float32 `yarn:"queueUsagePercentage"`
	ClusterUsage      float32 `yarn:"clusterUsagePercentage"`
	ResourceSeconds   amounts `yarn:"resourceSecondsMap"`

	PreemptedMB              int64   `yarn:"preemptedResourceMB"`
	PreemptedVCores          int64   `yarn:"preemptedResourceVCores"`
	PreemptedContainers      int64   `yarn:"numNonAMContainerPreempted"`
	PreemptedAMs             int64   `yarn:"numAMContainerPreempted"`
	PreemptedMemorySeconds   int64   `yarn:"preemptedMemorySeconds"`
	PreemptedVCoreSeconds    int64   `yarn:"preemptedVcoreSeconds"`
	PreemptedResourceSeconds amounts `yarn:"preemptedResourceSecondsMap"`

	Requests       []requestInfo `yarn:"resourceRequests"`
	LogAggregation *string       `yarn:"logAggregationStatus"`
	Unmanaged      bool          `yarn:"unmanagedApplication"`
	Label          *string       `yarn:"appNodeLabelExpression"`
	AMLabel        *string       `yarn:"amNodeLabelExpression"`
	Resources      *partitions   `yarn:"resourceInfo"`
	Timeouts       *timeouts     `yarn:"timeouts"`
}

type requestInfo struct {
	Priority   int32        `yarn:"priority"`
	ID         int64        `yarn:"allocationRequestId"`
	Name       string       `yarn:"resourceName"`
	Capability resourceInfo `yarn:"capability"`
	Count      int32        `yarn:"numContainers"`
	Relax      bool         `yarn:"relaxLocality"`
	Label      string       `yarn:"nodeLabelExpression"`
	Execution  execution    `yarn:"executionTypeRequest"`
}

type execution struct {
	Type    string `yarn:"executionType"`
	Enforce bool   `yarn:"enforceExecutionType"`
}

// partitions are sums by node label; there is one partition.
type partitions struct {
	Usage []partitionUsage `yarn:"resourceUsagesByPartition"`
}

type partitionUsage struct {
	Name        string        `yarn:"partitionName"`
	Used        resourceInfo  `yarn:"used"`
	Reserved    resourceInfo  `yarn:"reserved"`
	Pending     resourceInfo  `yarn:"pending"`
	AMUsed      *resourceInfo `yarn:"amUsed"`
	AMLimit     *resourceInfo `yarn:"amLimit"`
	UserAMLimit *resourceInfo `yarn:"userAmLimit"`
}

type timeouts struct {
	Timeout []timeout `yarn:"timeout"`
}

type timeout struct {
	Type    string `yarn:"type"`
	Expires string `yarn:"expiryTime"`
	Left    int64  `yarn:"remainingTimeInSeconds"`
}

const lifetime = "LIFETIME"

func (s *server) lifetime(a *view.App) timeout {
	expires, left := s.View.Lifetime(a)
	return timeout{lifetime, expires, left}
}

// deselected are parts of applications that a client doesn't need.
type deselected map[string]bool

// appInfo shows an application. Callers who may not view it see that it exists, but neither what it uses nor where it runs.
func (s *server) appInfo(a *view.App, mayView bool, without deselected) appInfo {
	out := appInfo{
		ID: a.ID.String(), User: a.User, Name: a.Name, Queue: a.Queue, State: stateName(a.State),
		FinalStatus: records.FinalStatusName(a.FinalStatus), Progress: 100 * a.Progress, TrackingUI: "UNASSIGNED",
		Diagnostics: a.Diagnostics, ClusterID: a.ID.ClusterTimestamp, Type: a.Type, Tags: strings.Join(a.Tags, ","),
		Priority: a.Priority, Unmanaged: a.Unmanaged,
	}
	if a.Attempt.Attempt != 0 && a.State != ledger.AppAccepted {
		url := a.TrackingURL
		if !strings.Contains(url, "://") { // also that of an unmanaged ApplicationMaster that has none (Hadoop: WebAppUtils.getURLWithScheme)
			url = s.View.URL(url)
		}
		out.TrackingURL = &url
		out.TrackingUI = "ApplicationMaster"
		if a.FinishTime > 0 {
			out.TrackingUI = "History"
		}
	}
	if mayView {
		s.addUse(&out, a)
	}
	out.MemorySeconds, out.VCoreSeconds = a.ResourceSeconds.MemoryMB(), a.ResourceSeconds.VCores()
	if a.Attempt.Attempt != 0 && (!a.State.Ended() || a.AMContainer != (records.ContainerID{})) {
		out.ResourceSeconds = s.amounts(a.ResourceSeconds)
	}
	out.PreemptedContainers, out.PreemptedAMs = a.PreemptedContainers, a.PreemptedAMs
	out.PreemptedMB, out.PreemptedVCores = a.Preempted.MemoryMB(), a.Preempted.VCores()
	out.PreemptedMemorySeconds, out.PreemptedVCoreSeconds = a.PreemptedSeconds.MemoryMB(), a.PreemptedSeconds.VCores()
	if a.PreemptedSeconds != (records.Resource{}) {
		out.PreemptedResourceSeconds = s.amounts(a.PreemptedSeconds)
	}
	out.QueueUsage, out.ClusterUsage = a.Usage(s.Queues.Tree())
	if a.Context.HasNodeLabelExpression() { // YARN keeps it when it is deselected
		label := a.Context.GetNodeLabelExpression()
		out.Label = &label
	}
	if !a.Unmanaged && !without["amNodeLabelExpression"] {
		label := request.NotedLabel(a.Context)
		out.AMLabel = &label
	}
	if s.capacityScheduler() && !a.State.Ended() && !without["resourceInfo"] {
		out.Resources = s.appResources(a)
	}
	if !without["timeouts"] {
		out.Timeouts = &timeouts{[]timeout{s.lifetime(a)}}
	}
	if mayView && !without["resourceRequests"] {
		out.Requests = s.requests(a.Asks)
	}
	return out
}

// addUse adds the parts that only callers who may view the application see.
func (s *server) addUse(out *appInfo, a *view.App) {
	out.StartedTime, out.LaunchTime, out.FinishedTime, out.ElapsedTime = a.SubmitTime, a.LaunchTime, a.FinishTime, a.Elapsed
	status := records.LogAggregationName(a.LogAggregation)
	out.LogAggregation = &status
	if a.AMContainer != (records.ContainerID{}) {
		logs := view.LogsURL(s.View.URL(a.AMHTTPAddress), a.AMContainer, a.User)
		out.AMLogs, out.AMHTTPAddress = &logs, &a.AMHTTPAddress
		out.MasterNode = a.AMNode.String()
	}
	if a.Host != "N/A" && a.RPCPort != -1 { // one that takes no calls has registered with port 0
		address := hostPort(a.Host, a.RPCPort)
		out.AMRPCAddress = &address
	}
	switch {
	case a.Attempt.Attempt == 0:
	case a.State.Ended():
		out.AllocatedMB, out.AllocatedVCores, out.ReservedMB, out.ReservedVCores, out.RunningContainers = -1, -1, -1, -1, -1
	default:
		out.AllocatedMB, out.AllocatedVCores, out.RunningContainers = a.Used.MemoryMB(), a.Used.VCores(), a.Containers
		out.ReservedMB, out.ReservedVCores = a.Reserved.Resource.MemoryMB(), a.Reserved.Resource.VCores()
	}
}

func stateName(state ledger.AppState) string {
	return pb.YarnApplicationState_name[int32(state.Public())]
}

// appResources shows what an application uses and what is pending. Its ApplicationMaster counts from when it is asked for.
func (s *server) appResources(a *view.App) *partitions {
	if a.Uses != nil {
		return s.labelledUsages(a)
	}
	none, am := s.resource(records.Resource{}), s.resource(s.amResource(a))
	return &partitions{append([]partitionUsage{{
		Used: s.resource(a.Used), Reserved: s.resource(a.Reserved.Resource), Pending: s.resource(a.Pending),
		AMUsed: &am, AMLimit: &none, UserAMLimit: &none,
	}}, s.fairUsage(a)...)}
}

// amResource returns the size of an ApplicationMaster's container, even if it doesn't have one yet.
func (s *server) amResource(a *view.App) records.Resource {
	if a.Unmanaged {
		return s.MinAllocation
	}
	return a.AMResource
}

func (s *server) requests(asks []scheduler.Ask) (out []requestInfo) {
	for _, ask := range asks {
		name := pb.ExecutionType_name[int32(ask.ExecutionType)]
		if name == "" {
			name = "GUARANTEED"
		}
		out = append(out, requestInfo{
			Priority: ask.Priority, ID: ask.AllocationRequestID, Name: ask.Name, Capability: s.resource(ask.Capability),
			Count: ask.Count, Relax: ask.RelaxLocality, Label: ask.Label, Execution: execution{Type: name},
		})
	}
	return out
}
