package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"heddle/cmd/internal/program"
	"heddle/conf"
	"heddle/internal/await"
	"heddle/internal/plain"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// fakeRM answers calls of YARN's client protocol with what it is told to.
type fakeRM struct {
	addr  string
	mu    sync.Mutex
	calls []string // "<method> <request>", of those that change something
}

const (
	knownApp       = "application_1700000000000_0007"
	finishedApp    = "application_1700000000000_0003"
	unknownApp     = "application_1700000000000_0099"
	knownAttempt   = "appattempt_1700000000000_0007_000001"
	unknownAttempt = "appattempt_1700000000000_0007_000009"
	knownContainer = "container_e02_1700000000000_0007_01_000001"
)

// from reads a message from its text form.
func from[M proto.Message](m M, text string) M {
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		panic(fmt.Sprintf("%v in %s", err, text))
	}
	return m
}

// apps are applications in all stages, one of them with as little as the protocol allows.
var apps = []*pb.ApplicationReport{
	from(&pb.ApplicationReport{}, `
		applicationId { id: 7 cluster_timestamp: 1700000000000 }
		currentApplicationAttemptId { application_id { id: 7 cluster_timestamp: 1700000000000 } attemptId: 1 } user: "alice" queue: "root.users.alice" name: "word count, all of it"
		host: "node7.example.com" rpc_port: 34567 yarn_application_state: RUNNING trackingUrl: "http://rm:8088/proxy/application_1700000000000_0007/"
		diagnostics: "two\nlines" startTime: 1700000001000 finishTime: 0 final_application_status: APP_UNDEFINED
		app_resource_Usage {
			num_used_containers: 3 preempted_memory_seconds: 11 preempted_vcore_seconds: 2 memory_seconds: 12345 vcore_seconds: 67
			application_resource_usage_map { key: "memory-mb" value: 12345 } application_resource_usage_map { key: "vcores" value: 67 }
			application_resource_usage_map { key: "yarn.io/gpu" value: 5 }
			application_preempted_resource_usage_map { key: "memory-mb" value: 11 } application_preempted_resource_usage_map { key: "vcores" value: 2 }
		}
		originalTrackingUrl: "http://node7.example.com:40001" progress: 0.3333333 applicationType: "MAPREDUCE"
		log_aggregation_status: LOG_RUNNING unmanaged_application: false priority { priority: 5 }
		appNodeLabelExpression: "gpu" amNodeLabelExpression: "<DEFAULT_PARTITION>"
		appTimeouts { application_timeout_type: APP_TIMEOUT_LIFETIME application_timeout { application_timeout_type: APP_TIMEOUT_LIFETIME expire_time: "2026-11-21T15:04:13.903+0000" remaining_time: 42 } }
		launchTime: 1700000001500 submitTime: 1700000001000`),
	from(&pb.ApplicationReport{}, `
		applicationId { id: 3 cluster_timestamp: 1700000000000 } user: "bob" queue: "default" name: "größer ✓" host: "N/A" rpc_port: -1
		yarn_application_state: KILLED trackingUrl: "N/A" originalTrackingUrl: "N/A" startTime: 1700000000001 finishTime: 1700000000900
		final_application_status: APP_KILLED progress: 1 applicationType: "YARN" diagnostics: "" priority { priority: 0 } unmanaged_application: true
		rmClusterId: "north"`),
	from(&pb.ApplicationReport{}, `
		applicationId { id: 12345 cluster_timestamp: 1700000000000 } user: "carol" queue: "q" name: "n" yarn_application_state: ACCEPTED
		final_application_status: APP_UNDEFINED applicationType: "T"`),
}

