package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/access"
	"heddle/rm/leader"
	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/service/identity"
	"heddle/rm/view"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// largestBatch is what any request may come to in the log.
const largestBatch = 1 << 20

// cluster is a ResourceManager without ports, log and nodes. It runs in a synctest bubble.
type cluster struct {
	t     *testing.T
	mu    sync.Mutex
	state *ledger.State
	lead  *leader.Leader
	svc   *Service
	ha    bool
}

func (c *cluster) Read(f func(*ledger.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.state)
}

func (c *cluster) Leader() *leader.Leader                                    { return c.lead }
func (c *cluster) VerifyLeader() error                                       { return nil }
func (c *cluster) Transfer(context.Context, string) error                    { return nil }
func (c *cluster) AwaitLeadership() bool                                     { return true }
func (c *cluster) RemoveMember(context.Context, string) error                { return nil }
func (c *cluster) ForceLeader(context.Context, string, bool) (string, error) { return "", nil }
func (c *cluster) HA() bool                                                  { return c.ha }
func (c *cluster) ID() string                                                { return "rm1" }
func (c *cluster) LedgerVersion() int32                                      { return ledger.Version }

// propose commits a batch at once, through its bytes.
func (c *cluster) propose(b *ledgerpb.Batch) func() error {
	entry, err := ledger.Encode(b)
	return func() error {
		if err != nil {
			c.t.Errorf("a batch can't be encoded: %v", err)
			return err
		}
		if len(entry) > largestBatch {
			c.t.Errorf("a batch of %d bytes, with %d commands", len(entry), len(b.GetCommands()))
		}
		got, err := ledger.Decode(entry)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			err = c.state.Apply(got)
		}
		if err != nil {
			c.t.Errorf("a batch can't be applied: %v", err)
		}
		return err
	}
}

// Launch and the others are of leader.Launcher: nodes do as they are told.
func (c *cluster) Launch(context.Context, leader.Launch) error { return nil }

func (c *cluster) Stop(context.Context, records.NodeID, records.AttemptID, records.ContainerID) error {
	return nil
}

func (c *cluster) Suspend(context.Context, records.NodeID, records.AttemptID, records.ContainerID) error {
	return nil
}

func (c *cluster) Resume(context.Context, records.NodeID, records.AttemptID, records.ContainerID) error {
	return nil
}

func (c *cluster) Order(context.Context, records.NodeID, level.Order) error { return nil }
func (c *cluster) Ahead(context.Context, records.NodeID, records.ContainerID, bool) error {
	return nil
}

// The cluster has a node, and an application of alice's whose ApplicationMaster has registered.
var (
	theApp     = records.ApplicationID{ClusterTimestamp: 946_684_800_000, ID: 1} // when time begins in a bubble
	theAttempt = records.AttemptID{App: theApp, Attempt: 1}
	theAM      = records.ContainerID{Attempt: theAttempt, ID: 1}
	theNode    = records.NodeID{Host: "n1", Port: 45454}
)

func openCluster(t *testing.T) *cluster {
	live := queue.NewLive(queue.Default(queue.Capacity))
	return openClusterWith(t, &access.Checker{Self: "alice", Queues: live})
}

