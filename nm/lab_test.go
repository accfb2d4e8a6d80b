package nm

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/nm/proc"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// attackers is the variable that names a folder with programs of internal/hostile, and the NodeManager: see TestOnAMachineOfItsOwn.
const attackers = "NM_TEST_MACHINE"

func TestMain(m *testing.M) {
	code := await.NoGoroutines(m.Run())
	if path, _ := binary(); path != "" && os.Getenv(attackers) == "" {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// The keys of the recorded cluster.
var (
	containerKey = token.NewMasterKey(-1371326021, []byte{0x1e, 0xdd, 0xd1, 0xcc, 0x82, 0xce, 0x3c, 0x70})
	nodeKey      = token.NewMasterKey(-1296819725, []byte{0xd2, 0xd7, 0xd5, 0x40, 0x4d, 0x83, 0x94, 0xbd})
)

const rmIdentifier = 1795253712789

func quiet() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	if os.Getenv("LAB_LOG") != "" {
		l.Out = os.Stderr
	}
	return logrus.NewEntry(l)
}

// tracker is a ResourceManager as far as NodeManagers see it, on a real port.
type tracker struct {
	t    *testing.T
	addr string

	mu         sync.Mutex
	identifier int64
	registered []*pb.RegisterNodeManagerRequest
	beats      []*pb.NodeHeartbeatRequest
	gone       []records.NodeID
	next       *pb.NodeHeartbeatResponse // merged into the next reply
	onRegister func(*pb.RegisterNodeManagerResponse)
	keys       [2]*token.MasterKey
	interval   int64
	arrived    chan struct{}
	close      func()
}

func newTracker(t *testing.T) *tracker {
	t.Helper()
	r := &tracker{
		t: t, identifier: rmIdentifier, keys: [2]*token.MasterKey{containerKey, nodeKey}, interval: 1000,
		next: &pb.NodeHeartbeatResponse{}, arrived: make(chan struct{}, 1),
	}
	server, err := ipc.NewServer(ipc.ServerConfig{Auth: ipc.AuthSimple})
	if err != nil {
		t.Fatal(err)
	}
	protocol.RegisterNodeManager.Serve(server, r.register)
	protocol.NodeHeartbeat.Serve(server, r.heartbeat)
	protocol.UnRegisterNodeManager.Serve(server, r.unregister)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	r.close = sync.OnceFunc(func() {
		server.Close()
		<-done
	})
	t.Cleanup(r.close)
	return r
}

func (r *tracker) register(_ context.Context, req *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.registered = append(r.registered, req)
	resp := &pb.RegisterNodeManagerResponse{}
	resp.SetContainerTokenMasterKey(r.keys[0].PB())
	resp.SetNmTokenMasterKey(r.keys[1].PB())
	resp.SetNodeAction(pb.NodeAction_NORMAL)
	resp.SetRmIdentifier(r.identifier)
	resp.SetRmVersion("3.4.2")
	if r.onRegister != nil {
		r.onRegister(resp)
	}
	return resp, nil
}

func (r *tracker) heartbeat(_ context.Context, req *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats = append(r.beats, req)
	resp := r.next
	r.next = &pb.NodeHeartbeatResponse{}
	resp.SetResponseId(req.GetNodeStatus().GetResponseId() + 1)
	if !resp.HasNodeAction() {
		resp.SetNodeAction(pb.NodeAction_NORMAL)
	}
	resp.SetNextHeartBeatInterval(r.interval)
	resp.SetTokenSequenceNo(1)
	select {
	case r.arrived <- struct{}{}:
	default:
	}
	return resp, nil
}

func (r *tracker) unregister(_ context.Context, req *pb.UnRegisterNodeManagerRequest) (*pb.UnRegisterNodeManagerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = append(r.gone, records.NodeIDFrom(req.GetNodeId()))
	return &pb.UnRegisterNodeManagerResponse{}, nil
}

// reply changes the reply to the next heartbeat.
func (r *tracker) reply(f func(*pb.NodeHeartbeatResponse)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.next)
}

