package leader

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// nodeSoft is what the leader's loop alone knows of a node.
type nodeSoft struct {
	id      records.NodeID
	ref     *ledgerpb.NodeRef // id in commands
	handle  scheduler.NodeHandle
	session *nodeSession
	// inherited is that an earlier leadership has set by when it leaves.
	inherited bool
}

// nodeSession is one NodeManager under this leader. mu is held throughout a call.
type nodeSession struct {
	id   records.NodeID
	seen seen
	// caller is a NodeCaller, who registered it; names a []string, by which the lists of hosts know its machine.
	caller, names atomic.Value

	mu         sync.Mutex
	registered bool // with this leader
	instance   string
	responseID int32
	last       NodeReply
	status     NodeStatus
	running    map[records.ContainerID]pb.ContainerSubState // known to the loop to run, and how

	out outbox
}

// outbox is what a node is told with its next heartbeat; all of it is committed.
type outbox struct {
	mu         sync.Mutex
	containers []records.ContainerID
	apps       []records.ApplicationID
	removed    []records.ContainerID
	resource   *records.Resource
	signals    []Signal
	resized    []Grant
}

func (s *nodeSession) endContainer(id records.ContainerID) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.containers = append(s.out.containers, id)
}

func (s *nodeSession) endApp(id records.ApplicationID) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.apps = append(s.out.apps, id)
}

func (s *nodeSession) forget(ids ...records.ContainerID) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.removed = append(s.out.removed, ids...)
}

func (s *nodeSession) shrink(g Grant) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.resized = append(s.out.resized, g)
}

// take empties the outbox into a reply.
func (o *outbox) take(r *NodeReply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Cleanup, o.containers = o.containers, nil
	r.CleanupApps, o.apps = o.apps, nil
	r.Removed, o.removed = o.removed, nil
	r.Resource, o.resource = o.resource, nil
	r.Signals, o.signals = o.signals, nil
	r.Resized, o.resized = o.resized, nil
}

// Signal is a command for a container (YARN: signalToContainer).
type Signal struct {
	Container records.ContainerID
	Command   pb.SignalContainerCommand
}

// NodeRegistration is what a NodeManager registers with.
type NodeRegistration struct {
	Node       records.NodeID
	HTTPPort   int32
	Capability records.Resource
	Version    string
	Containers []NodeContainer
	Apps       []records.ApplicationID
	NodeCaller
	// Names are those by which the lists of hosts may know the caller's machine: its address, and names that are known to
	// be that address's. Node.Host is just what it calls itself.
	Names []string
	// Instance tells a restarted node from another one that claims the same id; stock nodes have none.
	Instance string
	Features []string
	Missing  []string
	Status   *NodeStatus
	Logs     []*pb.LogAggregationReport
}

// NodeContainer is a container as its node sees it.
type NodeContainer struct {
	ID          records.ContainerID
	State       pb.ContainerState
	ExitStatus  int32
	Diagnostics string
	Sub         pb.ContainerSubState     // of one that runs
	Resource    *pb.Resource             // that the node gives it
	Times       *ledgerpb.ContainerTimes // of one that has ended; nil: the node doesn't tell
}

// NodeStatus is a node's health and load.
type NodeStatus struct {
	Healthy      bool
	HealthReport string
	HealthTime   int64 // ms since 1970
	Containers   *pb.ResourceUtilization
	Node         *pb.ResourceUtilization
}

// NodeCall is a NodeManager's heartbeat.
type NodeCall struct {
	NodeCaller
	Node       records.NodeID
	ResponseID int32
	Status     NodeStatus
	Containers []NodeContainer
	Increased  []NodeContainer // that their ApplicationMasters have let grow since the last heartbeat, with their sizes
	Logs       []*pb.LogAggregationReport
}

// NodeReply is the answer to a registration or heartbeat.
type NodeReply struct {
	Action      pb.NodeAction
	Diagnostics string
	ResponseID  int32
	Cleanup     []records.ContainerID
	CleanupApps []records.ApplicationID
	Removed     []records.ContainerID
	Resource    *records.Resource
	Signals     []Signal
	Resized     []Grant // containers that are to have less from now on
}

// twinPatience is the number of heartbeats after which a node that fell silent may be replaced by another one that
// claims its id.
const twinPatience = 3

