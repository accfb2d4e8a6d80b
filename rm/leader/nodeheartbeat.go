package leader

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/lending"
	"heddle/rm/leader/level"
	attributes "heddle/rm/leader/nodeattributes"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/session"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/leader/warming"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodeattributes"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// NodeStatus is a node's health and load.
type NodeStatus struct {
	Healthy      bool
	HealthReport string
	HealthTime   int64 // ms since 1970
	Containers   *pb.ResourceUtilization
	Node         *pb.ResourceUtilization
	ShortTasks   *lending.Report // nil: it takes no probes
	Waiting      int             // probes for which there is no room
	Chances      opportunistic.Status
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
	Refused    []startrefusal.Refusal // all that hold now
	Memory     level.Memory
	Failed     []level.Failed
	Levels     []level.Report // of all containers that there were orders for
	Used       []level.Used
	Outputs    []outputs.OfApp             // of maps, of applications of which there is something new
	FetchRate  int64                       // at which they are fetched, in bytes per second; 0: nothing is new
	Inputs     warming.News                // of jobs
	Labels     *[]string                   // that the node says it has; nil: nothing is new
	Attributes *[]nodeattributes.Attribute // the same
}

// NodeReply is the answer to a registration or heartbeat.
type NodeReply struct {
	Action      pb.NodeAction
	Diagnostics string
	ResponseID  int32
	// Wait: a node that registers is to try again later, and isn't shut down.
	Wait bool
	// The amount that a registering node may use for short tasks. If that is anything, it offers Rest to containers.
	FirstLent, Rest records.Resource
	// LabelsAccepted: what the node said of its labels counts; if not, Diagnostics says why.
	LabelsAccepted bool
	Attributes     attributes.Answer
	session.Orders
}

