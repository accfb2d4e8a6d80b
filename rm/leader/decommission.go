package leader

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/rm/hosts"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// decommissioning takes nodes out of the cluster that the lists of hosts exclude.
type decommissioning struct {
	*core
	nodeManagers *nodeManagers
	hosts        atomic.Pointer[hosts.Lists]
}

// RefreshNodes has new lists of hosts say which nodes may stay (Hadoop: NodesListManager). Those that are excluded leave: at
// once, or, when graceful, as soon as the applications that ran on them are through, at the latest after the timeout of the
// list, or else that of the call; hosts.Unset is the configured one. Nodes that were leaving and are wanted again stay.
func (d *decommissioning) RefreshNodes(lists *hosts.Lists, graceful bool, timeout time.Duration) error {
	if timeout == hosts.Unset {
		timeout = d.Settings.DecommissionTimeout
	}
	return d.Do(func() error {
		d.hosts.Store(lists)
		for _, node := range d.nodesInOrder() {
			if d.nodes[node.ID] == nil {
				continue
			}
			names := d.names(node.ID)
			own, excluded := lists.Excluded(append([]string{node.ID.Host}, names...)...)
			leaving := node.State == pb.NodeState_NS_DECOMMISSIONING
			switch {
			case !excluded && lists.Admits(names...):
				if leaving {
					d.recommission(node)
				}
			case !excluded:
				d.nodeManagers.removeNode(node.ID, pb.NodeState_NS_SHUTDOWN) // no list knows it
			case !graceful:
				d.nodeManagers.removeNode(node.ID, pb.NodeState_NS_DECOMMISSIONED)
			case own != hosts.Unset:
				d.decommission(node, own)
			default:
				d.decommission(node, timeout)
			}
		}
		return nil
	})
}

// EndDecommissioning takes the nodes that are leaving away, whatever still runs on them.
func (d *decommissioning) EndDecommissioning() error {
	return d.Do(func() error {
		for _, node := range d.leaving() {
			d.nodeManagers.removeNode(node.ID, pb.NodeState_NS_DECOMMISSIONED)
		}
		return nil
	})
}

// leaving are the nodes that are being decommissioned, by their ids.
func (d *decommissioning) leaving() (nodes []*ledger.Node) {
	for _, n := range d.work.Nodes {
		if n.State == pb.NodeState_NS_DECOMMISSIONING {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *ledger.Node) int { return a.ID.Compare(b.ID) })
	return nodes
}

// names are what a node is listed by: what is known of the machine that it called from. Of a node that has not called
// this leader yet there is but the host of its id.
func (d *decommissioning) names(id records.NodeID) []string {
	if s := d.nodeSessions.Get(id); s != nil {
		if names, ok := s.names.Load().([]string); ok {
			return names
		}
	}
	return []string{id.Host}
}

// decommission closes a node to new containers, to leave once those that it has are not needed any more.
func (d *decommissioning) decommission(node *ledger.Node, timeout time.Duration) {
	update := &ledgerpb.NodeUpdated{Node: ledger.NodeRef(node.ID), DecommissionDeadline: proto.Int64(0)}
	if timeout >= 0 {
		update.DecommissionDeadline = proto.Int64(d.Time() + timeout.Milliseconds())
	}
	if node.State != pb.NodeState_NS_DECOMMISSIONING {
		update.State = proto.Int32(int32(pb.NodeState_NS_DECOMMISSIONING))
		d.sched.SetOpen(d.nodes[node.ID].handle, scheduler.NoWork)
		d.nodeManagers.tellNodes(node.ID, pb.NodeUpdateType_NODE_DECOMMISSIONING)
		d.Log.WithField("node", node.ID).WithField("timeout", timeout).Info("node is to leave")
	}
	d.nodes[node.ID].inherited = false
	d.Enter(&ledgerpb.Command{NodeUpdated: update})
	d.leave(node)
}

func (d *decommissioning) recommission(node *ledger.Node) {
	d.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: ledger.NodeRef(node.ID), State: proto.Int32(int32(pb.NodeState_NS_RUNNING)), DecommissionDeadline: proto.Int64(0),
	}})
	d.sched.SetOpen(d.nodes[node.ID].handle, scheduler.AllWork)
	d.nodeManagers.tellNodes(node.ID, pb.NodeUpdateType_NODE_USABLE)
	d.Log.WithField("node", node.ID).Info("node stays")
}

// expireLeaving takes nodes away that nobody needs any more, or whose time is up.
func (d *decommissioning) expireLeaving() {
	for _, node := range d.leaving() {
		if d.nodes[node.ID] != nil {
			d.leave(node)
		}
	}
}

// leave takes a leaving node away if it may go: no application that lives has, or had, a container on it, as others may
// still fetch its outputs (Hadoop: DecommissioningNodesWatcher).
func (d *decommissioning) leave(node *ledger.Node) {
	overdue := node.DecommissionDeadline > 0 && !(d.nodes[node.ID].inherited && d.justBegun(d.Now())) && d.Now().UnixMilli() >= node.DecommissionDeadline
	if !overdue {
		if len(node.Containers) > 0 {
			return
		}
		for _, soft := range d.apps {
			if soft.nodes[node.ID] {
				return
			}
		}
	}
	d.nodeManagers.removeNode(node.ID, pb.NodeState_NS_DECOMMISSIONED)
}

// Leaving lists the nodes that are being decommissioned.
func (d *decommissioning) Leaving() (ids []records.NodeID, err error) {
	err = d.Do(func() error {
		for _, node := range d.leaving() {
			ids = append(ids, node.ID)
		}
		return nil
	})
	return ids, err
}

// disallowed says that a node must not be, if the lists say so; one that is leaving still may.
func (d *decommissioning) disallowed(r *NodeRegistration) string {
	if old := d.work.Nodes[r.Node]; old != nil && old.State == pb.NodeState_NS_DECOMMISSIONING {
		return ""
	}
	lists := d.hosts.Load()
	if _, excluded := lists.Excluded(r.Node.Host); !excluded && lists.Admits(r.Names...) {
		return ""
	}
	text := fmt.Sprintf("Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager.", r.Node.Host)
	if lists.Admits(r.Node.Host) {
		text += fmt.Sprintf(" The lists of hosts admit that name, but it called from %s, which is not its address by the name service: list that address.", r.Address)
	}
	return text
}