var attempts = []*pb.ApplicationAttemptReport{
	from(&pb.ApplicationAttemptReport{}, `
		application_attempt_id { application_id { id: 7 cluster_timestamp: 1700000000000 } attemptId: 1 } host: "node7.example.com" rpc_port: 34567
		tracking_url: "http://rm:8088/proxy/application_1700000000000_0007/" diagnostics: "fine\nso far" yarn_application_attempt_state: APP_ATTEMPT_RUNNING
		am_container_id { app_attempt_id { application_id { id: 7 cluster_timestamp: 1700000000000 } attemptId: 1 } id: 2199023255553 }
		original_tracking_url: "http://node7.example.com:40001" startTime: 1700000001000 finishTime: 0`),
	from(&pb.ApplicationAttemptReport{}, `
		application_attempt_id { application_id { id: 7 cluster_timestamp: 1700000000000 } attemptId: 2 } host: "N/A" rpc_port: -1
		tracking_url: "N/A" diagnostics: "" yarn_application_attempt_state: APP_ATTEMPT_SCHEDULED`),
}

var containers = []*pb.ContainerReport{
	from(&pb.ContainerReport{}, `
		container_id { app_attempt_id { application_id { id: 7 cluster_timestamp: 1700000000000 } attemptId: 1 } id: 2199023255553 }
		resource { memory: 512 virtual_cores: 1 } node_id { host: "node7.example.com" port: 45454 } priority { priority: 0 }
		creation_time: 1700000001234 finish_time: 0 diagnostics_info: "" log_url: "http://node7.example.com:8042/node/containerlogs/c/alice"
		container_exit_status: 0 container_state: C_RUNNING node_http_address: "http://node7.example.com:8042" executionType: GUARANTEED`),
	from(&pb.ContainerReport{}, `
		container_id { app_attempt_id { application_id { id: 7 cluster_timestamp: 1700000000000 } attemptId: 1 } id: 2199023255554 }
		resource { memory: 512 virtual_cores: 1 } node_id { host: "n" port: 1 } priority { priority: 20 } creation_time: 1700000002000
		finish_time: 1700000003000 diagnostics_info: "killed" log_url: "http://n:8042/x" container_exit_status: 137 container_state: C_COMPLETE
		executionType: OPPORTUNISTIC`),
}

var nodes = []*pb.NodeReport{
	from(&pb.NodeReport{}, `
		nodeId { host: "node7.example.com" port: 45454 } httpAddress: "node7.example.com:8042" rackName: "/r1" numContainers: 3 node_state: NS_RUNNING
		used { memory: 1536 virtual_cores: 3 resource_value_map { key: "yarn.io/gpu" value: 1 units: "" } } capability { memory: 8192 virtual_cores: 8 resource_value_map { key: "yarn.io/gpu" value: 4 units: "" } }
		health_report: "" last_health_report_time: 1700000000123 node_labels: "gpu"
		containers_utilization { pmem: 800 vmem: 8845 cpu: 3.0170002 } node_utilization { pmem: 3337 vmem: 3337 cpu: 0.0005 }
		node_attributes { attributeKey { attributePrefix: "rm.yarn.io" attributeName: "os" } attributeType: STRING attributeValue: "linux" }
		node_attributes { attributeKey { attributePrefix: "nm.yarn.io" attributeName: "zone" } attributeType: STRING attributeValue: "" }`),
	from(&pb.NodeReport{}, `
		nodeId { host: "n" port: 1 } httpAddress: "n:2" rackName: "/default-rack" numContainers: 0 node_state: NS_LOST capability { memory: 1024 virtual_cores: 1 }
		health_report: "disks are full" last_health_report_time: 1700000000000`),
}