// HeartbeatNode takes a node's heartbeat. One that brings nothing new is answered without the loop.
func (ns *nodeManagers) HeartbeatNode(call NodeCall) (NodeReply, error) {
	s := ns.nodeSessions.Get(call.Node)
	if s == nil {
		if ns.hosts.Excluded(call.Node.Host) || ns.hosts.HasLeft(call.Node) {
			return shutdown("Disallowed NodeManager nodeId: %v hostname: %s", call.Node, call.Node.Host), nil
		}
		return resync("Node not found resyncing %v", call.Node), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dialogue.Registered() {
		return resync("Node not found resyncing %v", call.Node), nil
	}
	if err := s.stranger(call.NodeCaller); err != nil {
		if s.seen.SilentFor(ns.Now(), twinPatience*ns.Settings.HeartbeatInterval) {
			return resync("%v", err), nil // its machine may have another address by now
		}
		return NodeReply{}, err
	}
	switch s.dialogue.Judge(call.ResponseID) {
	case session.Repeated:
		s.seen.At(ns.Now())
		return s.dialogue.Last(), nil
	case session.OutOfOrder:
		s.dialogue.Drop()
		return resync("Too far behind rm response id:%d nm response id:%d", s.dialogue.ResponseID(), call.ResponseID), nil
	}
	return ns.heard(s, call)
}

// heard takes a heartbeat that follows its node's last one. The session is locked.
func (ns *nodeManagers) heard(s *nodeSession, call NodeCall) (NodeReply, error) {
	s.seen.At(ns.Now())
	news := ns.news(s, call.Containers)
	levels := level.News(s.levels, call.Levels)
	call.Used = s.unasked.Ask(ns.Settings.Live.Tree().Suspends(), call.Used, s.running)
	call.Outputs = call.Outputs[:min(len(call.Outputs), outputs.MaxPerCall)]
	call.Refused = call.Refused[:min(len(call.Refused), startrefusal.MaxPerNode)]
	lent := false
	if t := call.Status.ShortTasks; t != nil {
		ns.loans.Told(call.Node, t.News)
		ns.division.Waited(t.News.Waited, t.News.Started)
		lent = t.Lent != s.lent && t.Used.FitsIn(t.Lent)
	}
	labelled, wrongLabels, attributed := false, "", attributes.Answer{}
	if turned := s.turned(call.Status); turned || lent || (call.Status.Waiting > 0) != s.waits || len(news)+len(levels) > 0 || s.differs(&call) {
		s.memory = call.Memory
		call := call // what the loop reads is allocated for those that bring news alone
		call.Levels = levels
		if err := ns.Do(func() error {
			labelled, wrongLabels = ns.labels.Heard(call.Node, call.Labels)
			attributed = ns.attrs.Heard(call.Node, call.Attributes)
			return ns.heartbeat(&call, news, turned)
		}); err != nil {
			return NodeReply{}, err
		}
	}
	if lent {
		s.lent = call.Status.ShortTasks.Lent
	}
	s.status, s.refused, s.levels, s.waits = call.Status, call.Refused, call.Levels, call.Status.Waiting > 0
	reply := NodeReply{
		Action: pb.NodeAction_NORMAL, ResponseID: session.NextID(call.ResponseID), Orders: s.box.Deliver(),
		LabelsAccepted: labelled, Diagnostics: wrongLabels, Attributes: attributed,
	}
	for _, id := range reply.Cleanup {
		delete(s.running, id) // if it still runs, it is news again
	}
	s.dialogue.Answered(reply)
	return reply, nil
}

// turned reports whether a node's health, or the reason of it, has changed.
func (s *nodeSession) turned(now NodeStatus) bool {
	return s.status.Healthy != now.Healthy || s.status.HealthReport != now.HealthReport
}

// differs reports whether a heartbeat has anything that the loop doesn't know, besides containers, levels, health and what is lent. The
// first one after a registration always has.
func (s *nodeSession) differs(call *NodeCall) bool {
	return call.ResponseID == 0 || call.Status.Chances != s.status.Chances || call.FetchRate > 0 || call.Labels != nil || call.Attributes != nil || call.Memory.Differs(s.memory) || !slices.Equal(s.refused, call.Refused) ||
		len(call.Increased)+len(call.Logs)+len(call.Failed)+len(call.Used)+len(call.Outputs) > 0 || call.Inputs.Any()
}

func resync(format string, args ...any) NodeReply {
	return NodeReply{Action: pb.NodeAction_RESYNC, Diagnostics: fmt.Sprintf(format, args...)}
}

// news picks the container reports that the loop doesn't know yet: nodes repeat all of theirs with every heartbeat.
func (ns *nodeManagers) news(s *nodeSession, reported []NodeContainer) []NodeContainer {
	var news []NodeContainer
	for _, c := range reported {
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

func (ns *nodeManagers) heartbeat(call *NodeCall, news []NodeContainer, turned bool) error {
	n, node := ns.nodes[call.Node], ns.work.Nodes[call.Node]
	if n == nil || node == nil {
		return nil
	}
	for i := range news {
		ns.containers.containerReport(n, &news[i], call.ResponseID == 0) // registrations don't tell what is suspended
	}
	if turned {
		ns.health(n, node, call.Status)
	}
	if call.ResponseID == 0 && node.State == pb.NodeState_NS_RUNNING {
		ns.setOpen(n, true)
	}
	ns.events.nodeHeard(n, call)
	return nil
}

// health opens or closes a node as it reports itself well or ill. Its containers are ended with it, as in YARN.
func (ns *nodeManagers) health(n *nodeSoft, node *ledger.Node, status NodeStatus) {
	update := &ledgerpb.NodeUpdated{Node: ledger.NodeRef(n.id), HealthReport: proto.String(status.HealthReport)}
	switch {
	case !status.Healthy && node.State == pb.NodeState_NS_RUNNING:
		update.State = proto.Int32(int32(pb.NodeState_NS_UNHEALTHY))
		ns.setOpen(n, false)
		ns.tellNodes(n.id, pb.NodeUpdateType_NODE_UNUSABLE)
		ns.containers.endAllOn(node, "Container released on an *unhealthy* or unschedulable node")
	case status.Healthy && node.State == pb.NodeState_NS_UNHEALTHY:
		update.State = proto.Int32(int32(pb.NodeState_NS_RUNNING))
		ns.setOpen(n, true)
		ns.tellNodes(n.id, pb.NodeUpdateType_NODE_USABLE)
	}
	ns.Enter(&ledgerpb.Command{NodeUpdated: update})
}

// RefusedStarts says which nodes refuse to start containers of a live application, and why; "" if none does.
func (ns *nodeManagers) RefusedStarts(app records.ApplicationID) string {
	return ns.refusals.Diagnostics(app)
}