// RegisterNode enters a node, new or known. Its containers that the ledger has go on, others are ended.
func (l *Leader) RegisterNode(r NodeRegistration) (NodeReply, error) {
	if !ledger.IsName(r.Node.Host) {
		return shutdown("NodeManager from %s can't register: %.100q can't be its host, as %s. Check yarn.nodemanager.hostname.",
			r.Address, r.Node.Host, notAName), nil
	}
	if !l.Settings.MinAllocation.FitsIn(r.Capability) {
		return shutdown("NodeManager from  %s doesn't satisfy minimum allocations, Sending SHUTDOWN signal to the NodeManager. "+
			"Node capabilities are %s; minimums are %dmb and %d vcores", r.Node.Host, l.Settings.Types.Format(r.Capability),
			l.Settings.MinAllocation.MemoryMB(), l.Settings.MinAllocation.VCores()), nil
	}
	rack := ledger.Head(l.Rack(r.Node.Host), ledger.MaxName) // which may take a while, and holds up nobody else
	defer l.sessions.registering(r.Node)()
	s := l.sessions.node(r.Node)
	if s == nil {
		s = &nodeSession{id: r.Node}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if twin := l.twin(s, &r); twin != "" {
		return shutdown("%s", twin), nil
	}
	reply := NodeReply{Action: pb.NodeAction_NORMAL}
	s.seen.at(l.Now())
	err := l.do(func(t *turn) error {
		if against := t.disallowed(&r); against != "" {
			t.removeNode(r.Node, pb.NodeState_NS_DECOMMISSIONED) // it was known to an earlier leader
			reply = shutdown("%s", against)
			return nil
		}
		s.caller.Store(r.NodeCaller)
		s.names.Store(r.Names)
		t.registerNode(s, &r, rack)
		return nil
	})
	if err != nil || reply.Action != pb.NodeAction_NORMAL {
		return reply, err
	}
	s.registered, s.responseID, s.last = true, 0, NodeReply{}
	s.instance = r.Instance
	s.running = map[records.ContainerID]pb.ContainerSubState{}
	if r.Status != nil {
		s.status = *r.Status
	} else {
		s.status = NodeStatus{Healthy: true}
	}
	s.seen.at(l.Now())
	return reply, nil
}

func shutdown(format string, args ...any) NodeReply {
	return NodeReply{Action: pb.NodeAction_SHUTDOWN, Diagnostics: fmt.Sprintf(format, args...)}
}

// twin says why a registration must come from another node than the one that has the id, if it must.
func (l *Leader) twin(s *nodeSession, r *NodeRegistration) string {
	if !s.registered || s.seen.silentSince(l.Now(), twinPatience*l.Settings.HeartbeatInterval) {
		return ""
	}
	by, _ := s.caller.Load().(NodeCaller)
	if by.Proven && !r.Proven {
		return fmt.Sprintf("NodeManager %v is registered already, and has proved who it is; the one from %s hasn't.", r.Node, r.Address)
	}
	if s.instance == r.Instance && (s.instance != "" || by.Address == r.Address) {
		return ""
	}
	return fmt.Sprintf("NodeManager %v is registered already, from %s, and alive; this one came from %s. "+
		"Give each NodeManager its own yarn.nodemanager.hostname or yarn.nodemanager.address.", r.Node, by.Address, r.Address)
}

func (t *turn) registerNode(s *nodeSession, r *NodeRegistration, rack string) {
	old := t.work.Nodes[r.Node]
	leaving := old != nil && old.State == pb.NodeState_NS_DECOMMISSIONING
	var deadline int64
	if leaving {
		deadline = old.DecommissionDeadline
	}
	t.enter(&ledgerpb.Command{NodeRegistered: &ledgerpb.NodeRegistered{
		Node: ledger.NodeRef(r.Node), HttpPort: r.HTTPPort, Rack: rack, Capability: ledger.Amounts(r.Capability),
		Version: r.Version, Features: r.Features, Missing: r.Missing,
	}})
	n := t.nodes[r.Node]
	switch {
	case n == nil:
		n = t.addNode(t.work.Nodes[r.Node])
	case old != nil && old.Rack != rack:
		t.moveRack(n)
	default:
		t.sched.SetCapability(n.handle, r.Capability)
	}
	n.session = s
	t.after(func() { t.sessions.putNode(s) }) // in the loop's order, so that heartbeats find the session that the loop knows
	if leaving {                              // its NodeManager has started anew
		t.enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
			Node: ledger.NodeRef(r.Node), State: proto.Int32(int32(pb.NodeState_NS_DECOMMISSIONING)),
			DecommissionDeadline: proto.Int64(deadline),
		}})
	}
	// Hadoop's NodeManagers fail on tokens that reach them before the answer to their registration, with the keys, has.
	t.sched.SetOpen(n.handle, !leaving && len(r.Features) > 0)
	t.reconcile(n, r.Containers)
	for _, id := range r.Apps {
		t.appOnNode(n, id)
	}
	t.logReports(r.Logs)
	if !leaving {
		t.tellNodes(r.Node, pb.NodeUpdateType_NODE_USABLE)
	}
	t.Log.WithField("node", r.Node).WithField("capability", t.Settings.Types.Format(r.Capability)).
		WithField("containers", len(r.Containers)).Info("node registered")
}

