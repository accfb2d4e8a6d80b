package rest

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/rest/daemon"
)

const service = "Hadoop:service=ResourceManager,name="

// beans are the beans of YARN that dashboards read; each has all attributes of YARN's bean.
func (s *server) beans() []daemon.Bean {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	m := s.View.Metrics()
	out := []daemon.Bean{
		daemon.Process("ResourceManager", host),
		clusterBean(m, s.View.Masters(), host),
		{Name: service + "ResourceManager", Type: "ResourceManager", Attrs: []daemon.Attr{{Name: "SecurityEnabled", Value: false}}},
		{Name: service + "RMInfo", Type: "org.apache.hadoop.yarn.server.resourcemanager.RMInfo", Attrs: []daemon.Attr{
			{Name: "State", Value: strings.ToLower(s.haState())}, {Name: "HostAndPort", Value: s.View.Web}, {Name: "SecurityEnabled", Value: false},
		}},
		daemon.Users("ResourceManager", host),
		{Name: service + "RMNMInfo", Type: "org.apache.hadoop.yarn.server.resourcemanager.RMNMInfo", Attrs: []daemon.Attr{
			{Name: "LiveNodeManagers", Value: s.liveNodes()},
		}},
	}
	out = append(out, s.java.Beans(s.Now())...)
	for _, calls := range s.Calls {
		out = append(out, calls.Bean("ResourceManager", host, s.Now()), calls.Detailed("ResourceManager", host, s.Now()))
	}
	out = append(out, s.callBeans(host)...)
	out = append(out, s.queueBeans(m, host)...)
	if _, port, err := net.SplitHostPort(s.View.Web); err == nil {
		n, _ := strconv.Atoi(port) // an address that is listened on always has a port
		out = append(out, s.traffic.Bean("ResourceManager", host, n))
	}
	return append(out, daemon.Sources("ResourceManager", host, out)...)
}

func clusterBean(m view.Metrics, masters view.MasterDelays, host string) daemon.Bean {
	return daemon.Bean{Name: service + "ClusterMetrics", Type: "ClusterMetrics", Attrs: []daemon.Attr{
		{Name: "tag.ClusterMetrics", Value: "ResourceManager"},
		{Name: "tag.Context", Value: "yarn"},
		{Name: "tag.Hostname", Value: host},
		{Name: "AMContainerAllocationDelayNumOps", Value: masters.Granted.Count},
		{Name: "AMContainerAllocationDelayAvgTime", Value: masters.Granted.Mean()},
		{Name: "AMLaunchDelayNumOps", Value: masters.Launched.Count},
		{Name: "AMLaunchDelayAvgTime", Value: masters.Launched.Mean()},
		{Name: "AMRegisterDelayNumOps", Value: masters.Registered.Count},
		{Name: "AMRegisterDelayAvgTime", Value: masters.Registered.Mean()},
		{Name: "CapabilityMB", Value: m.Total.MemoryMB()},
		{Name: "CapabilityVirtualCores", Value: m.Total.VCores()},
		{Name: "ContainerAssignedPerSecond", Value: m.Assigned},
		{Name: "NumActiveNMs", Value: m.Nodes[pb.NodeState_NS_RUNNING]},
		{Name: "NumDecommissionedNMs", Value: m.Nodes[pb.NodeState_NS_DECOMMISSIONED]},
		{Name: "NumDecommissioningNMs", Value: m.Nodes[pb.NodeState_NS_DECOMMISSIONING]},
		{Name: "NumLostNMs", Value: m.Nodes[pb.NodeState_NS_LOST]},
		{Name: "NumRebootedNMs", Value: m.Nodes[pb.NodeState_NS_REBOOTED]},
		{Name: "NumShutdownNMs", Value: m.Nodes[pb.NodeState_NS_SHUTDOWN]},
		{Name: "NumUnhealthyNMs", Value: m.Nodes[pb.NodeState_NS_UNHEALTHY]},
		{Name: "RmDispatcherEventQueueSize", Value: 0},
		{Name: "RmEventProcCPUAvg", Value: 0},
		{Name: "RmEventProcCPUMax", Value: 0},
		{Name: "SchedulerDispatcherEventQueueSize", Value: 0},
		{Name: "UtilizedMB", Value: m.UtilizedMB},
		{Name: "UtilizedVirtualCores", Value: int64(m.UtilizedCores)},
	}}
}