var queues = map[string]*pb.QueueInfo{
	"root": from(&pb.QueueInfo{}, `
		queueName: "root" capacity: 1 maximumCapacity: 1 currentCapacity: 0.5 state: Q_RUNNING accessibleNodeLabels: "*" preemptionDisabled: true
		intraQueuePreemptionDisabled: true weight: -1 queuePath: "root" maxParallelApps: 2147483647 schedulerType: "CapacityScheduler"
		childQueues { queueName: "users" capacity: 0.254 maximumCapacity: 1 currentCapacity: 1.25 state: Q_RUNNING weight: -1 queuePath: "root.users" maxParallelApps: 10 schedulerType: "CapacityScheduler"
			childQueues { queueName: "alice" capacity: 0.001 maximumCapacity: 0.5 currentCapacity: 0 state: Q_DRAINING weight: 3.5 queuePath: "root.users.alice" maxParallelApps: 1 schedulerType: "CapacityScheduler" } }
		childQueues { queueName: "default" capacity: 0.746 maximumCapacity: 1 currentCapacity: 0 state: Q_STOPPED weight: -1 queuePath: "root.default" maxParallelApps: 2147483647 schedulerType: "CapacityScheduler" }`),
	"users": from(&pb.QueueInfo{}, `
		queueName: "users" capacity: 0.254 maximumCapacity: 1 currentCapacity: 1.25 state: Q_RUNNING accessibleNodeLabels: "gpu" defaultNodeLabelExpression: "gpu"
		preemptionDisabled: false intraQueuePreemptionDisabled: true weight: -1 queuePath: "root.users" maxParallelApps: 10 schedulerType: "CapacityScheduler"`),
	// yarn shows the most vcores as the least memory; equal figures keep that out of the comparison.
	"fair": from(&pb.QueueInfo{}, `
		queueName: "root.fair" capacity: 1 maximumCapacity: 1 currentCapacity: 0 state: Q_RUNNING weight: 0.5 schedulerType: "FairScheduler" preemptionDisabled: true
		minResourceVCore: 1 minResourceMemory: 8 maxResourceVCore: 8 maxResourceMemory: 8192 reservedResourceVCore: 0 reservedResourceMemory: 0 steadyFairShareVCore: 4 steadyFairShareMemory: 4096`),
}

// startRM starts a ResourceManager that knows the above.
func startRM(t *testing.T) *fakeRM {
	t.Helper()
	s, err := ipc.NewServer(ipc.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeRM{addr: l.Addr().String()}
	f.serve(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil && !errors.Is(err, ipc.ErrServerClosed) {
			t.Errorf("the ResourceManager's server: %v", err)
		}
	})
	return f
}

func appOf(id *pb.ApplicationId) (*pb.ApplicationReport, error) {
	want := records.ApplicationIDFrom(id)
	for _, a := range apps {
		if records.ApplicationIDFrom(a.GetApplicationId()) == want {
			return a, nil
		}
	}
	return nil, ipc.NewException(ipc.ApplicationNotFound, "Application with id '%v' doesn't exist in RM.", want)
}

func attemptOf(id *pb.ApplicationAttemptId) (*pb.ApplicationAttemptReport, error) {
	want := records.AttemptIDFrom(id)
	if _, err := appOf(id.GetApplicationId()); err != nil {
		return nil, err
	}
	for _, a := range attempts {
		if records.AttemptIDFrom(a.GetApplicationAttemptId()) == want {
			return a, nil
		}
	}
	return nil, ipc.NewException(ipc.AttemptNotFound, "ApplicationAttempt with id '%v' doesn't exist in RM.", want)
}

func (f *fakeRM) note(method string, m proto.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// One blank, whatever prototext inserts at random.
	f.calls = append(f.calls, method+" "+strings.Join(strings.Fields(prototext.MarshalOptions{}.Format(m)), " "))
}