// openClusterWith makes a cluster with the queues, and the rights, of a checker. Who runs it is the user yarn.
func openClusterWith(t *testing.T, rights *access.Checker) *cluster {
	c := &cluster{t: t, state: ledger.New()}
	log := logrus.New()
	log.SetOutput(io.Discard)
	live := rights.Queues
	keys := int32(0)
	c.lead = leader.New(leader.Config{
		Settings: leader.Settings{
			ID: "rm1", MinAllocation: records.NewResource(256, 1), MaxAllocation: records.NewResource(8192, 4), MaxAttempts: 2,
			GlobalMaxAttempts: 3, MaxCompleted: 3, AMExpiry: time.Hour, NodeExpiry: time.Hour, AllocationExpiry: time.Hour,
			HeartbeatInterval: time.Second, MaxSubmission: 983_040, Queues: live.Tree(), Live: live, MaxTags: 10, MaxTagLength: 100,
			MaySubmit: rights.MaySubmit, ACLs: rights.Enabled,
			DelegationLifetime: time.Hour, DelegationRenewal: time.Hour,
			PageURL: func(id records.ApplicationID) string { return "http://rm/cluster/app/" + id.String() },
		},
		State: ledger.New(), Propose: c.propose, Launcher: c, Wall: time.Now,
		NewKey: func(ledgerpb.KeyKind) (int32, []byte, error) {
			keys++
			return keys, []byte(fmt.Sprint("secret ", keys)), nil
		},
		Rack: func(string) string { return "/default-rack" }, Log: logrus.NewEntry(log),
	})
	c.svc = New(Config{
		Backend: c, View: &view.Viewer{Source: c, Now: time.Now, Web: "rm:8088", Proxy: "rm:8088"}, Expiry: time.Hour, Heartbeat: time.Second,
		Resolve: func(host string) string { return host },
		Groups:  func(string) ([]string, error) { return nil, nil },
		Refresh: func(Refreshable) error { return nil }, Queues: live, Identity: identity.Names{Login: "yarn"}, Log: logrus.NewEntry(log),
		Access: rights,
	})
	return c
}

// handler is a method of the ResourceManager's, as the server calls it with what it has read.
type handler struct {
	name string
	call func(ctx context.Context, request []byte) error
}

func handle[Req, Resp any, M interface {
	*Req
	proto.Message
}](name string, h func(context.Context, *Req) (*Resp, error),
) handler {
	return handler{name, func(ctx context.Context, request []byte) error {
		req := new(Req)
		if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(request, M(req)); err != nil {
			return err
		}
		resp, err := h(ctx, req)
		if err == nil {
			_, err = proto.MarshalOptions{AllowPartial: true}.Marshal(any(resp).(proto.Message))
		}
		return err
	}}
}

func (s *Service) handlers() []handler {
	return []handler{
		handle("newApplication", s.newApplication), handle("submit", s.submit), handle("report", s.report), handle("kill", s.kill),
		handle("failAttempt", s.failAttempt), handle("applications", s.applications), handle("attempts", s.attempts),
		handle("attempt", s.attempt), handle("containers", s.containers), handle("container", s.container), handle("metrics", s.metrics),
		handle("nodes", s.nodes), handle("queue", s.queue), handle("queueACLs", s.queueACLs), handle("updatePriority", s.updatePriority),
		handle("updateTimeouts", s.updateTimeouts), handle("move", s.move), handle("signal", s.signal),
		handle("delegationToken", s.delegationToken), handle("renewDelegationToken", s.renewDelegationToken),
		handle("cancelDelegationToken", s.cancelDelegationToken), handle("registerMaster", s.registerMaster),
		handle("allocate", s.allocate), handle("finishMaster", s.finishMaster), handle("registerNode", s.registerNode),
		handle("heartbeat", s.heartbeat), handle("unregisterNode", s.unregisterNode), handle("updateNodeResource", s.updateNodeResource),
		handle("leavingNodes", s.leavingNodes), handle("resourceTypeInfo", s.resourceTypeInfo), handle("refreshNodes", s.refreshNodes),
		handle("refreshQueues", s.refreshQueues), handle("serviceStatus", s.serviceStatus), handle("groupsForUser", s.groupsForUser),
	}
}

func caller(user string) context.Context {
	return ipc.WithCall(context.Background(), ipc.Call{Peer: &ipc.Peer{
		User: user, Identifier: token.AMRM{Attempt: theAttempt}, Addr: netip.MustParseAddrPort("10.0.0.1:1"),
	}})
}

