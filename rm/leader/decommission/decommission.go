package decommission

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/rm/hosts"
	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Nodes are those under this leader. They are used in the loop's operations alone.
type Nodes interface {
	// Known reports whether the leader works with a node: it hasn't gone.
	Known(id records.NodeID) bool
	// Names returns those by which the lists of hosts may know a node's machine.
	Names(id records.NodeID) []string
	// Used reports whether a live application has, or had, a container on a node.
	Used(id records.NodeID) bool
	// SetOpen opens a node to new containers or closes it, and Tell lets ApplicationMasters know.
	SetOpen(id records.NodeID, open bool)
	Tell(id records.NodeID, kind pb.NodeUpdateType)
	// Remove ends a node's life in a state. Its containers end with it.
	Remove(id records.NodeID, state pb.NodeState)
}

// Config is what Hosts work with.
type Config struct {
	Nodes Nodes
	Lists *hosts.Lists // at the beginning; nil admits all
	// Timeout is the time that nodes that leave gracefully get by default; less than 0 is no end.
	Timeout time.Duration
	// JustBegun reports whether the leadership is so young that a deadline that an earlier one has set isn't to be trusted.
	JustBegun func(now time.Time) bool
	// Switching reports whether the leadership is so young that nodes may just have come from YARN's ResourceManager.
	Switching func(now time.Time) bool
	Log       *logrus.Entry
}

// Hosts are the machines that may be nodes. The methods of drain.go, Refresh, End, Leaving, Excluded and HasLeft are safe for concurrent use; the other
// methods are for the loop's operations.
type Hosts struct {
	cfg       Config
	loop      loop.Operations
	work      *ledger.State
	lists     atomic.Pointer[hosts.Lists]
	inherited map[records.NodeID]bool // nodes whose deadline an earlier leadership has set
	keptOut   map[records.NodeID]bool // nodes of which the log says that they are kept out
	left      sync.Map                // records.NodeID of nodes that were decommissioned
}

// New makes the Hosts of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Hosts {
	h := &Hosts{cfg: cfg, loop: loop, work: work, inherited: map[records.NodeID]bool{}, keptOut: map[records.NodeID]bool{}}
	h.lists.Store(cfg.Lists)
	for id, n := range work.Nodes {
		if n.State == pb.NodeState_NS_DECOMMISSIONED {
			h.left.Store(id, nil)
		}
	}
	return h
}

// RefreshNodes has new lists of hosts say which nodes may stay (Hadoop: NodesListManager). Those that are excluded leave: at
// once, or, when graceful, as soon as the applications that ran on them have ended, at the latest after the timeout of the
// list, or else that of the call; hosts.Unset is the configured one. Nodes that were leaving and are wanted again stay; those that leave by a call of Drain, which the
// former lists don't exclude, still leave.
func (h *Hosts) RefreshNodes(lists *hosts.Lists, graceful bool, timeout time.Duration) error {
	if timeout == hosts.Unset {
		timeout = h.cfg.Timeout
	}
	return h.loop.Do(func() error {
		before := h.lists.Swap(lists)
		for _, node := range h.in(func(*ledger.Node) bool { return true }) {
			if h.cfg.Nodes.Known(node.ID) {
				h.judge(node, before, graceful, timeout)
			}
		}
		return nil
	})
}

// judge has a node stay or leave, as the lists say.
func (h *Hosts) judge(node *ledger.Node, before *hosts.Lists, graceful bool, timeout time.Duration) {
	lists, names := h.lists.Load(), h.cfg.Nodes.Names(node.ID)
	all := append([]string{node.ID.Host}, names...)
	own, excluded := lists.Excluded(all...)
	switch {
	case !excluded && lists.Admits(names...):
		if _, listed := before.Excluded(all...); listed && leaving(node) {
			h.recommission(node)
		}
	case !excluded:
		h.cfg.Nodes.Remove(node.ID, pb.NodeState_NS_SHUTDOWN) // no list knows it
	case !graceful:
		h.remove(node.ID)
	case own != hosts.Unset:
		h.decommission(node, own)
	default:
		h.decommission(node, timeout)
	}
}

// EndDecommissioning removes the nodes that are leaving, whatever still runs on them.
func (h *Hosts) EndDecommissioning() error {
	return h.loop.Do(func() error {
		for _, node := range h.in(leaving) {
			h.remove(node.ID)
		}
		return nil
	})
}

// Leaving lists the nodes that are being decommissioned.
func (h *Hosts) Leaving() (ids []records.NodeID, err error) {
	err = h.loop.Do(func() error {
		for _, node := range h.in(leaving) {
			ids = append(ids, node.ID)
		}
		return nil
	})
	return ids, err
}

func leaving(n *ledger.Node) bool { return n.State == pb.NodeState_NS_DECOMMISSIONING }

// in are the nodes on record for which of is true, by their ids.
func (h *Hosts) in(of func(*ledger.Node) bool) (nodes []*ledger.Node) {
	for _, n := range h.work.Nodes {
		if of(n) {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *ledger.Node) int { return a.ID.Compare(b.ID) })
	return nodes
}