// liveNodes lists the usable nodes as JSON in a string, as YARN does here.
func (s *server) liveNodes() string {
	list := []map[string]any{}
	for _, n := range s.View.Nodes() {
		if !n.Usable() {
			continue
		}
		info := s.nodeInfo(&n)
		list = append(list, map[string]any{
			"HostName": info.HostName, "Rack": info.Rack, "State": info.State, "NodeId": info.ID, "NodeHTTPAddress": info.HTTPAddress,
			"LastHealthUpdate": info.LastHealthUpdate, "HealthReport": info.HealthReport, "NodeManagerVersion": info.Version,
			"NumContainers": info.Containers, "UsedMemoryMB": info.UsedMemoryMB, "AvailableMemoryMB": info.AvailMemoryMB,
		})
	}
	b, err := json.Marshal(list)
	if err != nil {
		return "[]" // marshalling strings and numbers never fails
	}
	return string(b)
}

// queueBeans are YARN's QueueMetrics, one for each queue. Only the cluster has sums of ended applications.
func (s *server) queueBeans(m view.Metrics, host string) (out []daemon.Bean) {
	tree, uses := s.uses()
	const partition = "PartitionQueueMetrics,partition="
	if s.capacityScheduler() {
		root := uses[tree.Root.Path]
		out = append(out, daemon.Bean{Name: service + partition, Type: partition, Attrs: s.partitionAttrs(nil, root, m, host)})
	}
	tree.Root.All(func(q *queue.Queue) {
		var path strings.Builder
		for i, part := range strings.Split(q.Path, ".") {
			path.WriteString(",q" + strconv.Itoa(i) + "=" + part)
		}
		name := "QueueMetrics" + path.String()
		out = append(out, daemon.Bean{Name: service + name, Type: name, Attrs: s.queueAttrs(q, uses[q.Path], m, host)})
		if s.capacityScheduler() {
			name = partition + path.String()
			out = append(out, daemon.Bean{Name: service + name, Type: name, Attrs: s.partitionAttrs(q, uses[q.Path], m, host)})
		}
	})
	return out
}

func (s *server) queueAttrs(q *queue.Queue, u *view.QueueUse, m view.Metrics, host string) []daemon.Attr {
	t := capacityTree{s, m.Total, map[string]*view.QueueUse{q.Path: u}}
	guaranteed, most, masters := u.Share.Min, u.Share.Max, t.amLimit(q)
	attrs := append([]daemon.Attr{
		{Name: "tag.Queue", Value: q.Path}, {Name: "tag.Context", Value: "yarn"}, {Name: "tag.Hostname", Value: host},
	}, useAttrs(u, m, q.Parent == nil)...)
	used := float32(s.shareOf(u.Used, m.Total))
	return append(attrs, []daemon.Attr{
		{Name: "AMResourceLimitMB", Value: masters.MemoryMB()},
		{Name: "AMResourceLimitVCores", Value: masters.VCores()},
		{Name: "UsedAMResourceMB", Value: u.Masters.MemoryMB()},
		{Name: "UsedAMResourceVCores", Value: u.Masters.VCores()},
		{Name: "UsedCapacity", Value: used / max(u.Share.AbsoluteCapacity, 1e-6)},
		{Name: "AbsoluteUsedCapacity", Value: used},
		{Name: "GuaranteedCapacity", Value: u.Share.Capacity},
		{Name: "GuaranteedAbsoluteCapacity", Value: u.Share.AbsoluteCapacity},
		{Name: "GuaranteedMB", Value: guaranteed.MemoryMB()},
		{Name: "GuaranteedVCores", Value: guaranteed.VCores()},
		{Name: "MaxCapacity", Value: u.Share.Maximum},
		{Name: "MaxAbsoluteCapacity", Value: q.AbsoluteMaximum},
		{Name: "MaxCapacityMB", Value: most.MemoryMB()},
		{Name: "MaxCapacityVCores", Value: most.VCores()},
	}...)
}