func (t *turn) addNode(n *ledger.Node) *nodeSoft {
	soft := &nodeSoft{
		id:     n.ID,
		ref:    ledger.NodeRef(n.ID),
		handle: t.sched.AddNode(scheduler.NodeSpec{Host: n.ID.Host, Rack: n.Rack, Capability: n.Capability}),
	}
	t.nodes[n.ID] = soft
	t.nodeOf[soft.handle] = soft
	return soft
}

// moveRack enters a node anew in the scheduler, with its containers.
func (t *turn) moveRack(n *nodeSoft) {
	node := t.work.Nodes[n.id]
	for _, c := range node.Containers {
		t.free(c)
	}
	t.sched.RemoveNode(n.handle)
	delete(t.nodeOf, n.handle)
	n.handle = t.sched.AddNode(scheduler.NodeSpec{Host: n.id.Host, Rack: node.Rack, Capability: node.Capability})
	t.nodeOf[n.handle] = n
	for _, c := range node.Containers {
		t.restore(c)
	}
}

// restore enters a live container of the ledger in the scheduler.
func (t *turn) restore(c *ledger.Container) {
	soft := t.apps[c.ID.Attempt.App]
	handle(c, t.sched.Restore(soft.handle, t.nodes[c.Node].handle, c.Resource))
	soft.nodes[c.Node] = true
}

// reconcile compares the containers that a node registers with to those that the ledger has on it. What the node runs and
// nobody knows is ended; what it should run and doesn't is gone; what was granted and not yet started may still be.
func (t *turn) reconcile(n *nodeSoft, reported []NodeContainer) {
	has := map[records.ContainerID]bool{}
	for i := range reported {
		has[reported[i].ID] = true
		t.containerReport(n, &reported[i], false)
	}
	var lost []*ledger.Container
	for _, c := range t.work.Nodes[n.id].Containers {
		if !has[c.ID] && (c.State == ledger.ContainerRunning || c.AM && t.launchedAM(c)) {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b *ledger.Container) int { return a.ID.Compare(b.ID) })
	for _, c := range lost {
		t.containerEnded(c, records.ExitAborted, "Container lost: its node registered again without it")
	}
}

func (t *turn) launchedAM(c *ledger.Container) bool {
	a := t.work.Attempt(c.ID.Attempt)
	return a != nil && a.State >= ledger.AttemptLaunched
}

// containerReport takes what a node says of a container into account.
func (t *turn) containerReport(n *nodeSoft, r *NodeContainer, first bool) {
	c := t.work.Container(r.ID)
	t.appOnNode(n, r.ID.Attempt.App)
	known := c != nil && c.Live() && c.Node == n.id
	switch {
	case r.State == pb.ContainerState_C_COMPLETE:
		if known {
			t.containerEndedAt(c, r.ExitStatus, r.Diagnostics, r.Times)
		}
		id := r.ID
		t.after(func() { n.session.forget(id) })
	case !known:
		id := r.ID
		t.after(func() { n.session.endContainer(id) })
	case c.State == ledger.ContainerAllocated:
		t.enter(&ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{
			Containers: ledger.ContainerRefs(r.ID),
		}})
	}
	if known && c.Live() && r.State == pb.ContainerState_C_RUNNING && r.Sub != 0 {
		t.level(c, r.Sub, first)
	}
	if known && c.Live() && c.Confirmed != c.Resource && r.Resource != nil {
		t.confirm(n, c, r.Resource) // started at its new size, or the word of it was lost with a leader
	}
}

