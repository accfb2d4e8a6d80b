package rm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/conf"
	"heddle/integration/peer"
	"heddle/internal/await"
	"heddle/internal/ports"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// member is a running ResourceManager.
type member struct {
	*ResourceManager
	stop context.CancelFunc
	done chan error
}

// start runs ResourceManagers on loopback; several form a group.
func start(t *testing.T, n int) []*member {
	t.Helper()
	dir := t.TempDir()
	c := settingsFor(t, dir, n)
	members := make([]*member, n)
	for i := range members {
		members[i] = startOne(t, c, i)
	}
	t.Cleanup(func() {
		for _, m := range members {
			m.halt(t)
		}
	})
	return members
}

func settingsFor(t *testing.T, dir string, n int) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("heddle.state.dir", filepath.Join(dir, "state"))
	c.Set("yarn.resourcemanager.cluster-id", "test")
	// long, so that nobody loses the leadership because other tests keep the machine busy
	c.Set("heddle.raft.heartbeat-timeout-ms", "1000")
	c.Set("heddle.raft.election-timeout-ms", "1000")
	c.Set("heddle.raft.lease-timeout-ms", "800")
	keys := []string{ClientAddress, MasterAddress, TrackerAddress, AdminAddress, WebAddress}
	var ids []string
	for i := range n {
		id := fmt.Sprintf("rm%d", i+1)
		ids = append(ids, id)
		free := ports.Loopback(t, len(keys)+1)
		for i, key := range keys {
			c.Set(key+"."+id, free[i])
			if n == 1 {
				c.Set(key, free[i])
			}
		}
		c.Set("heddle.raft.address."+id, free[len(keys)])
	}
	if n > 1 {
		c.Set("yarn.resourcemanager.ha.enabled", "true")
		c.Set("yarn.resourcemanager.ha.rm-ids", strings.Join(ids, ","))
	}
	if r := c.Validate(); !r.OK() {
		t.Fatal(r)
	}
	return c
}

func startOne(t *testing.T, c *conf.Config, i int) *member {
	t.Helper()
	m := newMember(t, c, i)
	m.run()
	return m
}

func newMember(t *testing.T, c *conf.Config, i int) *member {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	r, err := New(Options{Conf: c, ID: fmt.Sprintf("rm%d", i+1), Log: logrus.NewEntry(log)})
	if err != nil {
		t.Fatal(err)
	}
	return &member{ResourceManager: r, done: make(chan error, 1)}
}

func (m *member) run() {
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() { m.done <- m.Run(ctx) }()
}

func (m *member) halt(t *testing.T) {
	t.Helper()
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
	if err := <-m.done; err != nil {
		t.Error(err)
	}
}

func leaderOf(t *testing.T, members []*member) *member {
	t.Helper()
	return await.Value(t, "a leader", func() (*member, bool) {
		for _, m := range members {
			if m.stop != nil && m.Leader() != nil {
				return m, true
			}
		}
		return nil, false
	})
}

// world talks to the group over the wire, as clients, nodes and ApplicationMasters do.
type world struct {
	t       *testing.T
	members []*member
	client  *ipc.Client
}

func newWorld(t *testing.T, members []*member) *world {
	w := &world{t: t, members: members, client: ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 2 * time.Second})}
	t.Cleanup(w.client.Close)
	return w
}

func (w *world) to(key string, p ipc.Protocol, who ipc.Identity) ipc.Invoker {
	var addrs []string
	for _, m := range w.members {
		addrs = append(addrs, m.Addr(key).String())
	}
	return w.client.Failover(addrs, p, who, ipc.RetryPolicy{MaxElapsed: 2 * time.Minute})
}

func call[Req, Resp any](w *world, m protocol.Method[Req, Resp], to ipc.Invoker, req *Req) *Resp {
	w.t.Helper()
	resp, err := m.Call(w.t.Context(), to, req)
	if err != nil {
		w.t.Fatalf("%s: %v", m.Name, err)
	}
	return resp
}

