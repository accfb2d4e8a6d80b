package rest

import (
	"net/http"
	"strings"

	"heddle/conf"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/queue"
	"heddle/rm/rest/labels"
	"heddle/rm/rest/reservations"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

const clusterBase = "/ws/v1/cluster"

// routeCluster adds the paths of YARN's API.
func (s *server) routeCluster(api *yarnrest.API) {
	get := func(path string, h yarnrest.Handler) {
		api.Handle(clusterBase+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	get("", s.info)
	get("/info", s.info)
	get("/userinfo", s.userInfo)
	api.Handle(clusterBase+"/metrics", yarnrest.Methods{http.MethodGet: {Handle: s.metrics, Shared: true}})
	get("/scheduler-overview", s.schedulerOverview)
	get("/appstatistics", s.statistics)
	s.routeScheduler(api)
	s.routeNodes(api)
	s.routeApps(api)
	s.routeQueues(api)
	labels.Route(api, labels.Config{
		View: view.LabelsOf(s.View), Resource: func(r records.Resource) any { return s.resource(r) }, NodeID: nodeID,
		Counts: func() bool { return s.Queues.Tree().Kind == queue.Capacity }, Central: s.Conf.Text("yarn.node-labels.configuration-type") == nodelabels.Centralized,
		Admin: func(c *yarnrest.Call, path string) error {
			if s.Access.Enabled && !s.Access.Admin(caller(c)) {
				return yarnrest.Unauthorized("User %s not authorized for post to .../%s ", caller(c), path)
			}
			return nil
		},
		Done: func(c *yarnrest.Call, path string, err error) { s.visits.Changed(c, path, http.StatusOK, err) },
		Change: func(change func(*nodelabels.Labels) error) error {
			l, err := s.leader()
			if err == nil {
				err = change(l.Labels())
			}
			return refusalReply(err)
		},
	})
	reservations.Route(api, clusterBase)
	s.routeTokens(api)
	s.routeHistory(api)
}

type clusterInfo struct {
	ID                  int64  `yarn:"id"`
	StartedOn           int64  `yarn:"startedOn"`
	State               string `yarn:"state"`
	HAState             string `yarn:"haState"`
	StateStore          string `yarn:"rmStateStoreName"`
	Version             string `yarn:"resourceManagerVersion"`
	BuildVersion        string `yarn:"resourceManagerBuildVersion"`
	BuiltOn             string `yarn:"resourceManagerVersionBuiltOn"`
	HadoopVersion       string `yarn:"hadoopVersion"`
	HadoopBuildVersion  string `yarn:"hadoopBuildVersion"`
	HadoopBuiltOn       string `yarn:"hadoopVersionBuiltOn"`
	ZooKeeperConnection string `yarn:"haZooKeeperConnectionState"`
}

// haState returns the member's role in HAServiceProtocol's words.
func (s *server) haState() string {
	switch {
	case s.Backend.Leader() != nil:
		return "ACTIVE"
	case s.Backend.HA():
		return "STANDBY"
	}
	return "INITIALIZING"
}

// buildVersion takes the place of the revision that Hadoop was built from.
func buildVersion() string { return conf.HadoopVersion + " from heddle " + conf.Version }

func (s *server) info(*yarnrest.Call) (yarnrest.Reply, error) {
	cluster := s.View.Cluster()
	// clients see where a configuration keeps state; Heddle replicates its own
	store := "org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore"
	if s.Conf.Bool("yarn.resourcemanager.recovery.enabled") {
		store = s.Conf.Text("yarn.resourcemanager.store.class")
	}
	return yarnrest.OK("clusterInfo", yarnrest.Natural, clusterInfo{
		ID: cluster.Timestamp, StartedOn: cluster.Timestamp, State: "STARTED", HAState: s.haState(), StateStore: store,
		Version: conf.HadoopVersion, BuildVersion: buildVersion(), BuiltOn: conf.Built,
		HadoopVersion: conf.HadoopVersion, HadoopBuildVersion: buildVersion(), HadoopBuiltOn: conf.Built,
		ZooKeeperConnection: s.connection(),
	}), nil
}

// connection returns what YARN says of its connection to ZooKeeper (Hadoop: ActiveStandbyElector's ConnectionState).
// Monitoring checks it, so it says whether this member is in touch with a group that has a leader.
func (s *server) connection() string {
	switch {
	case !s.Backend.HA():
		return "Could not find leader elector. Verify both HA and automatic failover are enabled."
	case s.Backend.LeaderID() == "":
		return "DISCONNECTED"
	}
	return "CONNECTED"
}

type clusterUserInfo struct {
	Login     string `yarn:"rmLoginUser"`
	Requested string `yarn:"requestedUser,omitempty"`
}

func (s *server) userInfo(c *yarnrest.Call) (yarnrest.Reply, error) {
	return yarnrest.OK("clusterUserInfo", yarnrest.Mapped, clusterUserInfo{s.Login, caller(c)}), nil
}

type clusterMetrics struct {
	AppsSubmitted int64 `yarn:"appsSubmitted"`
	AppsCompleted int64 `yarn:"appsCompleted"`
	AppsPending   int64 `yarn:"appsPending"`
	AppsRunning   int64 `yarn:"appsRunning"`
	AppsFailed    int64 `yarn:"appsFailed"`
	AppsKilled    int64 `yarn:"appsKilled"`

	ReservedMB            int64 `yarn:"reservedMB"`
	AvailableMB           int64 `yarn:"availableMB"`
	AllocatedMB           int64 `yarn:"allocatedMB"`
	PendingMB             int64 `yarn:"pendingMB"`
	ReservedVirtualCores  int64 `yarn:"reservedVirtualCores"`
	AvailableVirtualCores int64 `yarn:"availableVirtualCores"`
	AllocatedVirtualCores int64 `yarn:"allocatedVirtualCores"`
	PendingVirtualCores   int64 `yarn:"pendingVirtualCores"`

	ContainersAllocated int64 `yarn:"containersAllocated"`
	ContainersReserved  int64 `yarn:"containersReserved"`
	ContainersPending   int64 `yarn:"containersPending"`

	TotalMB              int64 `yarn:"totalMB"`
	UtilizedMB           int64 `yarn:"utilizedMB"`
	TotalVirtualCores    int64 `yarn:"totalVirtualCores"`
	UtilizedVirtualCores int64 `yarn:"utilizedVirtualCores"`
	UtilizedMBPercent    int64 `yarn:"utilizedMBPercent"`
	UtilizedCoresPercent int64 `yarn:"utilizedVirtualCoresPercent"`
	SchedulerBusyPercent int64 `yarn:"rmSchedulerBusyPercent"`

	TotalNodes           int `yarn:"totalNodes"`
	LostNodes            int `yarn:"lostNodes"`
	UnhealthyNodes       int `yarn:"unhealthyNodes"`
	DecommissioningNodes int `yarn:"decommissioningNodes"`
	DecommissionedNodes  int `yarn:"decommissionedNodes"`
	RebootedNodes        int `yarn:"rebootedNodes"`
	ActiveNodes          int `yarn:"activeNodes"`
	ShutdownNodes        int `yarn:"shutdownNodes"`

	ContainersPerSecond int64         `yarn:"containerAssignedPerSecond"`
	Used                *resourceInfo `yarn:"totalUsedResourcesAcrossPartition"`
	Total               *resourceInfo `yarn:"totalClusterResourcesAcrossPartition"`
	Reserved            *resourceInfo `yarn:"totalReservedResourcesAcrossPartition"`
	Allocated           int64         `yarn:"totalAllocatedContainersAcrossPartition"`
	AcrossPartitions    bool          `yarn:"crossPartitionMetricsAvailable"`
	EventQueue          int           `yarn:"rmEventQueueSize"`
	SchedulerQueue      int           `yarn:"schedulerEventQueueSize"`
}

func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 100 / whole
}

func (s *server) metrics(*yarnrest.Call) (yarnrest.Reply, error) {
	m := s.View.Metrics()
	total := 0
	for _, state := range []pb.NodeState{ // those that YARN counts
		pb.NodeState_NS_RUNNING, pb.NodeState_NS_LOST, pb.NodeState_NS_DECOMMISSIONED, pb.NodeState_NS_REBOOTED,
		pb.NodeState_NS_UNHEALTHY, pb.NodeState_NS_DECOMMISSIONING, pb.NodeState_NS_SHUTDOWN,
	} {
		total += m.Nodes[state]
	}
	out := clusterMetrics{
		AppsSubmitted: m.Submitted, AppsCompleted: m.Completed, AppsPending: m.Pending, AppsRunning: m.Running,
		AppsFailed: m.Failed, AppsKilled: m.Killed,
		ReservedMB: m.Reserved.Resource.MemoryMB(), ReservedVirtualCores: m.Reserved.Resource.VCores(),
		ContainersReserved: int64(m.Reserved.Containers),
		AvailableMB:        m.Available.MemoryMB(), AllocatedMB: m.Used.MemoryMB(), PendingMB: m.Waiting.MemoryMB(),
		AvailableVirtualCores: m.Available.VCores(), AllocatedVirtualCores: m.Used.VCores(), PendingVirtualCores: m.Waiting.VCores(),
		ContainersAllocated: m.Containers, ContainersPending: m.WaitingContainers,
		TotalMB: m.Total.MemoryMB(), UtilizedMB: m.UtilizedMB,
		TotalVirtualCores: m.Total.VCores(), UtilizedVirtualCores: int64(m.UtilizedCores),
		UtilizedMBPercent:    percent(m.UtilizedMB, m.Total.MemoryMB()),
		UtilizedCoresPercent: percent(int64(m.UtilizedCores), m.Total.VCores()),
		TotalNodes:           total,
		LostNodes:            m.Nodes[pb.NodeState_NS_LOST],
		UnhealthyNodes:       m.Nodes[pb.NodeState_NS_UNHEALTHY],
		DecommissioningNodes: m.Nodes[pb.NodeState_NS_DECOMMISSIONING],
		DecommissionedNodes:  m.Nodes[pb.NodeState_NS_DECOMMISSIONED],
		RebootedNodes:        m.Nodes[pb.NodeState_NS_REBOOTED],
		ActiveNodes:          m.Nodes[pb.NodeState_NS_RUNNING],
		ShutdownNodes:        m.Nodes[pb.NodeState_NS_SHUTDOWN],
		ContainersPerSecond:  m.Assigned,
	}
	if s.capacityScheduler() {
		used, all, reserved := s.resource(m.All.Used), s.resource(m.All.Total), s.resource(m.All.Reserved)
		out.Used, out.Total, out.Reserved = &used, &all, &reserved
		out.Allocated, out.AcrossPartitions = m.All.Containers, true
	}
	return yarnrest.OK("clusterMetrics", yarnrest.Natural, out), nil
}

type overview struct {
	Type         string       `yarn:"schedulerType"`
	Resources    string       `yarn:"schedulingResourceType"`
	Minimum      resourceInfo `yarn:"minimumAllocation"`
	Maximum      resourceInfo `yarn:"maximumAllocation"`
	Priority     int32        `yarn:"applicationPriority"`
	Busy         int          `yarn:"schedulerBusy"`
	EventQueue   int          `yarn:"rmDispatcherEventQueueSize"`
	SchedulerLen int          `yarn:"schedulerDispatcherEventQueueSize"`
}

// typeNames lists the resource types, with their units if they have any.
func (s *server) typeNames() string {
	var names []string
	for i := range s.Types.Len() {
		t := s.Types.At(i)
		name := t.Name
		if t.Units != "" {
			name += " (unit=" + t.Units + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}

func (s *server) schedulerOverview(*yarnrest.Call) (yarnrest.Reply, error) {
	return yarnrest.OK("scheduler", yarnrest.Mapped, overview{
		Type: s.schedulerName() + " Scheduler", Resources: s.typeNames(),
		Minimum: s.resource(s.MinAllocation), Maximum: s.resource(s.MaxAllocation), Priority: s.MaxPriority,
	}), nil
}
