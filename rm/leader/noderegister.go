package leader

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

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
	s.refused = nil
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
	t.Enter(&ledgerpb.Command{NodeRegistered: &ledgerpb.NodeRegistered{
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
	t.AfterCommit(func() { t.sessions.putNode(s) }) // in the loop's order, so that heartbeats find the session that the loop knows
	if leaving {                                    // its NodeManager has started anew
		t.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
			Node: ledger.NodeRef(r.Node), State: proto.Int32(int32(pb.NodeState_NS_DECOMMISSIONING)),
			DecommissionDeadline: proto.Int64(deadline),
		}})
	}
	// Hadoop's NodeManagers fail on tokens that reach them before the answer to their registration, with the keys, has.
	t.sched.SetOpen(n.handle, !leaving && len(r.Features) > 0)
	t.refusedStarts(n, nil) // its heartbeats tell
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