// node is a NodeManager that starts nothing, and remembers what it was asked to start.
type node struct {
	*peer.Node
	w       *world
	started chan *pb.StartContainerRequest
	ended   []*pb.ContainerStatus // that its next heartbeat tells
	refuses []*pb.StartRefusal

	mu      sync.Mutex
	running map[records.ContainerID]bool
}

func (w *world) node() *node {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	n := &node{w: w, started: make(chan *pb.StartContainerRequest, 10), running: map[records.ContainerID]bool{}}
	n.Node = &peer.Node{
		ID:       records.NodeID{Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port)},
		RM:       w.to(TrackerAddress, protocol.ResourceTracker, ipc.Identity{User: "yarn"}),
		Resource: records.ResourceTypes{}.PB(records.NewResource(8192, 8)), Containers: n.containers, Beats: n.beats,
	}
	server, err := ipc.NewServer(ipc.ServerConfig{})
	if err != nil {
		w.t.Fatal(err)
	}
	protocol.StartContainers.Serve(server, n.start)
	protocol.StopContainers.Serve(server, func(context.Context, *pb.StopContainersRequest) (*pb.StopContainersResponse, error) {
		return &pb.StopContainersResponse{}, nil
	})
	go func() { _ = server.Serve(l) }()
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	if err := n.Register(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	n.heartbeat(nil, 0) // nodes that are not Heddle's get containers from then on
	return n
}

// containers are those that run.
func (n *node) containers() (all []*pb.ContainerStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.running {
		all = append(all, peer.Running(id))
	}
	return all
}

// beats adds to a heartbeat what a registration doesn't tell.
func (n *node) beats(req *pb.NodeHeartbeatRequest) {
	s := req.GetNodeStatus()
	s.SetContainersStatuses(append(s.GetContainersStatuses(), n.ended...))
	req.SetHeddleRefusals(n.refuses)
}

func (n *node) start(_ context.Context, req *pb.StartContainersRequest) (*pb.StartContainersResponse, error) {
	resp := &pb.StartContainersResponse{}
	for _, r := range req.GetStartContainerRequest() {
		id, err := token.ParseContainer(token.FromPB(r.GetContainerToken()).Identifier)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		n.running[records.ContainerIDFrom(id.GetContainerId())] = true
		n.mu.Unlock()
		resp.SetSucceededRequests(append(resp.GetSucceededRequests(), id.GetContainerId()))
		n.started <- r
	}
	return resp, nil
}

// heartbeat tells of all running containers and of one that ended, and registers again when asked to.
func (n *node) heartbeat(ended *records.ContainerID, exit int32) *pb.NodeHeartbeatResponse {
	n.w.t.Helper()
	if n.ended = nil; ended != nil {
		n.mu.Lock()
		delete(n.running, *ended)
		n.mu.Unlock()
		n.ended = append(n.ended, peer.Ended(*ended, exit))
	}
	for {
		resp, err := n.Heartbeat(n.w.t.Context())
		if err != nil {
			n.w.t.Fatal(err)
		}
		if resp != nil {
			return resp
		}
	}
}

func (w *world) submit(user string) records.ApplicationID {
	w.t.Helper()
	rm := w.to(ClientAddress, protocol.ApplicationClient, ipc.Identity{User: user})
	id := call(w, protocol.GetNewApplication, rm, &pb.GetNewApplicationRequest{}).GetApplicationId()
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(id)
	ctx.SetApplicationName("test")
	ctx.SetResource(records.ResourceTypes{}.PB(records.NewResource(512, 1)))
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	call(w, protocol.SubmitApplication, rm, req)
	return records.ApplicationIDFrom(id)
}

func (w *world) report(id records.ApplicationID) *pb.ApplicationReport {
	w.t.Helper()
	rm := w.to(ClientAddress, protocol.ApplicationClient, ipc.Identity{User: "anybody"})
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	return call(w, protocol.GetApplicationReport, rm, req).GetApplicationReport()
}

