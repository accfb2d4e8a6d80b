package session

import (
	"maps"
	"slices"

	"heddle/yarn/records"
)

// MasterBox collects committed updates for the ApplicationMaster of an application. It outlives attempts. It is for the leader's loop.
type MasterBox struct {
	bell    Bell // of the current attempt's session
	updates Updates
	nodes   *NodeNews
	heard   uint64 // of nodes
	// unacknowledged are ended containers in the last delivery. The ApplicationMaster acknowledges them by its next call.
	unacknowledged []records.ContainerID
	// suspended are the containers that are suspended. The attempt has heard of them unless news is set.
	suspended map[records.ContainerID]bool
	news      bool
}

// Updates are what an ApplicationMaster learns with one reply.
type Updates struct {
	Grants    []Grant
	Completed []Completion
	Nodes     []NodeUpdate
	Resized   []Resized
	// Suspended are all containers that are suspended now; nil if there is no news of that.
	Suspended *Suspended
}

// Suspended are the containers of an application that are suspended, in order.
type Suspended struct{ IDs []records.ContainerID }

// NewMasterBox returns the box of an application that hears of changes of nodes from now on.
func NewMasterBox(nodes *NodeNews) MasterBox { return MasterBox{nodes: nodes, heard: nodes.last} }

// Open connects the box to the session of an attempt, whose bell is rung for each update.
func (b *MasterBox) Open(bell Bell) { b.bell = bell }

// Greet prepares the box for an ApplicationMaster that has registered: it has heard of no suspended container.
func (b *MasterBox) Greet() { b.news = len(b.suspended) > 0 }

// Suspend notes that a container is suspended, or continues.
func (b *MasterBox) Suspend(id records.ContainerID, suspended bool) {
	if b.suspended[id] == suspended {
		return
	}
	if suspended {
		if b.suspended == nil {
			b.suspended = map[records.ContainerID]bool{}
		}
		b.suspended[id] = true
	} else {
		delete(b.suspended, id)
	}
	b.news = true
	b.bell.Ring()
}

// Grant adds containers, which become the box's.
func (b *MasterBox) Grant(grants []Grant) {
	b.updates.Grants = join(b.updates.Grants, grants)
	b.bell.Ring()
}

// Complete adds ended containers, which become the box's.
func (b *MasterBox) Complete(done []Completion) {
	if len(done) == 0 {
		return
	}
	for i := range done {
		delete(b.suspended, done[i].ID) // its end is news enough
	}
	b.updates.Completed = join(b.updates.Completed, done)
	b.bell.Ring()
}

// UpdateNodes tells of a change of nodes.
func (b *MasterBox) UpdateNodes() { b.bell.Ring() }

// Resize adds a container that has another size.
func (b *MasterBox) Resize(r Resized) {
	b.updates.Resized = append(b.updates.Resized, r)
	b.bell.Ring()
}

// Deliver empties the box into a reply.
func (b *MasterBox) Deliver() Updates {
	out := b.updates
	b.updates = Updates{}
	out.Nodes, b.heard = b.nodes.after(b.heard), b.nodes.last
	if b.news {
		b.news = false
		out.Suspended = &Suspended{slices.SortedFunc(maps.Keys(b.suspended), records.ContainerID.Compare)}
	}
	b.bell.Hush()
	for i := range out.Completed {
		b.unacknowledged = append(b.unacknowledged, out.Completed[i].ID)
	}
	return out
}

// Acknowledge returns the ended containers in replies that the ApplicationMaster has received, now that it has called again.
func (b *MasterBox) Acknowledge() (ids []records.ContainerID) {
	ids, b.unacknowledged = b.unacknowledged, nil
	return ids
}

// EndAttempt forgets what only the attempt that ends could use. With keep the next attempt learns of ended containers that this one
// hasn't received.
func (b *MasterBox) EndAttempt(keep bool) {
	b.unacknowledged, b.updates.Grants, b.heard = nil, nil, b.nodes.last
	if !keep {
		b.updates.Completed, b.suspended = nil, nil
	}
	b.news = len(b.suspended) > 0
}

// join appends more to a list. more is given away: it becomes the list if that is empty.
func join[T any](list, more []T) []T {
	if len(list) == 0 {
		return more
	}
	return append(list, more...)
}