func (f *fakeRM) noted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fakeRM) serve(s *ipc.Server) {
	protocol.GetApplications.Serve(s, func(_ context.Context, req *pb.GetApplicationsRequest) (*pb.GetApplicationsResponse, error) {
		resp := &pb.GetApplicationsResponse{}
		for _, a := range apps {
			for _, st := range req.GetApplicationStates() {
				if st == a.GetYarnApplicationState() {
					resp.SetApplications(append(resp.GetApplications(), a))
				}
			}
		}
		return resp, nil
	})
	protocol.GetApplicationReport.Serve(s, func(_ context.Context, req *pb.GetApplicationReportRequest) (*pb.GetApplicationReportResponse, error) {
		a, err := appOf(req.GetApplicationId())
		resp := &pb.GetApplicationReportResponse{}
		resp.SetApplicationReport(a)
		return resp, err
	})
	protocol.GetApplicationAttempts.Serve(s, func(_ context.Context, req *pb.GetApplicationAttemptsRequest) (*pb.GetApplicationAttemptsResponse, error) {
		_, err := appOf(req.GetApplicationId())
		resp := &pb.GetApplicationAttemptsResponse{}
		resp.SetApplicationAttempts(attempts)
		return resp, err
	})
	protocol.GetApplicationAttemptReport.Serve(s, func(_ context.Context, req *pb.GetApplicationAttemptReportRequest) (*pb.GetApplicationAttemptReportResponse, error) {
		a, err := attemptOf(req.GetApplicationAttemptId())
		resp := &pb.GetApplicationAttemptReportResponse{}
		resp.SetApplicationAttemptReport(a)
		return resp, err
	})
	protocol.GetContainers.Serve(s, func(_ context.Context, req *pb.GetContainersRequest) (*pb.GetContainersResponse, error) {
		_, err := attemptOf(req.GetApplicationAttemptId())
		resp := &pb.GetContainersResponse{}
		if req.GetApplicationAttemptId().GetAttemptId() == 1 {
			resp.SetContainers(containers)
		}
		return resp, err
	})
	protocol.GetContainerReport.Serve(s, func(_ context.Context, req *pb.GetContainerReportRequest) (*pb.GetContainerReportResponse, error) {
		if _, err := attemptOf(req.GetContainerId().GetAppAttemptId()); err != nil {
			return nil, err
		}
		resp := &pb.GetContainerReportResponse{}
		for _, c := range containers {
			if c.GetContainerId().GetId() == req.GetContainerId().GetId() {
				resp.SetContainerReport(c)
				return resp, nil
			}
		}
		return nil, ipc.NewException(ipc.ContainerNotFound, "Container doesn't exist in RM.")
	})
	protocol.GetClusterNodes.Serve(s, func(_ context.Context, req *pb.GetClusterNodesRequest) (*pb.GetClusterNodesResponse, error) {
		resp := &pb.GetClusterNodesResponse{}
		for _, n := range nodes {
			wanted := len(req.GetNodeStates()) == 0
			for _, st := range req.GetNodeStates() {
				wanted = wanted || st == n.GetNodeState()
			}
			if wanted {
				resp.SetNodeReports(append(resp.GetNodeReports(), n))
			}
		}
		return resp, nil
	})
	protocol.GetQueueInfo.Serve(s, func(_ context.Context, req *pb.GetQueueInfoRequest) (*pb.GetQueueInfoResponse, error) {
		resp := &pb.GetQueueInfoResponse{}
		q := queues[req.GetQueueName()]
		if q != nil && !req.GetIncludeChildQueues() {
			q = proto.CloneOf(q)
			q.SetChildQueues(nil)
		}
		resp.SetQueueInfo(q)
		return resp, nil
	})
	protocol.GetClusterNodeLabels.Serve(s, func(context.Context, *pb.GetClusterNodeLabelsRequest) (*pb.GetClusterNodeLabelsResponse, error) {
		return from(&pb.GetClusterNodeLabelsResponse{}, `nodeLabels { name: "gpu" isExclusive: true }`), nil
	})
	protocol.GetClusterNodeAttributes.Serve(s, func(context.Context, *pb.GetClusterNodeAttributesRequest) (*pb.GetClusterNodeAttributesResponse, error) {
		return from(&pb.GetClusterNodeAttributesResponse{},
			`nodeAttributes { attributeKey { attributePrefix: "nm.yarn.io" attributeName: "zone" } attributeType: STRING }`), nil
	})
	f.serveChanges(s)
	f.serveAdmins(s)
}