// master is an ApplicationMaster with the token that it was launched with.
func (w *world) master(start *pb.StartContainerRequest) ipc.Invoker {
	w.t.Helper()
	creds, err := token.DecodeCredentials(start.GetContainerLaunchContext().GetTokens())
	if err != nil {
		w.t.Fatal(err)
	}
	t, ok := creds.OfKind(token.KindAMRM)
	if !ok {
		w.t.Fatal("launched without a token")
	}
	return w.to(MasterAddress, protocol.ApplicationMaster, ipc.Identity{Token: &t})
}

func allocateRequest(response, count int32) *pb.AllocateRequest {
	req := &pb.AllocateRequest{}
	req.SetResponseId(response)
	if count > 0 {
		row := &pb.ResourceRequest{}
		row.SetResourceName("*")
		row.SetNumContainers(count)
		row.SetCapability(records.ResourceTypes{}.PB(records.NewResource(1024, 1)))
		req.SetAsk([]*pb.ResourceRequest{row})
	}
	return req
}

func TestApplicationOverTheWire(t *testing.T) {
	w := newWorld(t, start(t, 1))
	n := w.node()
	id := w.submit("alice")
	launch := <-n.started
	env := map[string]string{}
	for _, e := range launch.GetContainerLaunchContext().GetEnvironment() {
		env[e.GetKey()] = e.GetValue()
	}
	if env["APPLICATION_WEB_PROXY_BASE"] != "/proxy/"+id.String() || env["APP_SUBMIT_TIME_ENV"] == "" {
		t.Errorf("environment: %v", env)
	}
	am := w.master(launch)
	register := &pb.RegisterApplicationMasterRequest{}
	register.SetHost("amhost")
	register.SetRpcPort(4711)
	register.SetTrackingUrl("http://amhost:1/")
	r := call(w, protocol.RegisterApplicationMaster, am, register)
	if r.GetQueue() != "root.default" || r.GetMaximumCapability().GetMemory() != 8192 {
		t.Errorf("registered: %v", r)
	}
	if rep := w.report(id); rep.GetYarnApplicationState() != pb.YarnApplicationState_RUNNING || rep.GetHost() != "amhost" ||
		rep.GetRpcPort() != 4711 || rep.GetUser() != "alice" {
		t.Errorf("report: %v", rep)
	}
	a := call(w, protocol.Allocate, am, allocateRequest(0, 2))
	if len(a.GetAllocatedContainers()) != 2 || len(a.GetNmTokens()) != 1 {
		t.Fatalf("allocated: %v", a)
	}
	cid, err := token.ParseContainer(token.FromPB(a.GetAllocatedContainers()[0].GetContainerToken()).Identifier)
	if err != nil || cid.GetAppSubmitter() != "alice" || cid.GetNmHostAddr() != n.ID.String() {
		t.Errorf("container token: %v, %v", cid, err)
	}
	finish := &pb.FinishApplicationMasterRequest{}
	finish.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_SUCCEEDED)
	if !call(w, protocol.FinishApplicationMaster, am, finish).GetIsUnregistered() {
		t.Error("the farewell was not taken")
	}
	amc := records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: 1}, ID: 1}
	n.heartbeat(&amc, 0)
	rep := w.report(id)
	if rep.GetYarnApplicationState() != pb.YarnApplicationState_FINISHED ||
		rep.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_SUCCEEDED {
		t.Errorf("at the end: %v", rep)
	}
	if _, err := protocol.Allocate.Call(t.Context(), w.master(launch), allocateRequest(1, 0)); err == nil {
		t.Error("a token of a finished application is still good")
	}
}

