package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

const (
	nodes        = 4
	nodeCapacity = 4 // containers
	masters      = 4
	submitters   = 3
)

var container = records.ResourceTypes{}.PB(records.NewResource(1024, 1))

// policy makes every call be tried until the cluster answers.
var policy = ipc.RetryPolicy{MaxElapsed: patience, Base: 5 * time.Millisecond, Max: 50 * time.Millisecond}

// world is what clients, ApplicationMasters and nodes do and remember.
type world struct {
	c     *cluster
	begin time.Time
	nodes map[records.NodeID]*node

	mu      sync.Mutex
	calls   []call   // of clients
	tenures []tenure // of containers
	granted chan struct{}
	errs    []error
	apps    []records.ApplicationID
}

// call is a client's call: a submission, or a look whether an application is there.
type call struct {
	client     int
	submit     bool
	app        records.ApplicationID
	begin, end time.Duration
	unknown    bool // a submission without an answer: it may have come into effect, and may yet
	found      bool // of a look
}

// tenure is a container's time with its ApplicationMaster.
type tenure struct {
	id                records.ContainerID
	node              records.NodeID
	asked, got        time.Duration
	released, settled time.Duration // begin and end of the call that gave it back; 0 = not yet
}

func newWorld(c *cluster) *world {
	return &world{c: c, begin: time.Now(), nodes: map[records.NodeID]*node{}, granted: make(chan struct{}, 1)}
}

func (w *world) now() time.Duration { return time.Since(w.begin) }

func (w *world) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

func (w *world) record(c call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, c)
	if c.submit {
		w.apps = append(w.apps, c.app)
	}
}

func (w *world) someApp() (records.ApplicationID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.apps) == 0 {
		return records.ApplicationID{}, false
	}
	return w.apps[rand.IntN(len(w.apps))], true
}

// run has everybody at work until ctx ends.
func (w *world) run(ctx context.Context, wg *sync.WaitGroup) error {
	for i := range nodes {
		n := &node{
			w: w, id: records.NodeID{Host: fmt.Sprintf("127.0.1.%d", i+1), Port: 45454},
			rm:      w.c.client.Failover(w.c.addrs(rm.TrackerAddress), protocol.ResourceTracker, ipc.Identity{User: "yarn"}, policy),
			running: map[records.ContainerID]*pb.ContainerId{},
		}
		if err := n.register(ctx); err != nil {
			return err
		}
		w.nodes[n.id] = n
	}
	for _, n := range w.nodes {
		wg.Go(func() { n.live(ctx) })
	}
	for i := range masters {
		m, err := w.master(ctx, fmt.Sprintf("am%d", i))
		if err != nil {
			return err
		}
		wg.Go(func() { m.live(ctx) })
	}
	for i := range submitters {
		wg.Go(func() { w.submitter(ctx, i) })
	}
	return nil
}

func (w *world) clientOf(user string) ipc.Invoker {
	return w.c.client.Failover(w.c.addrs(rm.ClientAddress), protocol.ApplicationClient, ipc.Identity{User: user}, policy)
}

func submission(id *pb.ApplicationId) *pb.SubmitApplicationRequest {
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(id)
	ctx.SetApplicationName("chaos")
	ctx.SetUnmanagedAm(true)
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	ctx.SetResource(container)
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(ctx)
	return req
}

// submitter submits applications, and looks for its own and others'.
func (w *world) submitter(ctx context.Context, i int) {
	to := w.clientOf(fmt.Sprintf("user%d", i))
	for ctx.Err() == nil {
		resp, err := protocol.GetNewApplication.Call(ctx, to, &pb.GetNewApplicationRequest{})
		if err != nil {
			if ctx.Err() == nil {
				w.failed(err)
			}
			continue
		}
		id := records.ApplicationIDFrom(resp.GetApplicationId())
		c := call{client: i, submit: true, app: id, begin: w.now()}
		_, err = protocol.SubmitApplication.Call(ctx, to, submission(resp.GetApplicationId()))
		c.end, c.unknown = w.now(), err != nil
		w.record(c)
		w.look(ctx, to, i, id)
		if other, ok := w.someApp(); ok {
			w.look(ctx, to, i, other)
		}
	}
}