// serveAdmins serves what administrators ask for.
func (f *fakeRM) serveAdmins(s *ipc.Server) {
	protocol.GetServiceStatus.Serve(s, func(context.Context, *pb.GetServiceStatusRequest) (*pb.GetServiceStatusResponse, error) {
		return from(&pb.GetServiceStatusResponse{}, `state: STANDBY readyToBecomeActive: true`), nil
	})
	protocol.TransitionToActive.Serve(s, func(_ context.Context, req *pb.TransitionToActiveRequest) (*pb.TransitionToActiveResponse, error) {
		f.note("active", req)
		return &pb.TransitionToActiveResponse{}, nil
	})
	protocol.RemoveMember.Serve(s, func(_ context.Context, req *pb.RemoveMemberRequest) (*pb.RemoveMemberResponse, error) {
		f.note("remove", req)
		return &pb.RemoveMemberResponse{}, nil
	})
	protocol.ForceLeader.Serve(s, func(_ context.Context, req *pb.ForceLeaderRequest) (*pb.ForceLeaderResponse, error) {
		f.note("force", req)
		return from(&pb.ForceLeaderResponse{}, `loss: "37 entries"`), nil
	})
	protocol.MonitorHealth.Serve(s, func(context.Context, *pb.MonitorHealthRequest) (*pb.MonitorHealthResponse, error) {
		return nil, ipc.NewException(ipc.HealthCheckFailed, "the disk is full")
	})
	protocol.RefreshQueues.Serve(s, func(_ context.Context, req *pb.RefreshQueuesRequest) (*pb.RefreshQueuesResponse, error) {
		f.note("refreshQueues", req)
		return &pb.RefreshQueuesResponse{}, nil
	})
	protocol.RefreshServiceAcls.Serve(s, func(context.Context, *pb.RefreshServiceAclsRequest) (*pb.RefreshServiceAclsResponse, error) {
		return nil, ipc.NewException(ipc.YarnException, "java.io.IOException: Service Authorization is not enabled.\n\tat Some.java")
	})
	protocol.RefreshNodes.Serve(s, func(_ context.Context, req *pb.RefreshNodesRequest) (*pb.RefreshNodesResponse, error) {
		f.note("refreshNodes", req)
		return &pb.RefreshNodesResponse{}, nil
	})
	protocol.CheckForDecommissioningNodes.Serve(s,
		func(_ context.Context, req *pb.CheckForDecommissioningNodesRequest) (*pb.CheckForDecommissioningNodesResponse, error) {
			return &pb.CheckForDecommissioningNodesResponse{}, nil
		})
	protocol.GetGroupsForUser.Serve(s, func(_ context.Context, req *pb.GetGroupsForUserRequest) (*pb.GetGroupsForUserResponse, error) {
		resp := &pb.GetGroupsForUserResponse{}
		if req.GetUser() == "alice" {
			resp.SetGroups([]string{"staff", "users"})
		}
		return resp, nil
	})
	protocol.UpdateNodeResource.Serve(s, func(_ context.Context, req *pb.UpdateNodeResourceRequest) (*pb.UpdateNodeResourceResponse, error) {
		f.note("updateNodeResource", req)
		return &pb.UpdateNodeResourceResponse{}, nil
	})
	protocol.AddToClusterNodeLabels.Serve(s, func(_ context.Context, req *pb.AddToClusterNodeLabelsRequest) (*pb.AddToClusterNodeLabelsResponse, error) {
		f.note("addLabels", req)
		return &pb.AddToClusterNodeLabelsResponse{}, nil
	})
	protocol.RemoveFromClusterNodeLabels.Serve(s,
		func(_ context.Context, req *pb.RemoveFromClusterNodeLabelsRequest) (*pb.RemoveFromClusterNodeLabelsResponse, error) {
			f.note("removeLabels", req)
			return &pb.RemoveFromClusterNodeLabelsResponse{}, nil
		})
	protocol.ReplaceLabelsOnNodes.Serve(s, func(_ context.Context, req *pb.ReplaceLabelsOnNodeRequest) (*pb.ReplaceLabelsOnNodeResponse, error) {
		f.note("replaceLabels", req)
		return &pb.ReplaceLabelsOnNodeResponse{}, nil
	})
}