// Java's verifiers encode the identifier of a container's token anew, and so must get the very bytes that were signed. The containers of
// one answer share parts of theirs where they are alike.
func TestContainerTokensEncodeAnew(t *testing.T) {
	w := newWorld(t, start(t, 1))
	n := w.node()
	w.submit("alice")
	am := w.master(<-n.started)
	call(w, protocol.RegisterApplicationMaster, am, &pb.RegisterApplicationMasterRequest{})
	req := allocateRequest(0, 2)
	small := allocateRequest(0, 1).GetAsk()[0]
	small.SetCapability(records.ResourceTypes{}.PB(records.NewResource(512, 1)))
	small.SetPriority(&pb.Priority{})
	small.GetPriority().SetPriority(7)
	small.SetAllocationRequestId(99)
	req.SetAsk(append(req.GetAsk(), small))
	granted := call(w, protocol.Allocate, am, req).GetAllocatedContainers()
	if len(granted) != 3 {
		t.Fatalf("%d containers", len(granted))
	}
	for _, c := range granted {
		tok := token.FromPB(c.GetContainerToken())
		id, err := token.ParseContainer(tok.Identifier)
		if err != nil {
			t.Fatal(err)
		}
		again, err := token.Encode(id)
		if err != nil || !bytes.Equal(again, tok.Identifier) {
			t.Errorf("%v is encoded anew as %x, not %x: %v", id, again, tok.Identifier, err)
		}
		if !proto.Equal(id.GetContainerId(), c.GetId()) || !proto.Equal(id.GetResource(), c.GetResource()) ||
			!proto.Equal(id.GetPriority(), c.GetPriority()) || id.GetAllocationRequestId() != c.GetAllocationRequestId() {
			t.Errorf("token of another container: %v for %v", id, c)
		}
	}
}

// Who has proposed an entry applies what it was made from, and the others what they decode. Both come to the same.
func TestMembersAgree(t *testing.T) {
	members := start(t, 3)
	w := newWorld(t, members)
	n := w.node()
	id := w.submit("alice")
	am := w.master(<-n.started)
	call(w, protocol.RegisterApplicationMaster, am, &pb.RegisterApplicationMasterRequest{})
	granted := call(w, protocol.Allocate, am, allocateRequest(0, 2)).GetAllocatedContainers()
	req := allocateRequest(1, 0)
	req.SetRelease([]*pb.ContainerId{granted[0].GetId()})
	call(w, protocol.Allocate, am, req)
	call(w, protocol.Allocate, am, allocateRequest(2, 1))
	if got := w.report(id).GetAppResource_Usage().GetNumUsedContainers(); got != 3 {
		t.Fatalf("%d containers", got)
	}
	await.Until(t, "all have the same ledger", func() bool {
		first := members[0].replica.image()
		return bytes.Equal(first, members[1].replica.image()) && bytes.Equal(first, members[2].replica.image())
	})
}

func TestFailoverOverTheWire(t *testing.T) {
	members := start(t, 3)
	w := newWorld(t, members)
	first := leaderOf(t, members)
	n := w.node()
	id := w.submit("alice")
	launch := <-n.started
	am := w.master(launch)
	register := &pb.RegisterApplicationMasterRequest{}
	register.SetHost("amhost")
	call(w, protocol.RegisterApplicationMaster, am, register)
	before := call(w, protocol.Allocate, am, allocateRequest(0, 2)).GetAllocatedContainers()

	first.halt(t)
	second := leaderOf(t, members)
	if second == first {
		t.Fatal("the leader that was stopped leads")
	}
	if rep := w.report(id); rep.GetYarnApplicationState() != pb.YarnApplicationState_RUNNING ||
		rep.GetAppResource_Usage().GetNumUsedContainers() != 3 {
		t.Errorf("after the change of leaders: %v", rep)
	}
	_, err := protocol.Allocate.Call(t.Context(), am, allocateRequest(1, 0))
	if !ipc.IsClass(err, ipc.MasterNotRegistered) {
		t.Fatalf("an ApplicationMaster that has to register again is told: %v", err)
	}
	call(w, protocol.RegisterApplicationMaster, am, register)
	after := call(w, protocol.Allocate, am, allocateRequest(0, 1)).GetAllocatedContainers()
	if len(after) != 1 {
		t.Fatalf("the new leader grants %v", after)
	}
	got := records.ContainerIDFrom(after[0].GetId())
	for _, c := range before {
		if records.ContainerIDFrom(c.GetId()) == got {
			t.Errorf("%v was given out twice", got)
		}
	}
	if got.Epoch() == 0 {
		t.Errorf("%v has no epoch", got)
	}
	if resp := n.heartbeat(nil, 0); resp.GetNodeAction() != pb.NodeAction_NORMAL || len(resp.GetContainersToCleanup()) != 0 {
		t.Errorf("the node after it registered again: %v", resp)
	}
}