func (w *world) look(ctx context.Context, to ipc.Invoker, client int, id records.ApplicationID) {
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	c := call{client: client, app: id, begin: w.now()}
	_, err := protocol.GetApplicationReport.Call(ctx, to, req)
	c.end, c.found = w.now(), err == nil
	if err == nil || ipc.IsClass(err, ipc.ApplicationNotFound) {
		w.record(c)
	}
}

// node is a NodeManager that starts nothing.
type node struct {
	w        *world
	id       records.NodeID
	rm       ipc.Invoker
	response int32

	mu      sync.Mutex
	running map[records.ContainerID]*pb.ContainerId
	ended   []*pb.ContainerId
}

func (n *node) register(ctx context.Context) error {
	req := &pb.RegisterNodeManagerRequest{}
	req.SetNodeId(n.id.PB())
	req.SetHttpPort(8042)
	req.SetResource(records.ResourceTypes{}.PB(records.NewResource(1024*nodeCapacity, nodeCapacity)))
	req.SetNmVersion("3.4.2")
	n.mu.Lock()
	for _, id := range n.running {
		s := &pb.NMContainerStatus{}
		s.SetContainerId(id)
		s.SetContainerState(pb.ContainerState_C_RUNNING)
		req.SetContainerStatuses(append(req.GetContainerStatuses(), s))
	}
	n.mu.Unlock()
	resp, err := protocol.RegisterNodeManager.Call(ctx, n.rm, req)
	if err != nil {
		return err
	}
	if resp.GetNodeAction() != pb.NodeAction_NORMAL {
		return fmt.Errorf("node %v: %v %s", n.id, resp.GetNodeAction(), resp.GetDiagnosticsMessage())
	}
	n.response = 0
	return nil
}

func (n *node) live(ctx context.Context) {
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		if err := n.heartbeat(ctx); err != nil && ctx.Err() == nil {
			n.w.failed(err)
		}
	}
}

func (n *node) heartbeat(ctx context.Context) error {
	status := &pb.NodeStatus{}
	status.SetNodeId(n.id.PB())
	status.SetResponseId(n.response)
	health := &pb.NodeHealthStatus{}
	health.SetIsNodeHealthy(true)
	status.SetNodeHealthStatus(health)
	n.mu.Lock()
	var all []*pb.ContainerStatus
	for _, id := range n.running {
		all = append(all, statusOf(id, pb.ContainerState_C_RUNNING))
	}
	ended := n.ended
	n.mu.Unlock()
	for _, id := range ended {
		all = append(all, statusOf(id, pb.ContainerState_C_COMPLETE))
	}
	status.SetContainersStatuses(all)
	req := &pb.NodeHeartbeatRequest{}
	req.SetNodeStatus(status)
	resp, err := protocol.NodeHeartbeat.Call(ctx, n.rm, req)
	if err != nil {
		return err
	}
	switch resp.GetNodeAction() {
	case pb.NodeAction_RESYNC:
		return n.register(ctx)
	case pb.NodeAction_SHUTDOWN:
		return fmt.Errorf("node %v is told to shut down: %s", n.id, resp.GetDiagnosticsMessage())
	}
	n.response = resp.GetResponseId()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = n.ended[len(ended):]
	for _, id := range resp.GetContainersToCleanup() {
		key := records.ContainerIDFrom(id)
		if c, ok := n.running[key]; ok {
			delete(n.running, key)
			n.ended = append(n.ended, c)
		}
	}
	return nil
}

func statusOf(id *pb.ContainerId, state pb.ContainerState) *pb.ContainerStatus {
	s := &pb.ContainerStatus{}
	s.SetContainerId(id)
	s.SetState(state)
	s.SetExitStatus(0)
	return s
}

func (n *node) start(id *pb.ContainerId) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running[records.ContainerIDFrom(id)] = id
}

// master is an ApplicationMaster that asks for containers, keeps them for a while, and gives them back.
type master struct {
	w        *world
	rm       ipc.Invoker
	response int32
	asked    time.Duration
	want     int32
	held     []*tenure
	ids      map[records.ContainerID]*pb.ContainerId
}