func (f *fakeRM) serveChanges(s *ipc.Server) {
	protocol.ForceKillApplication.Serve(s, func(_ context.Context, req *pb.KillApplicationRequest) (*pb.KillApplicationResponse, error) {
		f.note("kill", req)
		resp := &pb.KillApplicationResponse{}
		resp.SetIsKillCompleted(len(f.noted()) > 1) // at the second time of asking
		return resp, nil
	})
	protocol.MoveApplicationAcrossQueues.Serve(s, func(_ context.Context, req *pb.MoveApplicationAcrossQueuesRequest) (*pb.MoveApplicationAcrossQueuesResponse, error) {
		if req.GetTargetQueue() == "nowhere" {
			return nil, ipc.NewException(ipc.YarnException, "The specified Queue: nowhere doesn't exist")
		}
		f.note("move", req)
		return &pb.MoveApplicationAcrossQueuesResponse{}, nil
	})
	protocol.UpdateApplicationPriority.Serve(s, func(_ context.Context, req *pb.UpdateApplicationPriorityRequest) (*pb.UpdateApplicationPriorityResponse, error) {
		f.note("priority", req)
		p := &pb.Priority{}
		p.SetPriority(min(req.GetApplicationPriority().GetPriority(), 10))
		resp := &pb.UpdateApplicationPriorityResponse{}
		resp.SetApplicationPriority(p)
		return resp, nil
	})
	protocol.UpdateApplicationTimeouts.Serve(s, func(_ context.Context, req *pb.UpdateApplicationTimeoutsRequest) (*pb.UpdateApplicationTimeoutsResponse, error) {
		f.note("timeouts", req)
		resp := &pb.UpdateApplicationTimeoutsResponse{}
		resp.SetApplicationTimeouts(req.GetApplicationTimeouts())
		return resp, nil
	})
	protocol.FailApplicationAttempt.Serve(s, func(_ context.Context, req *pb.FailApplicationAttemptRequest) (*pb.FailApplicationAttemptResponse, error) {
		_, err := attemptOf(req.GetApplicationAttemptId())
		f.note("fail", req)
		return &pb.FailApplicationAttemptResponse{}, err
	})
	protocol.SignalToContainer.Serve(s, func(_ context.Context, req *pb.SignalContainerRequest) (*pb.SignalContainerResponse, error) {
		f.note("signal", req)
		return &pb.SignalContainerResponse{}, nil
	})
}

// settings is the site file for clients of the ResourceManager.
func (f *fakeRM) settings() map[string]string {
	return map[string]string{
		"yarn.resourcemanager.address":             f.addr,
		"yarn.resourcemanager.admin.address":       f.addr,
		"yarn.resourcemanager.connect.max-wait.ms": "1000",
		"yarn.resource-types":                      "yarn.io/gpu",
	}
}

// result is what a command has done.
type result struct {
	out, err string
	code     int // 1 where the program would print the error and exit with 1
	failure  error
}

// run runs a command with settings on top of the defaults.
func run(t *testing.T, settings map[string]string, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for k, v := range settings {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", k, v)
	}
	b.WriteString("</configuration>\n")
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return runIn(t, dir, args...)
}

// runIn runs a command with a configuration folder.
func runIn(t *testing.T, dir string, args ...string) result {
	t.Helper()
	load := func(given string, settings []string) (*conf.Config, error) {
		if given == "" {
			given = dir
		}
		return conf.Load(conf.Options{Dir: given, Overrides: settings})
	}
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &session{
		Context: ctx, out: &out, err: plain.Writer{W: &errs}, zone: time.UTC,
		now: func() time.Time { return time.UnixMilli(1795272305439) },
	}
	r := result{}
	for _, v := range verbs() {
		if v.name == args[0] || v.alias == args[0] {
			r.failure = v.start(s, load, args[1:])
		}
	}
	r.out, r.err = out.String(), errs.String()
	var exit program.Exit
	switch {
	case errors.As(r.failure, &exit):
		r.code = int(exit)
	case r.failure != nil:
		r.code = 1
	}
	return r
}

// haSettings are settings with two ResourceManagers, of which the second is gone.
func (f *fakeRM) haSettings() map[string]string {
	all := map[string]string{
		"yarn.resourcemanager.ha.enabled":          "true",
		"yarn.resourcemanager.ha.rm-ids":           "rm1,rm2",
		"yarn.resourcemanager.cluster-id":          "c",
		"yarn.resourcemanager.connect.max-wait.ms": "1000",
	}
	for _, key := range []string{"address", "admin.address", "scheduler.address", "resource-tracker.address", "webapp.address"} {
		all["yarn.resourcemanager."+key+".rm1"] = f.addr
		all["yarn.resourcemanager."+key+".rm2"] = "127.0.0.1:1"
	}
	return all
}