// seen calls f with all heartbeats until it is true.
func (r *tracker) seen(what string, f func(beats []*pb.NodeHeartbeatRequest) bool) {
	r.t.Helper()
	await.Until(r.t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return f(r.beats)
	})
}

func (r *tracker) registrations() []*pb.RegisterNodeManagerRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.registered[:len(r.registered):len(r.registered)]
}

// lab is a NodeManager with its surroundings.
type lab struct {
	t      *testing.T
	dir    string
	rm     *tracker
	set    []string // further settings
	node   *NodeManager
	id     records.NodeID // of a node that is a process of its own
	groups []string       // names of its cgroups
	cancel context.CancelFunc
	ended  chan error
	client *ipc.Client
}

func newLab(t *testing.T, set ...string) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), rm: newTracker(t), set: set, client: ipc.NewClient(ipc.ClientConfig{})}
	t.Cleanup(l.checkNothingLeft)
	t.Cleanup(func() { l.client.Close() })
	t.Cleanup(func() {
		if l.node != nil {
			l.stop()
		}
	})
	return l
}

// at is the node's id.
func (l *lab) at() records.NodeID {
	if l.node == nil {
		return l.id
	}
	return l.node.Node()
}

func (l *lab) settings() []string {
	return append([]string{
		"hadoop.tmp.dir=" + l.dir, "yarn.log.dir=" + l.dir + "/logs",
		"yarn.resourcemanager.resource-tracker.address=" + l.rm.addr,
		"yarn.nodemanager.hostname=localhost", "yarn.nodemanager.webapp.address=localhost:0",
		"yarn.nodemanager.aux-services=mapreduce_shuffle", "mapreduce.shuffle.port=0",
		"yarn.nodemanager.disk-health-checker.enable=false", "yarn.nodemanager.resource.memory-mb=4096",
	}, l.set...)
}

func (l *lab) conf() *conf.Config {
	l.t.Helper()
	c, err := conf.Load(conf.Options{Overrides: l.settings()})
	if err != nil {
		l.t.Fatal(err)
	}
	if r := c.Validate(); !r.OK() {
		l.t.Fatal(r.Err())
	}
	return c
}

// start begins a life of the node.
func (l *lab) start() {
	l.t.Helper()
	n, err := New(Options{Conf: l.conf(), Log: quiet()})
	if err != nil {
		l.t.Fatal(err)
	}
	l.node = n
	id, err := n.s.groupID()
	if err != nil {
		l.t.Fatal(err)
	}
	l.groups = append(l.groups, strings.ReplaceAll(id, ":", "_"))
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.ended = cancel, make(chan error, 1)
	go func() { l.ended <- n.Run(ctx) }()
}

// up starts the node and waits until it is registered.
func (l *lab) up() *lab {
	l.t.Helper()
	before := len(l.rm.registrations())
	l.start()
	await.Until(l.t, "registration", func() bool { return len(l.rm.registrations()) > before })
	l.rm.seen("the first heartbeat", func(b []*pb.NodeHeartbeatRequest) bool { return len(b) > 0 })
	return l
}

// stop ends the life as an administrator would.
func (l *lab) stop() {
	l.t.Helper()
	l.cancel()
	if err := l.wait(); err != nil {
		l.t.Errorf("the node ended with %v", err)
	}
}

func (l *lab) wait() error {
	l.t.Helper()
	select {
	case err := <-l.ended:
		l.node = nil
		return err
	case <-time.After(time.Minute):
		l.t.Fatal("the node doesn't end")
		return nil
	}
}