func (w *world) master(ctx context.Context, user string) (*master, error) {
	to := w.clientOf(user)
	resp, err := protocol.GetNewApplication.Call(ctx, to, &pb.GetNewApplicationRequest{})
	if err != nil {
		return nil, err
	}
	if _, err := protocol.SubmitApplication.Call(ctx, to, submission(resp.GetApplicationId())); err != nil {
		return nil, err
	}
	ask := &pb.GetApplicationReportRequest{}
	ask.SetApplicationId(resp.GetApplicationId())
	rep, err := protocol.GetApplicationReport.Call(ctx, to, ask)
	if err != nil {
		return nil, err
	}
	t := token.FromPB(rep.GetApplicationReport().GetAmRmToken())
	m := &master{
		w: w, want: 6, ids: map[records.ContainerID]*pb.ContainerId{},
		rm: w.c.client.Failover(w.c.addrs(rm.MasterAddress), protocol.ApplicationMaster, ipc.Identity{User: user, Token: &t}, policy),
	}
	return m, m.register(ctx)
}

func (m *master) register(ctx context.Context) error {
	m.response = 0
	_, err := protocol.RegisterApplicationMaster.Call(ctx, m.rm, &pb.RegisterApplicationMasterRequest{})
	if ipc.IsClass(err, ipc.InvalidMasterRequest) {
		return nil // the answer to an earlier registration was lost
	}
	return err
}

func (m *master) live(ctx context.Context) {
	for ctx.Err() == nil {
		if err := m.allocate(ctx); err != nil && ctx.Err() == nil {
			m.w.failed(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(4)) * time.Millisecond):
		}
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, t := range m.held {
		m.w.tenures = append(m.w.tenures, *t)
	}
}

func (m *master) allocate(ctx context.Context) error {
	req := &pb.AllocateRequest{}
	req.SetResponseId(m.response)
	row := &pb.ResourceRequest{}
	row.SetResourceName("*")
	row.SetCapability(container)
	row.SetNumContainers(max(0, m.want-int32(len(m.held))))
	req.SetAsk([]*pb.ResourceRequest{row})
	if m.asked == 0 {
		m.asked = m.w.now()
	}
	// what was to be given back stays in held until the call has been answered, and is given back again with the next
	var back []*tenure
	begin := m.w.now()
	for _, t := range m.held {
		if t.released > 0 || rand.IntN(4) == 0 {
			if t.released == 0 {
				t.released = begin
			}
			back = append(back, t)
			req.SetRelease(append(req.GetRelease(), m.ids[t.id]))
		}
	}
	resp, err := protocol.Allocate.Call(ctx, m.rm, req)
	if ipc.IsClass(err, ipc.MasterNotRegistered) {
		return m.register(ctx)
	}
	if ipc.IsClass(err, ipc.InvalidMasterRequest) {
		// an answer was lost on the way from a leader that still leads: say the last id that the message names
		m.response++
		return nil
	}
	if err != nil {
		return err
	}
	m.response = resp.GetResponseId()
	m.settle(back)
	m.take(resp.GetAllocatedContainers())
	return nil
}

// settle files the containers whose return was heard.
func (m *master) settle(back []*tenure) {
	now := m.w.now()
	gone := map[*tenure]bool{}
	m.w.mu.Lock()
	for _, t := range back {
		t.settled = now
		gone[t] = true
		m.w.tenures = append(m.w.tenures, *t)
	}
	m.w.mu.Unlock()
	keep := m.held[:0]
	for _, t := range m.held {
		if !gone[t] {
			keep = append(keep, t)
		}
	}
	m.held = keep
}

func (m *master) take(containers []*pb.Container) {
	now := m.w.now()
	for _, c := range containers {
		t := &tenure{
			id: records.ContainerIDFrom(c.GetId()), node: records.NodeIDFrom(c.GetNodeId()), asked: m.asked, got: now,
		}
		m.held = append(m.held, t)
		m.ids[t.id] = c.GetId()
		m.w.nodes[t.node].start(c.GetId())
	}
	m.asked = 0
	if len(containers) > 0 {
		select {
		case m.w.granted <- struct{}{}:
		default:
		}
	}
}