// containerEnded takes the end of a live container into account; with an ApplicationMaster's goes its attempt.
func (t *turn) containerEnded(c *ledger.Container, exit int32, diagnostics string) {
	t.containerEndedAt(c, exit, diagnostics, nil)
}

// containerEndedAt is containerEnded with what the node knows of the container's life.
func (t *turn) containerEndedAt(c *ledger.Container, exit int32, diagnostics string, times *ledgerpb.ContainerTimes) {
	app := t.work.Apps[c.ID.Attempt.App]
	attempt := app.Current()
	t.completeAt(app, c, exit, diagnostics, times)
	if c.AM && attempt.AMContainer == c.ID && !attempt.State.Ended() {
		t.amEnded(app, attempt, exit, diagnostics)
	}
}

// appOnNode takes note of an application that a node has something of; one that is over is to be forgotten there.
func (t *turn) appOnNode(n *nodeSoft, id records.ApplicationID) {
	if soft := t.apps[id]; soft != nil {
		soft.nodes[n.id] = true
		return
	}
	t.after(func() { n.session.endApp(id) })
}

// tellNodes lets all ApplicationMasters know of a node that came or went.
func (t *turn) tellNodes(id records.NodeID, kind pb.NodeUpdateType) {
	t.after(func() {
		for _, soft := range t.apps {
			soft.updated = append(soft.updated, NodeUpdate{Node: id, Kind: kind})
			soft.session.wakeUp()
		}
	})
}