func TestStandbyAnswers(t *testing.T) {
	members := start(t, 3)
	w := newWorld(t, members)
	for {
		lead := leaderOf(t, members)
		leadership := lead.Leader()
		var wrong []error
		for _, m := range members {
			wrong = append(wrong, w.answersOf(m, m == lead)...)
		}
		if leadership != nil && lead.Leader() == leadership { // nobody else has come to lead meanwhile, as when the machine stands still
			for _, err := range wrong {
				t.Error(err)
			}
			return
		}
	}
}

// answersOf returns what a member answers otherwise than a leader, or a standby, should.
func (w *world) answersOf(m *member, leads bool) (wrong []error) {
	w.t.Helper()
	fail := func(to string, got any) {
		wrong = append(wrong, fmt.Errorf("%s, which leads: %v, to %s: %v", m.ID(), leads, to, got))
	}
	admin := w.client.Endpoint(m.Addr(AdminAddress).String(), protocol.HAService, ipc.Identity{User: "root"})
	state := call(w, protocol.GetServiceStatus, admin, &pb.GetServiceStatusRequest{}).GetState()
	if leads != (state == pb.HAServiceState_ACTIVE) {
		fail("who asks for its state", state)
	}
	if leads {
		return wrong
	}
	rm := w.client.Endpoint(m.Addr(ClientAddress).String(), protocol.ApplicationClient, ipc.Identity{User: "alice"})
	_, err := protocol.GetNewApplication.Call(w.t.Context(), rm, &pb.GetNewApplicationRequest{})
	if !ipc.IsClass(err, ipc.StandbyException) {
		fail("a client", err)
	}
	bad := token.Token{Identifier: token.AMRM{Attempt: records.AttemptID{Attempt: 1}}.Encode(), Kind: token.KindAMRM}
	master := w.client.Endpoint(m.Addr(MasterAddress).String(), protocol.ApplicationMaster, ipc.Identity{Token: &bad})
	_, err = protocol.Allocate.Call(w.t.Context(), master, allocateRequest(0, 0))
	if !ipc.IsClass(err, ipc.StandbyException) {
		fail("an ApplicationMaster", err)
	}
	return wrong
}

func TestTransitionToActive(t *testing.T) {
	members := start(t, 3)
	lead := leaderOf(t, members)
	w := newWorld(t, members)
	for _, m := range members {
		if m == lead {
			continue
		}
		admin := w.client.Endpoint(m.Addr(AdminAddress).String(), protocol.HAService, ipc.Identity{User: "root"})
		req := &pb.TransitionToActiveRequest{}
		info := &pb.HAStateChangeRequestInfo{}
		info.SetReqSource(pb.HARequestSource_REQUEST_BY_USER)
		req.SetReqInfo(info)
		await.Until(t, m.ID()+" leads", func() bool {
			_, err := protocol.TransitionToActive.Call(t.Context(), admin, req) // which may fail where members are too slow to answer
			return err == nil && m.Leader() != nil
		})
		lead = m
	}
	// Whoever leads already, as after an election of which the caller hadn't heard, stays.
	lead = leaderOf(t, members)
	if err := lead.Transfer(t.Context(), lead.ID()); err != nil {
		t.Errorf("handed to %s, which leads: %v", lead.ID(), err)
	}
}