// message encodes a request for the corpus.
func message(m proto.Message) []byte {
	b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func submission(id records.ApplicationID, name string) *pb.SubmitApplicationRequest {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(id.PB())
	ctx.SetApplicationName(name)
	ctx.SetResource(records.ResourceTypes{}.PB(records.NewResource(512, 1)))
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	return req
}

func registration() *pb.RegisterNodeManagerRequest {
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(theNode.PB())
	req.SetHttpPort(8042)
	req.SetResource(records.ResourceTypes{}.PB(records.NewResource(1<<20, 1<<10)))
	req.SetNmVersion("3.4.2")
	return req
}

func beat(response int32, health string, containers ...*pb.ContainerStatus) *pb.NodeHeartbeatRequest {
	status := &pb.NodeStatus{}
	status.SetNodeId(theNode.PB())
	status.SetResponseId(response)
	h := &pb.NodeHealthStatus{}
	h.SetIsNodeHealthy(health == "")
	h.SetHealthReport(health)
	status.SetNodeHealthStatus(h)
	status.SetContainersStatuses(containers)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	return req
}

func ended(id records.ContainerID, diagnostics string) *pb.ContainerStatus {
	s := &pb.ContainerStatus{}
	s.SetContainerId(id.PB())
	s.SetState(pb.ContainerState_C_COMPLETE)
	s.SetExitStatus(1)
	s.SetDiagnostics(diagnostics)
	return s
}

func asking(response, count int32, url string) *pb.AllocateRequest {
	row := &pb.ResourceRequest{}
	row.SetResourceName("*")
	row.SetNumContainers(count)
	row.SetCapability(records.ResourceTypes{}.PB(records.NewResource(256, 1)))
	req := &pb.AllocateRequest{}
	req.SetResponseId(response)
	req.SetAsk([]*pb.ResourceRequest{row})
	req.SetTrackingUrl(url)
	return req
}

// learned is a call of an ApplicationMaster that tells what can't be of its stages and of nodes, and wants to know what others do.
func learned() *pb.AllocateRequest {
	req := asking(0, 1, "")
	stages := &pb.StageReport{}
	stages.SetMaps(-1)
	stages.SetOutputBytes(math.MaxInt64)
	stages.SetReleased(math.MinInt64)
	stages.SetAvailable(math.MaxInt64)
	req.SetHeddleStages(stages)
	var list []*pb.NodePerformance
	for _, mean := range []float64{math.NaN(), math.Inf(1), -1, 0, math.MaxFloat64, 1} {
		for _, host := range []string{theNode.Host, latin1} {
			p := &pb.NodePerformance{}
			p.SetHost(host)
			p.SetMean(mean)
			p.SetTasks(math.MaxInt64)
			list = append(list, p)
		}
	}
	req.SetHeddlePerformance(list)
	req.SetHeddleWantsHints(true)
	req.SetHeddleWantsLevels(true)
	return req
}

// leaving is a heartbeat that tells what can't be of the outputs of maps.
func leaving() *pb.NodeHeartbeatRequest {
	req := beat(0, "")
	var list []*pb.MapOutputs
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		m := &pb.MapOutputs{}
		m.SetApplicationId(theApp.PB())
		m.SetMaps(n)
		m.SetBytes(n)
		list = append(list, m, &pb.MapOutputs{})
	}
	req.SetHeddleMapOutputs(list)
	req.SetHeddleFetchRate(math.MaxInt64)
	return req
}

const latin1 = "caf\xe9"

// corpus are requests that reach the ledger, by the names of their methods.
func corpus() map[string][][]byte {
	next := records.ApplicationID{ClusterTimestamp: theApp.ClusterTimestamp, ID: 2}
	master := &pb.RegisterApplicationMasterRequest{}
	master.SetHost(latin1)
	master.SetTrackingUrl(latin1)
	farewell := &pb.FinishApplicationMasterRequest{}
	farewell.SetDiagnostics(strings.Repeat(latin1, 30_000))
	farewell.SetTrackingUrl(latin1)
	kill := &pb.KillApplicationRequest{}
	kill.SetApplicationId(theApp.PB())
	kill.SetDiagnostics(latin1)
	fail := &pb.FailApplicationAttemptRequest{}
	fail.SetApplicationAttemptId(theAttempt.PB())
	move := &pb.MoveApplicationAcrossQueuesRequest{}
	move.SetApplicationId(theApp.PB())
	move.SetTargetQueue(latin1)
	renewer := &pb.GetDelegationTokenRequest{}
	renewer.SetRenewer(latin1)
	foreign := registration()
	other := records.NodeID{Host: latin1, Port: 1}
	foreign.SetNodeId(other.PB())
	old := registration()
	old.SetNmVersion(latin1)
	gone := &pb.UnRegisterNodeManagerRequest{}
	gone.SetNodeId(theNode.PB())
	large := submission(next, "large")
	large.GetApplicationSubmissionContext().GetAmContainerSpec().SetTokens(make([]byte, 975_000))
	tooLarge := submission(next, "too large")
	tooLarge.GetApplicationSubmissionContext().GetAmContainerSpec().SetTokens(make([]byte, 2<<20))
	long := submission(next, "x")
	long.GetApplicationSubmissionContext().SetQueue(strings.Repeat(latin1, 500))
	return map[string][][]byte{
		"newApplication": {nil},
		"submit":         {message(submission(next, latin1)), message(large), message(tooLarge), message(long)},
		"kill":           {message(kill)}, "failAttempt": {message(fail)}, "move": {message(move)}, "delegationToken": {message(renewer)},
		"registerMaster": {message(master)}, "finishMaster": {message(farewell)},
		"allocate":       {message(learned()), message(asking(0, 900, latin1)), message(asking(0, -1, strings.Repeat("ü", 20_000)))},
		"registerNode":   {message(registration()), message(foreign), message(old)},
		"heartbeat":      {message(leaving()), message(beat(0, latin1)), message(beat(0, "", ended(theAM, strings.Repeat(latin1, 50_000))))},
		"unregisterNode": {message(gone)},
	}
}

