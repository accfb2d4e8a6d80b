package rest

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/rest/daemon"
)

const service = "Hadoop:service=ResourceManager,name="

// beans are those of YARN's that dashboards read; each has all attributes of YARN's bean.
func (s *server) beans() []daemon.Bean {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	m := s.View.Metrics()
	out := []daemon.Bean{
		daemon.Process("ResourceManager", host),
		clusterBean(m, host),
		{Name: service + "ResourceManager", Type: "ResourceManager", Attrs: []daemon.Attr{{Name: "SecurityEnabled", Value: false}}},
		{Name: service + "RMInfo", Type: "org.apache.hadoop.yarn.server.resourcemanager.RMInfo", Attrs: []daemon.Attr{
			{Name: "State", Value: strings.ToLower(s.haState())}, {Name: "HostAndPort", Value: s.View.Web}, {Name: "SecurityEnabled", Value: false},
		}},
		{Name: service + "UgiMetrics", Type: "UgiMetrics", Attrs: []daemon.Attr{{Name: "tag.Context", Value: "ugi"}, {Name: "tag.Hostname", Value: host}}},
		{Name: "java.lang:type=Runtime", Type: "Go runtime", Attrs: []daemon.Attr{
			{Name: "VmName", Value: "Go " + runtime.Version()},
			{Name: "SpecVersion", Value: conf.Version},
			{Name: "StartTime", Value: s.started.UnixMilli()},
			{Name: "Uptime", Value: s.Now().Sub(s.started).Milliseconds()},
		}},
		{Name: "java.lang:type=Threading", Type: "Go runtime", Attrs: []daemon.Attr{{Name: "ThreadCount", Value: runtime.NumGoroutine()}}},
	}
	out = append(out, s.queueBeans(m, host)...)
	if _, port, err := net.SplitHostPort(s.View.Web); err == nil {
		n, _ := strconv.Atoi(port) // an address that is listened on has one
		out = append(out, s.traffic.Bean("ResourceManager", host, n))
	}
	return out
}

func clusterBean(m view.Metrics, host string) daemon.Bean {
	return daemon.Bean{Name: service + "ClusterMetrics", Type: "ClusterMetrics", Attrs: []daemon.Attr{
		{Name: "tag.ClusterMetrics", Value: "ResourceManager"},
		{Name: "tag.Context", Value: "yarn"},
		{Name: "tag.Hostname", Value: host},
		{Name: "AMContainerAllocationDelayNumOps", Value: 0},
		{Name: "AMContainerAllocationDelayAvgTime", Value: 0.0},
		{Name: "AMLaunchDelayNumOps", Value: 0},
		{Name: "AMLaunchDelayAvgTime", Value: 0.0},
		{Name: "AMRegisterDelayNumOps", Value: 0},
		{Name: "AMRegisterDelayAvgTime", Value: 0.0},
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

// queueBeans are YARN's QueueMetrics, one for each queue. Sums of ended applications are known of the cluster alone.
func (s *server) queueBeans(m view.Metrics, host string) (out []daemon.Bean) {
	uses := s.uses()
	s.Queues.Root.All(func(q *queue.Queue) {
		var name strings.Builder
		name.WriteString(service + "QueueMetrics")
		for i, part := range strings.Split(q.Path, ".") {
			name.WriteString(",q" + strconv.Itoa(i) + "=" + part)
		}
		out = append(out, daemon.Bean{
			Name: name.String(), Type: "QueueMetrics,q0=" + q.Path, Attrs: s.queueAttrs(q, uses[q.Path], m, host),
		})
	})
	return out
}

func (s *server) queueAttrs(q *queue.Queue, u *use, m view.Metrics, host string) []daemon.Attr {
	var running, pending int
	users := map[string]bool{}
	for _, a := range u.apps {
		users[a.User] = true
		if a.AMContainer != (records.ContainerID{}) {
			running++
		} else {
			pending++
		}
	}
	attrs := []daemon.Attr{
		{Name: "tag.Queue", Value: q.Path},
		{Name: "tag.Context", Value: "yarn"},
		{Name: "tag.Hostname", Value: host},
		{Name: "ActiveApplications", Value: len(u.apps)},
		{Name: "ActiveUsers", Value: len(users)},
		{Name: "AllocatedContainers", Value: u.containers},
		{Name: "AllocatedMB", Value: u.used.MemoryMB()},
		{Name: "AllocatedVCores", Value: u.used.VCores()},
		{Name: "AppsPending", Value: pending},
		{Name: "AppsRunning", Value: running},
		{Name: "AvailableMB", Value: m.Available.MemoryMB()},
		{Name: "AvailableVCores", Value: m.Available.VCores()},
		{Name: "PendingContainers", Value: u.waiting},
		{Name: "PendingMB", Value: u.pending.MemoryMB()},
		{Name: "PendingVCores", Value: u.pending.VCores()},
		{Name: "ReservedContainers", Value: 0},
		{Name: "ReservedMB", Value: 0},
		{Name: "ReservedVCores", Value: 0},
		{Name: "UsedCapacity", Value: s.shareOf(u.used, m.Total) / max(q.AbsoluteCapacity, 1e-6)},
		{Name: "AbsoluteUsedCapacity", Value: s.shareOf(u.used, m.Total)},
		{Name: "GuaranteedCapacity", Value: q.Capacity},
		{Name: "GuaranteedAbsoluteCapacity", Value: q.AbsoluteCapacity},
		{Name: "MaxCapacity", Value: q.Maximum},
		{Name: "MaxAbsoluteCapacity", Value: q.AbsoluteMaximum},
	}
	if q.Parent == nil {
		attrs = append(attrs, []daemon.Attr{
			{Name: "AppsSubmitted", Value: m.Submitted},
			{Name: "AppsCompleted", Value: m.Completed},
			{Name: "AppsFailed", Value: m.Failed},
			{Name: "AppsKilled", Value: m.Killed},
		}...)
	}
	return attrs
}