// What was committed is there after a restart: all of it, and nothing else.
func TestEverythingIsThereAfterARestart(t *testing.T) {
	dir := t.TempDir()
	c := settingsFor(t, dir, 1)
	m := startOne(t, c, 0)
	w := newWorld(t, []*member{m})
	n := w.node()
	id := w.submit("alice")
	launch := <-n.started
	await.Until(t, "the launch is on record", func() bool { return w.report(id).GetLaunchTime() > 0 })
	m.halt(t)
	committed := m.replica.image()
	m = newMember(t, c, 0)
	await.Until(t, "the log is applied", func() bool { return m.raft.IsLeader() && m.raft.Barrier() == nil })
	if after := m.replica.image(); len(committed) == 0 || !bytes.Equal(after, committed) {
		t.Errorf("the ledger has %d bytes, and isn't the one with %d that was committed", len(after), len(committed))
	}
	m.run()
	defer m.halt(t)
	leaderOf(t, []*member{m})
	if rep := w.report(id); rep.GetYarnApplicationState() != pb.YarnApplicationState_ACCEPTED {
		t.Errorf("after the restart: %v", rep)
	}
	n.heartbeat(nil, 0)
	am := w.master(launch)
	call(w, protocol.RegisterApplicationMaster, am, &pb.RegisterApplicationMasterRequest{})
	if rep := w.report(id); rep.GetYarnApplicationState() != pb.YarnApplicationState_RUNNING {
		t.Errorf("after it registered: %v", rep)
	}
	if again := w.submit("bob"); again.ID != id.ID+1 {
		t.Errorf("after %v comes %v", id, again)
	}
}

// The proxy to applications' pages has a port of its own where yarn.web-proxy.address says so, and links lead there.
func TestProxyPort(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 1)
	address := ports.Loopback(t, 1)[0]
	c.Set(ProxyAddress, address)
	log := logrus.New()
	log.SetOutput(io.Discard)
	r, err := New(Options{Conf: c, ID: "rm1", Log: logrus.NewEntry(log), Web: func(*ResourceManager) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") }), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{ResourceManager: r, stop: cancel, done: make(chan error, 1)}
	go func() { m.done <- r.Run(ctx) }()
	t.Cleanup(func() {
		m.halt(t)
		http.DefaultClient.CloseIdleConnections()
	})
	web := r.Addr(WebAddress).String()
	for at, want := range map[string]string{ // pages of applications have an origin of their own
		address + "/proxy/x": "here", web + "/": "here", web + "/proxy/x": "here", address + "/": "404 page not found\n", address + "/ws/v1/cluster": "404 page not found\n",
	} {
		resp, err := http.Get("http://" + at)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(b) != want || strings.Contains(at, "/proxy/") && resp.Request.URL.Host != address {
			t.Errorf("%s: %s from %s", at, b, resp.Request.URL.Host)
		}
	}
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	if got, want := r.View().ProxyURL(id), "http://"+address+"/proxy/application_1_0002/"; got != want {
		t.Errorf("links lead to %s, not %s", got, want)
	}
	if got := r.View().PageURL(id); strings.Contains(got, address) {
		t.Errorf("pages are at %s", got)
	}
}

func TestLeaderThatCannotLeadEndsTheProcess(t *testing.T) {
	for _, n := range []int{1, 3} {
		c := settingsFor(t, t.TempDir(), n)
		broken := newMember(t, c, 0)
		broken.newKey = func(ledgerpb.KeyKind) (int32, []byte, error) { return 0, nil, errors.New("no randomness") }
		broken.run()
		members := []*member{broken}
		for i := 1; i < n; i++ {
			m := newMember(t, c, i)
			m.newKey = broken.newKey
			m.run()
			members = append(members, m)
		}
		var failed *member
		await.Until(t, "one has given up", func() bool {
			for _, m := range members {
				select {
				case err := <-m.done:
					if failed = m; err == nil || !strings.Contains(err.Error(), "no randomness") {
						t.Errorf("it ended with %v", err)
					}
					return true
				default:
				}
			}
			return false
		})
		for _, m := range members {
			if m.stop(); m != failed {
				<-m.done
			}
		}
	}
}
