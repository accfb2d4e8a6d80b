package leader

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/logstate"
	"heddle/rm/leader/noderecords"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/ledger/nodeattributes"
	"heddle/rm/scheduler/eventlog"
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
	Release  string // Heddle's; "" for a stock node
	Features []string
	Missing  []string
	Status   *NodeStatus
	Logs     []*pb.LogAggregationReport
	// ProbePort is where the node takes probes of short tasks; 0: nowhere. Lent is what it was lent for these before.
	ProbePort  int32
	Lent       records.Resource
	Labels     *[]string                   // that the node says it has; nil: it says nothing
	Attributes *[]nodeattributes.Attribute // the same
}

// twinPatience is the number of heartbeats after which a node that fell silent may be replaced by another one that
// claims its id.
const twinPatience = 3

// RegisterNode enters a node, new or known. Its containers that the ledger has continue, others are ended.
func (ns *nodeManagers) RegisterNode(r NodeRegistration) (NodeReply, error) {
	if !limit.IsName(r.Node.Host) {
		return shutdown("NodeManager from %s can't register: %.100q can't be its host, as %s. Check yarn.nodemanager.hostname.",
			r.Address, r.Node.Host, notAName), nil
	}
	if !ns.Settings.MinAllocation.FitsIn(r.Capability) {
		return shutdown("NodeManager from  %s doesn't satisfy minimum allocations, Sending SHUTDOWN signal to the NodeManager. "+
			"Node capabilities are %s; minimums are %dmb and %d vcores", r.Node.Host, ns.Settings.Types.Format(r.Capability),
			ns.Settings.MinAllocation.MemoryMB(), ns.Settings.MinAllocation.VCores()), nil
	}
	rack := limit.Head(ns.Rack(r.Node.Host), limit.MaxName) // which may take a while, and holds up no other
	defer ns.nodeSessions.Registering(r.Node)()
	s := ns.nodeSessions.Get(r.Node)
	if s == nil {
		s = &nodeSession{id: r.Node}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if twin := ns.twin(s, &r); twin != "" {
		return shutdown("%s", twin), nil
	}
	reply := NodeReply{Action: pb.NodeAction_NORMAL}
	s.seen.At(ns.Now())
	err := ns.Do(func() error {
		if against, wait := ns.hosts.Disallowed(r.Node, r.Names, r.Address); wait {
			reply = NodeReply{Action: pb.NodeAction_SHUTDOWN, Diagnostics: against, Wait: true}
			return nil
		} else if against != "" {
			ns.removeNode(r.Node, pb.NodeState_NS_DECOMMISSIONED) // it was known to an earlier leader
			reply = shutdown("%s", against)
			return nil
		}
		if against := noderecords.Full(ns.work, ns.Settings.Bounds, r.Node); against != "" {
			reply = shutdown("%s", against)
			return nil
		}
		s.caller.Store(r.NodeCaller)
		s.names.Store(r.Names)
		reply.FirstLent, r.Capability = ns.loans.Register(r.Node, r.ProbePort, ns.bounded(r.Node, r.Capability), r.Lent)
		reply.Rest = r.Capability
		reply.LabelsAccepted, reply.Diagnostics = ns.labels.Heard(r.Node, r.Labels)
		reply.Attributes = ns.attrs.Heard(r.Node, r.Attributes)
		ns.registerNode(s, &r, rack)
		return nil
	})
	if err != nil || reply.Action != pb.NodeAction_NORMAL {
		return reply, err
	}
	s.dialogue.Register()
	s.instance, s.release = r.Instance, limit.Head(r.Release, limit.MaxName)
	s.running = map[records.ContainerID]pb.ContainerSubState{}
	s.refused, s.lent, s.waits = nil, records.Resource{}, false
	if r.Status != nil {
		s.status = *r.Status
	} else {
		s.status = NodeStatus{Healthy: true}
	}
	s.seen.At(ns.Now())
	return reply, nil
}

func shutdown(format string, args ...any) NodeReply {
	return NodeReply{Action: pb.NodeAction_SHUTDOWN, Diagnostics: fmt.Sprintf(format, args...)}
}

// twin says why a registration must come from another node than the one that has the id, if it must.
func (ns *nodeManagers) twin(s *nodeSession, r *NodeRegistration) string {
	if !s.dialogue.Registered() || s.seen.SilentFor(ns.Now(), twinPatience*ns.Settings.HeartbeatInterval) {
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

func (ns *nodeManagers) registerNode(s *nodeSession, r *NodeRegistration, rack string) {
	old := ns.work.Nodes[r.Node]
	leaving := old != nil && old.State == pb.NodeState_NS_DECOMMISSIONING
	var deadline int64
	if leaving {
		deadline = old.DecommissionDeadline
	}
	ns.Enter(&ledgerpb.Command{NodeRegistered: &ledgerpb.NodeRegistered{
		Node: ledger.NodeRef(r.Node), HttpPort: r.HTTPPort, Rack: rack, Capability: ledger.Amounts(r.Capability),
		Version: r.Version, Features: r.Features, Missing: r.Missing,
	}})
	n := ns.nodes[r.Node]
	switch {
	case n == nil:
		n = ns.addNode(ns.work.Nodes[r.Node])
	case old != nil && old.Rack != rack:
		ns.moveRack(n)
	default:
		ns.sched.Apply(&eventlog.Event{Op: eventlog.SetCapability, Node: n.handle, Resource: eventlog.Amounts(r.Capability)})
	}
	n.session = s
	ns.events.nodeBegins(n)
	ns.AfterCommit(func() { ns.nodeSessions.Put(s.id, s) }) // in the loop's order, so that heartbeats find the session that the loop knows
	if leaving {                                            // its NodeManager has started again
		ns.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
			Node: ledger.NodeRef(r.Node), State: proto.Int32(int32(pb.NodeState_NS_DECOMMISSIONING)), DecommissionDeadline: proto.Int64(deadline),
		}})
	}
	// Hadoop's NodeManagers fail on tokens that reach them before the answer to their registration, with the keys, has.
	ns.setOpen(n, !leaving && len(r.Features) > 0)
	ns.arrived.Await(n.id, r.Capability, !leaving && !n.open)
	ns.reconcile(n, r.Containers)
	for _, id := range r.Apps {
		ns.appOnNode(n, id)
	}
	logstate.Note(ns.work, r.Logs, ns.Enter)
	if !leaving {
		ns.tellNodes(r.Node, pb.NodeUpdateType_NODE_USABLE)
		ns.events.nodeRegistered(n.id)
	}
	ns.Log.WithField("node", r.Node).WithField("capability", ns.Settings.Types.Format(r.Capability)).
		WithField("containers", len(r.Containers)).Info("node registered")
}

// reconcile compares the containers that a node registers with to those that the ledger has on it. Containers that the node runs but the
// ledger doesn't know are ended; those that it should run but doesn't are gone; those granted but not yet started may still start.
func (ns *nodeManagers) reconcile(n *nodeSoft, reported []NodeContainer) {
	has := map[records.ContainerID]bool{}
	for i := range reported {
		has[reported[i].ID] = true
		ns.containers.containerReport(n, &reported[i], false)
	}
	var lost []*ledger.Container
	for c := range ns.work.On(ns.work.Nodes[n.id]) {
		if !has[c.ID] && (c.State == ledger.ContainerRunning || c.AM && ns.attempts.launchedAM(c)) {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b *ledger.Container) int { return a.ID.Compare(b.ID) })
	for _, c := range lost {
		ns.containers.containerEnded(c, records.ExitAborted, "Container lost: its node registered again without it")
	}
}
