package lending

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Config is what Loans need. All must be set.
type Config struct {
	Settings
	Nodes    Nodes
	Smallest records.Resource // of a container
	Types    records.ResourceTypes
	Log      *logrus.Entry
}

// Nodes are those that are registered. Others are left alone.
type Nodes interface {
	// SetCapability tells the scheduler what a node offers to containers.
	SetCapability(id records.NodeID, r records.Resource)
	// Box returns where orders for a node go; nil: it isn't there.
	Box(id records.NodeID) Box
}

// Box takes orders for a node.
type Box interface {
	Offer(r records.Resource) // to containers
	Lend(r records.Resource)  // to short tasks
	SetLong(has bool)         // it has long tasks
}

// Loans are what nodes were lent in a leadership. Methods are the loop's, but for Told and News.
type Loans struct {
	Config
	loop    loop.Operations
	work    *ledger.State
	nodes   map[records.NodeID]*loan
	windows Windows
	ports   Ports
	long    map[records.NodeID]bool // nodes with long tasks
}

type loan struct {
	Node
	port int32
}

// New returns Loans without nodes. work is the working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Loans {
	return &Loans{Config: cfg, loop: loop, work: work, nodes: map[records.NodeID]*loan{}, long: map[records.NodeID]bool{}}
}

// Register enters a node that takes probes at a port (0: it takes none), has so much in all, and says what it was lent before. It returns what the node may use
// for short tasks, and what it offers to containers.
func (l *Loans) Register(id records.NodeID, port int32, total, before records.Resource) (lent, rest records.Resource) {
	l.SetLong(id, false) // the node knows of none, until it is told again
	delete(l.nodes, id)
	if port <= 0 || l.Least.IsZero() {
		return records.Resource{}, total
	}
	n := Begin(&l.Settings, total, before, l.Smallest)
	if n.Told.IsZero() {
		l.Log.WithField("node", id).Warnf("node is lent nothing for short tasks: it has %s, and %s (heddle.probes.memory-mb, heddle.probes.vcores) would leave "+
			"less than the smallest container takes", l.Types.Format(total), l.Types.Format(l.Least))
		return records.Resource{}, total
	}
	l.nodes[id] = &loan{n, port}
	return n.Told, total.Sub(n.Charged)
}

// Use says whether a node is in use. It is told to ApplicationMasters only as long as it is.
func (l *Loans) Use(id records.NodeID, usable bool) {
	var port int32
	if n := l.nodes[id]; n != nil && usable {
		port = n.port
	}
	l.loop.AfterCommit(func() { l.ports.Set(id, port) })
	if port == 0 {
		l.SetLong(id, false)
		l.windows.Forget(id)
	}
}

// SetLong says whether a node has containers with long tasks. The node is told, so that it rejects short ones, and ApplicationMasters are, so that theirs avoid it.
func (l *Loans) SetLong(id records.NodeID, long bool) {
	if l.long[id] == long || long && l.nodes[id] == nil {
		return
	}
	if long {
		l.long[id] = true
	} else {
		delete(l.long, id)
	}
	l.loop.AfterCommit(func() {
		l.ports.SetLong(id, long)
		if box := l.Nodes.Box(id); box != nil {
			box.SetLong(long)
		}
	})
}

// SetShort has schedulers of short tasks hear which of some nodes are the short partition: they turn to it at last. It returns the nodes.
func (l *Loans) SetShort(ids []records.NodeID, short func(records.NodeID) bool) []records.NodeID {
	for _, id := range ids {
		is := short(id)
		l.loop.AfterCommit(func() { l.ports.SetShort(id, is) })
	}
	return ids
}

// Told takes what a node tells of short tasks. It may be called from any goroutine.
func (l *Loans) Told(id records.NodeID, n News) { l.windows.Heard(id, n) }

// Waiting returns how many short tasks wait at all nodes, and how long they have waited together. It may be called from any goroutine.
func (l *Loans) Waiting() (tasks int64, sum time.Duration) { return l.windows.Waiting() }

// News returns the nodes that take probes of which an ApplicationMaster hasn't been told, and those that don't any more. It may be called from any
// goroutine.
func (l *Loans) News(t *Told) (come []ProbeNode, gone []records.NodeID) { return l.ports.News(t) }

// Tick lends more or less when a window has ended, by how long short tasks waited in it.
func (l *Loans) Tick(now time.Time) {
	if l.Most.IsZero() {
		return
	}
	told, ended := l.windows.Next(now, l.Window)
	if !ended {
		return
	}
	want := l.Want(told)
	ids := make([]records.NodeID, 0, len(l.nodes))
	for id := range l.nodes {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, records.NodeID.Compare)
	for _, id := range ids {
		n, node := l.nodes[id], l.work.Nodes[id]
		if node == nil || node.State != pb.NodeState_NS_RUNNING {
			continue
		}
		before := n.Node
		n.Set(want, node.Capability.Sub(node.Used.Max(l.Smallest)))
		l.changed(id, node, before)
	}
}

// Heard takes what a node says that it was lent and uses.
func (l *Loans) Heard(id records.NodeID, lent, used records.Resource) {
	n, node := l.nodes[id], l.work.Nodes[id]
	if n == nil || node == nil {
		return
	}
	before := n.Node
	n.Heard(lent, used)
	l.changed(id, node, before)
}

// Lends reports whether a node was lent anything.
func (l *Loans) Lends(id records.NodeID) bool { return l.nodes[id] != nil }

// SetRoom says what a container has left that is suspended for short tasks of its node, and whether it is there. No container gets it.
func (l *Loans) SetRoom(id records.NodeID, room records.Resource, ready bool) {
	n, node := l.nodes[id], l.work.Nodes[id]
	if n == nil || node == nil || n.Room == room && n.Ready == ready {
		return
	}
	before := n.Node
	n.SetRoom(room, node.Capability.Sub(node.Used), ready)
	l.changed(id, node, before)
}

// Settled reports whether a node has given back all that it isn't to use any more.
func (l *Loans) Settled(id records.NodeID) bool { return l.nodes[id] == nil || l.nodes[id].Settled() }

// changed has a node offer to containers what isn't charged for short tasks any more, or not offer what is, and tells it.
func (l *Loans) changed(id records.NodeID, node *ledger.Node, before Node) {
	now := l.nodes[id].Node
	if now == before {
		return
	}
	rest := node.Capability.Add(before.Charged).Sub(now.Charged)
	if now.Charged != before.Charged {
		l.loop.Enter(&ledgerpb.Command{NodeUpdated: &ledgerpb.NodeUpdated{Node: ledger.NodeRef(id), Capability: ledger.Amounts(rest)}})
		l.Nodes.SetCapability(id, rest)
	}
	l.loop.AfterCommit(func() {
		if box := l.Nodes.Box(id); box != nil {
			box.Offer(rest)
			box.Lend(now.Told)
		}
	})
}
