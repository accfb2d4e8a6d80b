package leader

import (
	"iter"
	"maps"

	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// directory says who is there, for report.Reports.
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

// Apps are the live applications.
func (d directory) Apps() iter.Seq[scheduler.AppHandle] { return maps.Keys(d.c.byHandle) }

// AppOf is the id of a live application.
func (d directory) AppOf(h scheduler.AppHandle) (id records.ApplicationID, ok bool) {
	if soft := d.c.byHandle[h]; soft != nil {
		return soft.id, true
	}
	return id, false
}

// Node is what the scheduler knows a node by.
func (d directory) Node(id records.NodeID) (h scheduler.NodeHandle, ok bool) {
	if n := d.c.nodes[id]; n != nil {
		return n.handle, true
	}
	return 0, false
}

// Nodes are those that the scheduler knows.
func (d directory) Nodes() iter.Seq[records.NodeID] { return maps.Keys(d.c.nodes) }

// NodeOf is the id of a node.
func (d directory) NodeOf(h scheduler.NodeHandle) (id records.NodeID, ok bool) {
	if n := d.c.nodeOf[h]; n != nil {
		return n.id, true
	}
	return id, false
}
