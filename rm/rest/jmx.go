package rest

import (
	"encoding/json"
	"net"
	"os"
	"strconv"
	"strings"

	"heddle/rm/rest/opportunistic"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/rest/daemon"
)

const service = "Hadoop:service=ResourceManager,name="

// beans returns the beans of YARN that dashboards read; each has all attributes of YARN's bean.
func (s *server) beans() []daemon.Bean {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	m := s.View.Metrics()
	out := []daemon.Bean{
		daemon.Process("ResourceManager", host),
		s.clusterBean(m, host),
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
	if s.Conf.Bool(opportunistic.Enabled) {
		out = append(out, opportunistic.Bean(s.Backend.Leader(), host))
	}
	if _, port, err := net.SplitHostPort(s.View.Web); err == nil {
		n, _ := strconv.Atoi(port) // an address that is listened on always has a port
		out = append(out, s.traffic.Bean("ResourceManager", host, n))
	}
	return append(out, daemon.Sources("ResourceManager", host, out)...)
}

func (s *server) clusterBean(m view.Metrics, host string) daemon.Bean {
	masters := s.View.Masters()
	attrs := []daemon.Attr{
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
	}
	attrs = append(attrs, s.custom("Capability", m.Total)...)
	return daemon.Bean{Name: service + "ClusterMetrics", Type: "ClusterMetrics", Attrs: attrs}
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