func (l *lab) checkNothingLeft() {
	for _, id := range l.groups {
		for _, at := range []string{"/sys/fs/cgroup/*/heddle/nm-", "/sys/fs/cgroup/heddle/nm-"} {
			found, err := filepath.Glob(at + id)
			if err != nil || len(found) > 0 {
				l.t.Errorf("groups left: %q, %v", found, err)
			}
		}
	}
	table, err := proc.Snapshot()
	if err != nil {
		l.t.Fatal(err)
	}
	table.All(func(p proc.Process) bool {
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID)); err == nil && strings.HasPrefix(cwd, l.dir) {
			l.t.Errorf("process %d is left, in %s", p.PID, cwd)
		}
		return true
	})
}

func attempt(app int32) records.AttemptID {
	return records.AttemptID{App: records.ApplicationID{ClusterTimestamp: rmIdentifier, ID: app}, Attempt: 1}
}

func containerID(app int32, n int64) records.ContainerID {
	return records.ContainerID{Attempt: attempt(app), ID: n}
}

// as returns a connection with the NM token of an attempt.
func (l *lab) as(who records.AttemptID, change ...func(*token.NM)) ipc.Invoker {
	l.t.Helper()
	id := token.NM{Attempt: who, Node: l.at(), Submitter: "ann", KeyID: nodeKey.ID()}
	for _, f := range change {
		f(&id)
	}
	tok := nodeKey.Mint(token.KindNM, "", id.Encode())
	return l.client.Endpoint(l.at().String(), protocol.ContainerManagement, ipc.Identity{Token: &tok})
}

// grant makes a container token.
func (l *lab) grant(id records.ContainerID, change ...func(*pb.ContainerTokenIdentifier)) *pb.Token {
	l.t.Helper()
	m := &pb.ContainerTokenIdentifier{}
	m.SetContainerId(id.PB())
	m.SetNmHostAddr(l.at().String())
	m.SetAppSubmitter("ann")
	m.SetResource(records.ResourceTypes{}.PB(records.NewResource(256, 1)))
	m.SetExpiryTimeStamp(time.Now().Add(time.Minute).UnixMilli())
	m.SetMasterKeyId(containerKey.ID())
	m.SetRmIdentifier(rmIdentifier)
	p := &pb.Priority{}
	p.SetPriority(7)
	m.SetPriority(p)
	m.SetCreationTime(time.Now().UnixMilli())
	m.SetContainerType(pb.ContainerType_TASK)
	for _, f := range change {
		f(m)
	}
	return l.sign(m)
}

func (l *lab) sign(m *pb.ContainerTokenIdentifier) *pb.Token {
	l.t.Helper()
	b, err := token.Encode(m)
	if err != nil {
		l.t.Fatal(err)
	}
	return containerKey.Mint(token.KindContainer, "", b).PB()
}

func launchContext(command string) *pb.ContainerLaunchContext {
	lc := &pb.ContainerLaunchContext{}
	lc.SetCommand([]string{command})
	return lc
}

func startRequest(reqs ...*pb.StartContainerRequest) *pb.StartContainersRequest {
	m := &pb.StartContainersRequest{}
	m.SetStartContainerRequest(reqs)
	return m
}

func (l *lab) request(id records.ContainerID, command string) *pb.StartContainerRequest {
	r := &pb.StartContainerRequest{}
	r.SetContainerLaunchContext(launchContext(command))
	r.SetContainerToken(l.grant(id))
	return r
}

// run starts a container over the wire and returns it.
func (l *lab) run(id records.ContainerID, command string) *container.Container {
	l.t.Helper()
	resp, err := protocol.StartContainers.Call(l.t.Context(), l.as(id.Attempt), startRequest(l.request(id, command)))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		l.t.Fatalf("%v, %v", resp, err)
	}
	c, err := l.node.Containers().Container(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *lab) running(c *container.Container) {
	l.t.Helper()
	await.Until(l.t, "RUNNING", func() bool { return c.State() == container.Running && c.Status().PID != 0 })
}

func ids(list ...records.ContainerID) []*pb.ContainerId {
	var out []*pb.ContainerId
	for _, id := range list {
		out = append(out, id.PB())
	}
	return out
}