// fuzzedSize is the size of the requests that FuzzHandlers mutates. The fuzzer tries thousands of variations of an input that it shrinks, and
// would take minutes for each large one: TestLargeRequests has these.
const fuzzedSize = 4 << 10

// Whatever anybody asks for, the ResourceManager goes on, and what it writes is small and can be read.
func FuzzHandlers(f *testing.F) {
	requests := corpus()
	for i, h := range New(Config{}).handlers() {
		f.Add(byte(i), []byte(nil), byte(i), []byte(nil))
		for _, request := range requests[h.name] {
			if len(request) <= fuzzedSize {
				f.Add(byte(i), request, byte(i), request)
			}
		}
	}
	f.Fuzz(func(t *testing.T, first byte, request []byte, second byte, again []byte) {
		if max(len(request), len(again)) <= fuzzedSize {
			callTwice(t, first, request, second, again)
		}
	})
}

func TestLargeRequests(t *testing.T) {
	requests := corpus()
	for i, h := range New(Config{}).handlers() {
		for _, request := range requests[h.name] {
			if len(request) > fuzzedSize {
				callTwice(t, byte(i), request, byte(i), request)
			}
		}
	}
}

// callTwice has alice call two methods of a ResourceManager that has an application of hers, and checks it afterwards.
func callTwice(t *testing.T, first byte, request []byte, second byte, again []byte) {
	synctest.Test(t, func(t *testing.T) {
		c := openCluster(t)
		ctx, stop := context.WithCancel(t.Context())
		ready, over := make(chan struct{}), make(chan error, 1)
		go func() { over <- c.lead.Run(ctx, func() { close(ready) }) }()
		<-ready
		c.prepare()
		all := c.svc.handlers()
		_ = all[int(first)%len(all)].call(caller("alice"), request)
		_ = all[int(second)%len(all)].call(caller("alice"), again)
		if _, _, err := c.lead.NewApplication("alice"); err != nil {
			t.Errorf("it doesn't go on: %v", err)
		}
		c.check()
		stop()
		<-over
	})
}

func (c *cluster) prepare() {
	for _, step := range []error{
		handle("", c.svc.registerNode).call(caller("yarn"), message(registration())),
		handle("", c.svc.heartbeat).call(caller("yarn"), message(beat(0, ""))),
		handle("", c.svc.newApplication).call(caller("alice"), nil),
		handle("", c.svc.submit).call(caller("alice"), message(submission(theApp, "sleep"))),
		handle("", c.svc.registerMaster).call(caller("alice"), message(&pb.RegisterApplicationMasterRequest{})),
	} {
		if step != nil {
			c.t.Fatal(step)
		}
	}
}

func (c *cluster) check() {
	c.Read(func(s *ledger.State) {
		if err := s.Check(); err != nil {
			c.t.Error(err)
		}
		var image bytes.Buffer
		if err := s.WriteSnapshot(&image); err != nil {
			c.t.Error(err)
		}
		if _, err := ledger.ReadSnapshot(&image); err != nil {
			c.t.Error(err)
		}
	})
}
