package leader

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/decommission"
	"heddle/rm/leader/noderecords"
	"heddle/rm/leader/offer"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// nodeManagers hold the dialogue with nodes: registration, heartbeats and unregistration.
type nodeManagers struct {
	*core
	applications *applications
	attempts     *attempts
	containers   *containers
	hosts        *decommission.Hosts
	refusals     *startrefusal.Refusals
	nextExpiry   time.Time // no node expires before
}

// nodeSoft is what the leader's loop alone knows of a node.
type nodeSoft struct {
	id      records.NodeID
	ref     *ledgerpb.NodeRef // id in commands
	handle  scheduler.NodeHandle
	session *nodeSession
	open    bool // to new containers
}

func (ns *nodeManagers) addNode(n *ledger.Node) *nodeSoft {
	soft := &nodeSoft{id: n.ID, ref: ledger.NodeRef(n.ID), handle: ns.enter(n)}
	ns.nodes[n.ID] = soft
	ns.nodeOf[soft.handle] = soft
	ns.events.nodeJoined(n.ID)
	return soft
}

// enter enters a node in the scheduler.
func (ns *nodeManagers) enter(n *ledger.Node) scheduler.NodeHandle {
	added := eventlog.Added(scheduler.NodeSpec{Host: n.ID.Host, Rack: n.Rack, Capability: n.Capability, Label: ns.labels.Of(n.ID)})
	ns.sched.Apply(&added)
	return added.Node
}

// bounded returns what a node counts for that offers r.
func (ns *nodeManagers) bounded(id records.NodeID, r records.Resource) records.Resource {
	most := offer.Bound(ns.work, id, r)
	if most != r {
		ns.Log.WithField("node", id).WithField("offers", ns.Settings.Types.Format(r)).WithField("counts", ns.Settings.Types.Format(most)).
			Warn("node offers more than can be added up: check its yarn.nodemanager.resource settings and resource types")
	}
	return most
}

// moveRack enters a node again in the scheduler, with its containers.
func (ns *nodeManagers) moveRack(n *nodeSoft) {
	node := ns.work.Nodes[n.id]
	for c := range ns.work.On(node) {
		ns.containers.free(c)
	}
	ns.sched.Apply(&eventlog.Event{Op: eventlog.RemoveNode, Node: n.handle})
	delete(ns.nodeOf, n.handle)
	n.handle = ns.enter(node)
	ns.nodeOf[n.handle] = n
	ns.events.nodeBegins(n)
	for c := range ns.work.On(node) {
		ns.containers.restore(c)
	}
}

// SetNodeResource changes what a node offers. Containers that it has already stay, even if they hold more.
func (ns *nodeManagers) SetNodeResource(id records.NodeID, r records.Resource) error {
	return ns.Do(func() error {
		n := ns.nodes[id]
		if n == nil {
			return refusal.New(refusal.Refused, "Node %v is not registered", id)
		}
		for i := range r {
			if r[i] < 0 {
				return refusal.New(refusal.InvalidResource, "Invalid resource of node %v: %s", id, ns.Settings.Types.Format(r))
			}
		}
		r = ns.bounded(id, r)
		ns.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: ledger.NodeRef(id), Capability: ledger.Amounts(r)}})
		ns.sched.Apply(&eventlog.Event{Op: eventlog.SetCapability, Node: n.handle, Resource: eventlog.Amounts(r)})
		ns.AfterCommit(func() { n.session.box.Offer(r) })
		return nil
	})
}

// UnregisterNode removes a node that shuts down; its containers end. The caller must be the node itself.
func (ns *nodeManagers) UnregisterNode(id records.NodeID, who NodeCaller) error {
	if err := ns.callerOf(id, who); err != nil {
		return err
	}
	return ns.Do(func() error {
		ns.removeNode(id, pb.NodeState_NS_SHUTDOWN)
		return nil
	})
}

// removeNode ends a node's life: its containers are gone.
func (ns *nodeManagers) removeNode(id records.NodeID, state pb.NodeState) {
	n, node := ns.nodes[id], ns.work.Nodes[id]
	if n == nil || node == nil {
		return
	}
	ns.setOpen(n, false)
	ns.containers.endAllOn(node, "Container released on a *lost* node")
	ns.sched.Apply(&eventlog.Event{Op: eventlog.RemoveNode, Node: n.handle})
	delete(ns.nodeOf, n.handle)
	delete(ns.nodes, id)
	ns.events.nodeLeft(id)
	ns.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: ledger.NodeRef(id), State: proto.Int32(int32(state)),
	}})
	ns.tellNodes(id, pb.NodeUpdateType_NODE_UNUSABLE)
	ns.AfterCommit(func() { ns.nodeSessions.Drop(id) })
	noderecords.Forget(ns.work, len(ns.nodes), func(id records.NodeID) bool { return ns.nodes[id] != nil }, ns.Enter)
	ns.Log.WithField("node", id).WithField("state", records.NodeStateName(state)).Warn("node is gone")
}

// endAllOn ends all containers of a node.
func (cs *containers) endAllOn(node *ledger.Node, why string) {
	all := slices.Collect(cs.work.On(node))
	slices.SortFunc(all, func(a, b *ledger.Container) int { return a.ID.Compare(b.ID) })
	for _, c := range all {
		if c.Live() { // otherwise the end of its application cleans up
			cs.cleanUp(c)
		}
		cs.containerEnded(c, records.ExitAborted, why)
	}
}

// tellNodes lets all ApplicationMasters know of a node that came or went.
func (ns *nodeManagers) tellNodes(id records.NodeID, kind pb.NodeUpdateType) {
	ns.loans.Use(id, kind == pb.NodeUpdateType_NODE_USABLE)
	ns.AfterCommit(func() {
		ns.nodeNews.Add(NodeUpdate{Node: id, Kind: kind})
		for _, soft := range ns.apps {
			soft.box.UpdateNodes()
		}
	})
}
