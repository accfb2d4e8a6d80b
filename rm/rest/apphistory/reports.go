package apphistory

import (
	"cmp"
	"fmt"
	"strings"

	"heddle/rm/leader/request"
	"heddle/rm/rest/amount"
	"heddle/rm/view"
	"heddle/rm/view/past"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// app is an application as a timeline server shows it (Hadoop: server.webapp.dao.AppInfo).
type app struct {
	ID          string  `yarn:"appId"`
	Attempt     string  `yarn:"currentAppAttemptId"`
	User        string  `yarn:"user"`
	Name        string  `yarn:"name"`
	Queue       string  `yarn:"queue"`
	Type        string  `yarn:"type"`
	Host        string  `yarn:"host"`
	RPCPort     int32   `yarn:"rpcPort"`
	State       string  `yarn:"appState"`
	Containers  int     `yarn:"runningContainers"`
	Progress    float32 `yarn:"progress"` // percent
	Diagnostics string  `yarn:"diagnosticsInfo"`
	Original    string  `yarn:"originalTrackingUrl"`
	Tracking    string  `yarn:"trackingUrl"`
	Final       string  `yarn:"finalAppStatus"`
	Submitted   int64   `yarn:"submittedTime"`
	Started     int64   `yarn:"startedTime"`
	Launched    int64   `yarn:"launchTime"`
	Finished    int64   `yarn:"finishedTime"`
	Elapsed     int64   `yarn:"elapsedTime"`
	Tags        string  `yarn:"applicationTags,omitempty"`
	Priority    int32   `yarn:"priority"`
	VCores      int64   `yarn:"allocatedCpuVcores"`
	MB          int64   `yarn:"allocatedMemoryMB"`
	GPUs        int64   `yarn:"allocatedGpus"`
	Reserved    int64   `yarn:"reservedCpuVcores"`
	ReservedMB  int64   `yarn:"reservedMemoryMB"`
	ReservedGPU int64   `yarn:"reservedGpus"`
	Unmanaged   bool    `yarn:"unmanagedApplication"`
	Label       string  `yarn:"appNodeLabelExpression"`
	MasterLabel string  `yarn:"amNodeLabelExpression"`
	Seconds     string  `yarn:"aggregateResourceAllocation"`
	Preempted   string  `yarn:"aggregatePreemptedResourceAllocation"`
}

func (s *service) appOf(a *view.App) app {
	attempt := a.Attempt
	if attempt.Attempt == 0 {
		attempt = records.AttemptID{App: a.ID, Attempt: -1}
	}
	out := app{
		ID: a.ID.String(), Attempt: attempt.String(), User: a.User, Name: a.Name, Queue: a.Queue, Type: a.Type,
		Host: a.Host, RPCPort: a.RPCPort,
		State: pb.YarnApplicationState_name[int32(a.State.Public())], Progress: 100 * a.Progress,
		Diagnostics: a.Diagnostics,
		Original:    a.OriginalTrackingURL, Tracking: a.TrackingURL, Final: records.FinalStatusName(a.FinalStatus),
		Submitted: a.SubmitTime, Started: a.SubmitTime, Launched: a.LaunchTime,
		Finished: a.FinishTime, Elapsed: a.Elapsed,
		Tags:     strings.Join(a.Tags, ","),
		Priority: a.Priority, Unmanaged: a.Unmanaged, Label: request.ShownLabel(a.Context),
		MasterLabel: cmp.Or(request.NotedLabel(a.Context), request.DefaultPartition),
		Seconds:     s.seconds(a.ResourceSeconds), Preempted: s.seconds(a.PreemptedSeconds),
	}
	if a.State.Ended() {
		out.Progress = 100
		out.Host, out.RPCPort = past.Address(s.View, a.Attempt)
		return out
	}
	gpus := s.gpus()
	out.Containers, out.VCores, out.MB, out.GPUs = a.Containers, a.Used.VCores(), a.Used.MemoryMB(), gpus(a.Used)
	reserved := a.Reserved.Resource
	out.Reserved, out.ReservedMB, out.ReservedGPU = reserved.VCores(), reserved.MemoryMB(), gpus(reserved)
	return out
}

// gpus returns what counts GPUs; −1 if the cluster has none.
func (s *service) gpus() func(records.Resource) int64 {
	for i := range s.Types.Len() {
		if s.Types.At(i).Name == "yarn.io/gpu" {
			return func(r records.Resource) int64 { return r[i] }
		}
	}
	return func(records.Resource) int64 { return -1 }
}

// seconds words what was held over time (Hadoop: StringHelper.getResourceSecondsString).
func (s *service) seconds(r records.Resource) string {
	text := fmt.Sprintf("%d MB-seconds, %d vcore-seconds", r.MemoryMB(), r.VCores())
	for i := 2; i < s.Types.Len(); i++ {
		text += fmt.Sprintf(", %d %s-seconds", r[i], s.Types.At(i).Name)
	}
	return text
}

// Attempt is an attempt (Hadoop: server.webapp.dao.AppAttemptInfo).
type Attempt struct {
	ID          string  `yarn:"appAttemptId"`
	Host        string  `yarn:"host"`
	RPCPort     int32   `yarn:"rpcPort"`
	TrackingURL string  `yarn:"trackingUrl"`
	Original    string  `yarn:"originalTrackingUrl"`
	Diagnostics string  `yarn:"diagnosticsInfo"`
	State       string  `yarn:"appAttemptState"`
	Container   *string `yarn:"amContainerId"`
	Started     int64   `yarn:"startedTime"`
	Finished    int64   `yarn:"finishedTime"`
}

// AttemptOf shows an attempt.
func AttemptOf(t *view.Attempt) Attempt {
	out := Attempt{
		ID: t.ID.String(), Host: t.Host, RPCPort: t.RPCPort, TrackingURL: t.TrackingURL, Original: t.OriginalTrackingURL,
		Diagnostics: t.Diagnostics, State: records.AttemptStateName(t.State.Public()),
		Started: t.StartTime, Finished: t.FinishTime,
	}
	if t.AMContainer != (records.ContainerID{}) {
		id := t.AMContainer.String()
		out.Container = &id
	}
	return out
}

// attemptOf shows an attempt that may have failed, with its address.
func (s *service) attemptOf(t *view.Attempt) Attempt {
	out := AttemptOf(t)
	out.Host, out.RPCPort = past.Address(s.View, t.ID)
	return out
}

// Container is a container (Hadoop: server.webapp.dao.ContainerInfo).
type Container struct {
	ID          string  `yarn:"containerId"`
	MB          int64   `yarn:"allocatedMB"`
	VCores      int64   `yarn:"allocatedVCores"`
	AssignedTo  string  `yarn:"assignedNodeId"`
	Priority    int32   `yarn:"priority"`
	Started     int64   `yarn:"startedTime"`
	Finished    int64   `yarn:"finishedTime"`
	Elapsed     int64   `yarn:"elapsedTime"`
	Diagnostics *string `yarn:"diagnosticsInfo"`
	Logs        string  `yarn:"logUrl"`
	ExitStatus  int32   `yarn:"containerExitStatus"`
	State       string  `yarn:"containerState"`
	NodeHTTP    string  `yarn:"nodeHttpAddress"`
	Node        string  `yarn:"nodeId"`
	Resources   any     `yarn:"allocatedResources"` // an amount.Map, or what amount.MembersOf returns
	Ports       string  `yarn:"exposedPorts"`
}

// ContainerOf shows a container that lives at now, in ms since 1970.
func ContainerOf(v *view.Viewer, types records.ResourceTypes, c *view.Container, now int64) Container {
	out := Container{
		ID: c.ID.String(), MB: c.Resource.MemoryMB(), VCores: c.Resource.VCores(), AssignedTo: c.Node.String(),
		Priority: c.Priority, Started: c.Allocated, Elapsed: max(0, now-c.Allocated),
		Logs: view.LogsURL(v.URL(c.NodeHTTPAddress), c.ID, c.User), State: "RUNNING", NodeHTTP: v.URL(c.NodeHTTPAddress),
		Node: c.Node.String(), Resources: amount.MapOf(types, c.Resource),
	}
	if c.Suspended() {
		out.State = "PAUSED"
	}
	return out
}

func (s *service) containerOf(c *view.Container, f yarnrest.Format) Container {
	out := ContainerOf(s.View, s.Types, c, s.View.Now().UnixMilli())
	if f != yarnrest.XML {
		out.Resources = amount.MembersOf(s.Types, c.Resource)
	}
	if c.Live() {
		return out
	}
	exit, text := past.Aborted(c.ExitStatus, c.Diagnostic)
	out.ExitStatus, out.Diagnostics, out.State, out.Logs = exit, &text, "COMPLETE", past.LogsURL(s.View, c)
	out.Finished, out.Elapsed = c.Finished, max(0, c.Finished-c.Allocated)
	return out
}
