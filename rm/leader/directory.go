package leader

import (
	"iter"
	"maps"

	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// directory says who is there, to the packages that the leader is made of.
type directory struct{ c *core }

// App implements report.Cluster, as do the following.
func (d directory) App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool) {
	soft := d.c.apps[id]
	if soft == nil {
		return 0, 0, false
	}
	if soft.session != nil {
		progress = soft.session.Progress()
	}
	return soft.handle, progress, true
}

// Apps returns the live applications.
func (d directory) Apps() iter.Seq[scheduler.AppHandle] { return maps.Keys(d.c.byHandle) }

// AppOf returns the id of a live application.
func (d directory) AppOf(h scheduler.AppHandle) (id records.ApplicationID, ok bool) {
	if soft := d.c.byHandle[h]; soft != nil {
		return soft.id, true
	}
	return id, false
}

// Node returns what the scheduler knows a node by.
func (d directory) Node(id records.NodeID) (h scheduler.NodeHandle, ok bool) {
	if n := d.c.nodes[id]; n != nil {
		return n.handle, true
	}
	return 0, false
}

// Nodes returns those that the scheduler knows.
func (d directory) Nodes() iter.Seq[records.NodeID] { return maps.Keys(d.c.nodes) }

// NodeOf returns the id of a node.
func (d directory) NodeOf(h scheduler.NodeHandle) (id records.NodeID, ok bool) {
	if n := d.c.nodeOf[h]; n != nil {
		return n.id, true
	}
	return id, false
}

// Count returns how many live applications there are.
func (d directory) Count() int { return len(d.c.apps) }

// Live refuses an application that is unknown, or has ended.
func (d directory) Live(id records.ApplicationID) (*ledger.Application, error) {
	return d.c.liveApp(id)
}

// toMaster returns the box of a live application.
func (c *core) toMaster(id records.ApplicationID) *session.MasterBox { return &c.apps[id].box }

// toNode returns the box of a node, nil if it has gone.
func (c *core) toNode(id records.NodeID) *session.NodeBox {
	if n := c.nodes[id]; n != nil {
		return &n.session.box
	}
	return nil
}