// partitionAttrs are a queue's attributes in the only partition, or the partition's own if q is nil.
func (s *server) partitionAttrs(q *queue.Queue, u *view.QueueUse, m view.Metrics, host string) []daemon.Attr {
	attrs := []daemon.Attr{{Name: "tag.Partition", Value: ""}}
	if q != nil {
		attrs = append(attrs, daemon.Attr{Name: "tag.Queue", Value: q.Path})
	}
	attrs = append(attrs, daemon.Attr{Name: "tag.Context", Value: "yarn"}, daemon.Attr{Name: "tag.Hostname", Value: host})
	return append(attrs, useAttrs(u, m, q == nil || q.Parent == nil)...)
}

// runningFor are the durations, in minutes, by which YARN counts running applications.
var runningFor = []int64{0, 60, 300, 1440}

// useAttrs are the attributes of a queue's use and history. Figures that exist only for the cluster are 0 in single queues.
func useAttrs(u *view.QueueUse, m view.Metrics, root bool) (attrs []daemon.Attr) {
	number := func(name string, value any) { attrs = append(attrs, daemon.Attr{Name: name, Value: value}) }
	var running, pending, unmanagedRunning, unmanagedPending int
	ages := make([]int, len(runningFor))
	users := map[string]bool{}
	for _, a := range u.Apps {
		users[a.User] = true
		runs, waits := &running, &pending
		if a.Unmanaged {
			runs, waits = &unmanagedRunning, &unmanagedPending
		}
		if a.AMContainer == (records.ContainerID{}) {
			*waits++
			continue
		}
		*runs++
		for i := len(runningFor) - 1; i >= 0; i-- {
			if a.Elapsed >= runningFor[i]*60_000 {
				ages[i]++
				break
			}
		}
	}
	for i, minutes := range runningFor {
		number("running_"+strconv.FormatInt(minutes, 10), ages[i])
	}
	number("ActiveApplications", len(u.Apps))
	number("ActiveUsers", len(users))
	number("AllocatedContainers", u.Containers)
	number("AllocatedMB", u.Used.MemoryMB())
	number("AllocatedVCores", u.Used.VCores())
	number("AppsPending", pending+unmanagedPending)
	number("AppsRunning", running+unmanagedRunning)
	number("AvailableMB", m.Available.MemoryMB())
	number("AvailableVCores", m.Available.VCores())
	number("PendingContainers", u.Waiting)
	number("PendingMB", u.Pending.MemoryMB())
	number("PendingVCores", u.Pending.VCores())
	number("UnmanagedAppsPending", unmanagedPending)
	number("UnmanagedAppsRunning", unmanagedRunning)
	ended := map[string]int64{"AppsSubmitted": 0, "AppsCompleted": 0, "AppsFailed": 0, "AppsKilled": 0}
	if root {
		ended = map[string]int64{
			"AppsSubmitted": m.Submitted, "AppsCompleted": m.Completed, "AppsFailed": m.Failed, "AppsKilled": m.Killed,
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ended)) {
		number(name, ended[name])
		number("Unmanaged"+name, 0)
	}
	for _, name := range []string{
		"AggregateContainersAllocated", "AggregateContainersPreempted", "AggregateContainersReleased", "AggregateMemoryMBPreempted",
		"AggregateMemoryMBSecondsPreempted", "AggregateNodeLocalContainersAllocated", "AggregateOffSwitchContainersAllocated",
		"AggregateRackLocalContainersAllocated", "AggregateVcoreSecondsPreempted", "AggregateVcoresPreempted",
		"AppAttemptFirstContainerAllocationDelayNumOps", "AppAttemptFirstContainerAllocationDelayAvgTime",
	} {
		number(name, 0)
	}
	number("ReservedContainers", u.Reserved.Containers)
	number("ReservedMB", u.Reserved.Resource.MemoryMB())
	number("ReservedVCores", u.Reserved.Resource.VCores())
	return attrs
}
