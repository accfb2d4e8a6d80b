package leader

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/rm/hosts"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// RefreshNodes has new lists of hosts say which nodes may stay (Hadoop: NodesListManager). Those that are excluded leave: at
// once, or, when graceful, as soon as the applications that ran on them are through, at the latest after the timeout of the
// list, or else that of the call; hosts.Unset is the configured one. Nodes that were leaving and are wanted again stay.
func (l *Leader) RefreshNodes(lists *hosts.Lists, graceful bool, timeout time.Duration) error {
	if timeout == hosts.Unset {
		timeout = l.Settings.DecommissionTimeout
	}
	return l.do(func(t *turn) error {
		t.hosts.Store(lists)
		for _, node := range t.nodesInOrder() {
			if t.nodes[node.ID] == nil {
				continue
			}
			names := t.names(node.ID)
			own, excluded := lists.Excluded(append([]string{node.ID.Host}, names...)...)
			leaving := node.State == pb.NodeState_NS_DECOMMISSIONING
			switch {
			case !excluded && lists.Admits(names...):
				if leaving {
					t.recommission(node)
				}
			case !excluded:
				t.removeNode(node.ID, pb.NodeState_NS_SHUTDOWN) // no list knows it
			case !graceful:
				t.removeNode(node.ID, pb.NodeState_NS_DECOMMISSIONED)
			case own != hosts.Unset:
				t.decommission(node, own)
			default:
				t.decommission(node, timeout)
			}
		}
		return nil
	})
}

// EndDecommissioning takes the nodes that are leaving away, whatever still runs on them.
func (l *Leader) EndDecommissioning() error {
	return l.do(func(t *turn) error {
		for _, node := range t.leaving() {
			t.removeNode(node.ID, pb.NodeState_NS_DECOMMISSIONED)
		}
		return nil
	})
}

// leaving are the nodes that are being decommissioned, by their ids.
func (t *turn) leaving() (nodes []*ledger.Node) {
	for _, n := range t.work.Nodes {
		if n.State == pb.NodeState_NS_DECOMMISSIONING {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *ledger.Node) int { return a.ID.Compare(b.ID) })
	return nodes
}

// names are what a node is listed by: what is known of the machine that it called from. Of a node that has not called
// this leader yet there is but the host of its id.
func (t *turn) names(id records.NodeID) []string {
	if s := t.sessions.node(id); s != nil {
		if names, ok := s.names.Load().([]string); ok {
			return names
		}
	}
	return []string{id.Host}
}

// decommission closes a node to new containers, to leave once those that it has are not needed any more.
func (t *turn) decommission(node *ledger.Node, timeout time.Duration) {
	update := &ledgerpb.NodeUpdated{Node: ledger.NodeRef(node.ID), DecommissionDeadline: proto.Int64(0)}
	if timeout >= 0 {
		update.DecommissionDeadline = proto.Int64(t.Time() + timeout.Milliseconds())
	}
	if node.State != pb.NodeState_NS_DECOMMISSIONING {
		update.State = proto.Int32(int32(pb.NodeState_NS_DECOMMISSIONING))
		t.sched.SetOpen(t.nodes[node.ID].handle, false)
		t.tellNodes(node.ID, pb.NodeUpdateType_NODE_DECOMMISSIONING)
		t.Log.WithField("node", node.ID).WithField("timeout", timeout).Info("node is to leave")
	}
	t.nodes[node.ID].inherited = false
	t.Enter(&ledgerpb.Command{NodeUpdated: update})
	t.leave(node)
}

func (t *turn) recommission(node *ledger.Node) {
	t.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: ledger.NodeRef(node.ID), State: proto.Int32(int32(pb.NodeState_NS_RUNNING)), DecommissionDeadline: proto.Int64(0),
	}})
	t.sched.SetOpen(t.nodes[node.ID].handle, true)
	t.tellNodes(node.ID, pb.NodeUpdateType_NODE_USABLE)
	t.Log.WithField("node", node.ID).Info("node stays")
}

// expireLeaving takes nodes away that nobody needs any more, or whose time is up.
func (t *turn) expireLeaving() {
	for _, node := range t.leaving() {
		if t.nodes[node.ID] != nil {
			t.leave(node)
		}
	}
}

// leave takes a leaving node away if it may go: no application that lives has, or had, a container on it, as others may
// still fetch its outputs (Hadoop: DecommissioningNodesWatcher).
func (t *turn) leave(node *ledger.Node) {
	overdue := node.DecommissionDeadline > 0 && !(t.nodes[node.ID].inherited && t.justBegun(t.Now())) && t.Now().UnixMilli() >= node.DecommissionDeadline
	if !overdue {
		if len(node.Containers) > 0 {
			return
		}
		for _, soft := range t.apps {
			if soft.nodes[node.ID] {
				return
			}
		}
	}
	t.removeNode(node.ID, pb.NodeState_NS_DECOMMISSIONED)
}

// Leaving lists the nodes that are being decommissioned.
func (l *Leader) Leaving() (ids []records.NodeID, err error) {
	err = l.do(func(t *turn) error {
		for _, node := range t.leaving() {
			ids = append(ids, node.ID)
		}
		return nil
	})
	return ids, err
}

// disallowed says that a node must not be, if the lists say so; one that is leaving still may.
func (t *turn) disallowed(r *NodeRegistration) string {
	if old := t.work.Nodes[r.Node]; old != nil && old.State == pb.NodeState_NS_DECOMMISSIONING {
		return ""
	}
	lists := t.hosts.Load()
	if _, excluded := lists.Excluded(r.Node.Host); !excluded && lists.Admits(r.Names...) {
		return ""
	}
	text := fmt.Sprintf("Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager.", r.Node.Host)
	if lists.Admits(r.Node.Host) {
		text += fmt.Sprintf(" The lists of hosts admit that name, but it called from %s, which is not its address by the name service: list that address.", r.Address)
	}
	return text
}