// HeartbeatNode takes a node's heartbeat. One that brings nothing new is answered without the loop.
func (l *Leader) HeartbeatNode(call NodeCall) (NodeReply, error) {
	s := l.sessions.node(call.Node)
	if s == nil {
		if _, excluded := l.hosts.Load().Excluded(call.Node.Host); excluded {
			return shutdown("Disallowed NodeManager nodeId: %v hostname: %s", call.Node, call.Node.Host), nil
		}
		return resync("Node not found resyncing %v", call.Node), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.registered {
		return resync("Node not found resyncing %v", call.Node), nil
	}
	if err := s.stranger(call.NodeCaller); err != nil {
		if s.seen.silentSince(l.Now(), twinPatience*l.Settings.HeartbeatInterval) {
			return resync("%v", err), nil // its machine may have another address by now
		}
		return NodeReply{}, err
	}
	switch {
	case call.ResponseID+1 == s.responseID:
		s.seen.at(l.Now())
		return s.last, nil
	case call.ResponseID != s.responseID:
		s.registered = false
		return resync("Too far behind rm response id:%d nm response id:%d", s.responseID, call.ResponseID), nil
	}
	s.seen.at(l.Now())
	news := l.news(s, &call)
	turned := s.status.Healthy != call.Status.Healthy || s.status.HealthReport != call.Status.HealthReport
	if len(news)+len(call.Increased)+len(call.Logs) > 0 || turned || s.responseID == 0 {
		if err := l.do(func(t *turn) error { return t.heartbeat(&call, news, turned) }); err != nil {
			return NodeReply{}, err
		}
	}
	s.status = call.Status
	reply := NodeReply{Action: pb.NodeAction_NORMAL, ResponseID: s.responseID + 1}
	s.out.take(&reply)
	for _, id := range reply.Cleanup {
		delete(s.running, id) // if it still runs, it is news again
	}
	s.responseID, s.last = reply.ResponseID, reply
	return reply, nil
}

func resync(format string, args ...any) NodeReply {
	return NodeReply{Action: pb.NodeAction_RESYNC, Diagnostics: fmt.Sprintf(format, args...)}
}

// news picks the container reports that the loop doesn't know yet: nodes repeat all of theirs with every heartbeat.
func (l *Leader) news(s *nodeSession, call *NodeCall) []NodeContainer {
	var news []NodeContainer
	for _, c := range call.Containers {
		if c.State == pb.ContainerState_C_COMPLETE {
			delete(s.running, c.ID)
		} else if sub, known := s.running[c.ID]; known && sub == c.Sub {
			continue
		} else {
			s.running[c.ID] = c.Sub
		}
		news = append(news, c)
	}
	return news
}

func (t *turn) heartbeat(call *NodeCall, news []NodeContainer, turned bool) error {
	n, node := t.nodes[call.Node], t.work.Nodes[call.Node]
	if n == nil || node == nil {
		return nil
	}
	for i := range news {
		t.containerReport(n, &news[i], call.ResponseID == 0) // registrations don't tell what is suspended
	}
	t.increased(n, call.Increased)
	if turned {
		t.health(n, node, call.Status)
	}
	if call.ResponseID == 0 && node.State == pb.NodeState_NS_RUNNING {
		t.sched.SetOpen(n.handle, true)
	}
	t.logReports(call.Logs)
	return nil
}

// health opens or closes a node as it reports itself well or ill. Its containers are ended with it, as in YARN.
func (t *turn) health(n *nodeSoft, node *ledger.Node, status NodeStatus) {
	update := &ledgerpb.NodeUpdated{Node: ledger.NodeRef(n.id), HealthReport: proto.String(status.HealthReport)}
	switch {
	case !status.Healthy && node.State == pb.NodeState_NS_RUNNING:
		update.State = proto.Int32(int32(pb.NodeState_NS_UNHEALTHY))
		t.sched.SetOpen(n.handle, false)
		t.tellNodes(n.id, pb.NodeUpdateType_NODE_UNUSABLE)
		t.endAllOn(node, "Container released on an *unhealthy* or unschedulable node")
	case status.Healthy && node.State == pb.NodeState_NS_UNHEALTHY:
		update.State = proto.Int32(int32(pb.NodeState_NS_RUNNING))
		t.sched.SetOpen(n.handle, true)
		t.tellNodes(n.id, pb.NodeUpdateType_NODE_USABLE)
	}
	t.enter(&ledgerpb.Command{NodeUpdated: update})
}

// endAllOn ends all containers of a node.
func (t *turn) endAllOn(node *ledger.Node, why string) {
	all := slices.Clone(node.Containers)
	slices.SortFunc(all, func(a, b *ledger.Container) int { return a.ID.Compare(b.ID) })
	for _, c := range all {
		if c.Live() { // an ApplicationMaster's end takes others with it
			t.cleanUp(c)
			t.containerEnded(c, records.ExitAborted, why)
		}
	}
}

// UnregisterNode takes a node's farewell.
func (l *Leader) UnregisterNode(id records.NodeID, who NodeCaller) error {
	if err := l.callerOf(id, who); err != nil {
		return err
	}
	return l.do(func(t *turn) error {
		t.removeNode(id, pb.NodeState_NS_SHUTDOWN)
		return nil
	})
}

// removeNode ends a node's life: its containers are gone.
func (t *turn) removeNode(id records.NodeID, state pb.NodeState) {
	n, node := t.nodes[id], t.work.Nodes[id]
	if n == nil || node == nil {
		return
	}
	t.sched.SetOpen(n.handle, false)
	t.endAllOn(node, "Container released on a *lost* node")
	t.sched.RemoveNode(n.handle)
	delete(t.nodeOf, n.handle)
	delete(t.nodes, id)
	t.enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: ledger.NodeRef(id), State: proto.Int32(int32(state)),
	}})
	t.tellNodes(id, pb.NodeUpdateType_NODE_UNUSABLE)
	t.after(func() { t.sessions.dropNode(id) })
	t.forgetNodes()
	t.Log.WithField("node", id).WithField("state", records.NodeStateName(state)).Warn("node is gone")
}

// SetNodeResource changes what a node offers. Containers that it has already stay, even if they hold more.
func (l *Leader) SetNodeResource(id records.NodeID, r records.Resource) error {
	return l.do(func(t *turn) error {
		n := t.nodes[id]
		if n == nil {
			return refuse(Refused, "Node %v is not registered", id)
		}
		for i := range r {
			if r[i] < 0 {
				return refuse(InvalidResource, "Invalid resource of node %v: %s", id, t.Settings.Types.Format(r))
			}
		}
		t.enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: ledger.NodeRef(id), Capability: ledger.Amounts(r)}})
		t.sched.SetCapability(n.handle, r)
		t.after(func() { n.session.resize(r) })
		return nil
	})
}

func (s *nodeSession) resize(r records.Resource) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.resource = &r
}

// logReports takes note of how far nodes are with an application's logs.
func (t *turn) logReports(reports []*pb.LogAggregationReport) {
	for _, r := range reports {
		app := t.work.Apps[records.ApplicationIDFrom(r.GetApplicationId())]
		status := r.GetLogAggregationStatus()
		if app == nil || app.LogAggregation == status {
			continue
		}
		t.enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(app.ID), LogAggregation: proto.Int32(int32(status)),
		}})
	}
}
