package leader

import (
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// NodeContainer is a container as its node sees it.
type NodeContainer struct {
	ID          records.ContainerID
	State       pb.ContainerState
	ExitStatus  int32
	Diagnostics string
	Sub         pb.ContainerSubState     // of one that runs
	Resource    *pb.Resource             // that the node gives it
	Times       *ledgerpb.ContainerTimes // nil: the node doesn't tell
}

// containerReport takes what a node says of a container into account.
func (cs *containers) containerReport(n *nodeSoft, r *NodeContainer, first bool) {
	c := cs.work.Container(r.ID)
	cs.appOnNode(n, r.ID.Attempt.App)
	id, known := r.ID, c != nil && c.Live() && c.Node == n.id
	switch {
	case r.State == pb.ContainerState_C_COMPLETE:
		if known {
			cs.containerEndedAt(c, r.ExitStatus, r.Diagnostics, r.Times)
		}
		cs.AfterCommit(func() { n.session.box.Forget(id) })
	case !known:
		cs.AfterCommit(func() { n.session.box.EndContainers(id) })
	case c.State == ledger.ContainerAllocated:
		cs.Enter(&ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{Containers: ledger.ContainerRefs(r.ID)}})
	}
	if known && c.Live() && r.State == pb.ContainerState_C_RUNNING && r.Sub != 0 {
		cs.levels.Reported(c, r.Sub, first)
		cs.reports.Lives.Note(c, r.Times, cs.Now().UnixMilli())
	}
	if known && c.Live() && c.Confirmed() != c.Resource && r.Resource != nil {
		cs.sizes.Confirm(c, r.Resource) // started at its new size, or the word of it was lost with a leader
	}
}

// containerEnded takes the end of a live container into account; with an ApplicationMaster's goes its attempt, and the attempt takes its
// other containers along. So one of several that end together may have ended already; it is passed over.
func (cs *containers) containerEnded(c *ledger.Container, exit int32, diagnostics string) {
	cs.containerEndedAt(c, exit, diagnostics, nil)
}

// containerEndedAt is containerEnded with what the node knows of the container's life.
func (cs *containers) containerEndedAt(c *ledger.Container, exit int32, diagnostics string, times *ledgerpb.ContainerTimes) {
	if !c.Live() {
		return
	}
	app := cs.work.Apps[c.ID.Attempt.App]
	attempt := app.Current()
	cs.completeAt(app, c, exit, diagnostics, times)
	if c.AM && attempt.AMContainer == c.ID && !attempt.State.Ended() {
		cs.masterEnded(app, attempt, exit, diagnostics)
	}
}

// appOnNode records that a node has something of an application. The node forgets an application that is over.
func (c *core) appOnNode(n *nodeSoft, id records.ApplicationID) {
	if soft := c.apps[id]; soft != nil {
		soft.nodes[n.id] = true
		return
	}
	c.AfterCommit(func() { n.session.box.EndApp(id) })
}