// decommission closes a node to new containers. It leaves once those that it has are not needed any more.
func (h *Hosts) decommission(node *ledger.Node, timeout time.Duration) {
	update := &ledgerpb.NodeUpdated{Node: ledger.NodeRef(node.ID), DecommissionDeadline: proto.Int64(0)}
	if timeout >= 0 {
		update.DecommissionDeadline = proto.Int64(h.loop.Time() + timeout.Milliseconds())
	}
	if !leaving(node) {
		update.State = proto.Int32(int32(pb.NodeState_NS_DECOMMISSIONING))
		h.cfg.Nodes.SetOpen(node.ID, false)
		h.cfg.Nodes.Tell(node.ID, pb.NodeUpdateType_NODE_DECOMMISSIONING)
		h.cfg.Log.WithField("node", node.ID).WithField("timeout", timeout).Info("node is to leave")
	}
	delete(h.inherited, node.ID)
	h.loop.Enter(&ledgerpb.Command{NodeUpdated: update})
	h.leave(node)
}

func (h *Hosts) recommission(node *ledger.Node) {
	h.loop.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{
		Node: ledger.NodeRef(node.ID), State: proto.Int32(int32(pb.NodeState_NS_RUNNING)), DecommissionDeadline: proto.Int64(0),
	}})
	h.cfg.Nodes.SetOpen(node.ID, true)
	h.cfg.Nodes.Tell(node.ID, pb.NodeUpdateType_NODE_USABLE)
	h.cfg.Log.WithField("node", node.ID).Info("node stays")
}

// Tick removes nodes that are no longer needed, or whose time is up.
func (h *Hosts) Tick(time.Time) {
	for _, node := range h.in(leaving) {
		if h.cfg.Nodes.Known(node.ID) {
			h.leave(node)
		}
	}
}

// leave removes a leaving node if it may go: no application that lives has, or had, a container on it, as others may
// still fetch its outputs (Hadoop: DecommissioningNodesWatcher).
func (h *Hosts) leave(node *ledger.Node) {
	trusted := !h.inherited[node.ID] || !h.cfg.JustBegun(h.loop.Now())
	overdue := node.DecommissionDeadline > 0 && trusted && h.loop.Date().UnixMilli() >= node.DecommissionDeadline
	if overdue || len(node.Containers) == 0 && !h.cfg.Nodes.Used(node.ID) {
		h.remove(node.ID)
	}
}

// remove ends the life of a node that has left. Its next heartbeat is told so.
func (h *Hosts) remove(id records.NodeID) {
	h.left.Store(id, nil)
	h.cfg.Nodes.Remove(id, pb.NodeState_NS_DECOMMISSIONED)
}

// HasLeft reports whether a node was decommissioned and hasn't registered again: its NodeManager is to shut down, and not to register by itself.
func (h *Hosts) HasLeft(id records.NodeID) bool {
	_, left := h.left.Load(id)
	return left
}

// Inherit records that an earlier leadership has set by when a node leaves.
func (h *Hosts) Inherit(id records.NodeID) { h.inherited[id] = true }

// NodeLeft drops what is known of a node that is gone.
func (h *Hosts) NodeLeft(id records.NodeID) { delete(h.inherited, id) }

// Excluded reports whether the lists exclude a host.
func (h *Hosts) Excluded(host string) bool {
	_, excluded := h.lists.Load().Excluded(host)
	return excluded
}

// maxKeptOut bounds the nodes that the log names, once each.
const maxKeptOut = 10_000

// Disallowed says why a node must not register, "" if it may: the lists of hosts say so, by the names of the machine that it
// called from. One that is leaving still may.
//
// wait: the node should try again instead of shutting down. In the first minutes of a leadership that is so for nodes whose name is
// listed, and which call from an address that isn't: YARN admitted them, and its NodeManagers shut down for good.
func (h *Hosts) Disallowed(id records.NodeID, names []string, address string) (why string, wait bool) {
	if old := h.work.Nodes[id]; old != nil && leaving(old) {
		return "", false
	}
	lists := h.lists.Load()
	if !h.Excluded(id.Host) && lists.Admits(names...) {
		delete(h.keptOut, id)
		h.left.Delete(id)
		return "", false
	}
	if !lists.Admits(id.Host) {
		return fmt.Sprintf("Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager.", id.Host), false
	}
	other := fmt.Sprintf("The lists of hosts admit that name, but it called from %s, which is not its address by the name service: list that address", address)
	if !h.cfg.Switching(h.loop.Now()) {
		return fmt.Sprintf("Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager. %s.", id.Host, other), false
	}
	why = fmt.Sprintf("NodeManager %v is kept out for now. %s in yarn.resourcemanager.nodes.include-path, and run heddle rmadmin -refreshNodes", id, other)
	if !h.keptOut[id] && len(h.keptOut) < maxKeptOut {
		h.keptOut[id] = true
		h.cfg.Log.Warn(why + ". It will shut down if it still calls from there a quarter of an hour after this ResourceManager began to lead")
	}
	return why, true
}
