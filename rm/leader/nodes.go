package leader

import (
	"slices"

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
	refused []records.ApplicationID // of whose containers it refuses to start any
	// inherited is that an earlier leadership has set by when it leaves.
	inherited bool
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
		t.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: ledger.NodeRef(id), Capability: ledger.Amounts(r)}})
		t.sched.SetCapability(n.handle, r)
		t.AfterCommit(func() { n.session.resize(r) })
		return nil
	})
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
	t.refusedStarts(n, nil)
	t.endAllOn(node, "Container released on a *lost* node")
	t.sched.RemoveNode(n.handle)
	delete(t.nodeOf, n.handle)
	delete(t.nodes, id)
	t.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: ledger.NodeRef(id), State: proto.Int32(int32(state)),
	}})
	t.tellNodes(id, pb.NodeUpdateType_NODE_UNUSABLE)
	t.AfterCommit(func() { t.sessions.dropNode(id) })
	t.forgetNodes()
	t.Log.WithField("node", id).WithField("state", records.NodeStateName(state)).Warn("node is gone")
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

// tellNodes lets all ApplicationMasters know of a node that came or went.
func (t *turn) tellNodes(id records.NodeID, kind pb.NodeUpdateType) {
	t.AfterCommit(func() {
		for _, soft := range t.apps {
			soft.updated = append(soft.updated, NodeUpdate{Node: id, Kind: kind})
			soft.session.wakeUp()
		}
	})
}
