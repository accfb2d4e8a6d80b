package leader

import (
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
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
	Times       *ledgerpb.ContainerTimes // of one that has ended; nil: the node doesn't tell
}

// restore enters a live container of the ledger in the scheduler.
func (t *turn) restore(c *ledger.Container) {
	soft := t.apps[c.ID.Attempt.App]
	handle(c, t.sched.Restore(soft.handle, t.nodes[c.Node].handle, c.Resource, drive.Container{
		Attempt: c.ID.Attempt.Attempt, ID: c.ID.ID, Priority: c.Priority, AM: c.AM, Since: c.Allocated,
	}))
	soft.nodes[c.Node] = true
}

// containerReport takes what a node says of a container into account.
func (t *turn) containerReport(n *nodeSoft, r *NodeContainer, first bool) {
	c := t.work.Container(r.ID)
	t.appOnNode(n, r.ID.Attempt.App)
	known := c != nil && c.Live() && c.Node == n.id
	switch {
	case r.State == pb.ContainerState_C_COMPLETE:
		if known {
			t.containerEndedAt(c, r.ExitStatus, r.Diagnostics, r.Times)
		}
		id := r.ID
		t.AfterCommit(func() { n.session.forget(id) })
	case !known:
		id := r.ID
		t.AfterCommit(func() { n.session.endContainer(id) })
	case c.State == ledger.ContainerAllocated:
		t.Enter(&ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{
			Containers: ledger.ContainerRefs(r.ID),
		}})
	}
	if known && c.Live() && r.State == pb.ContainerState_C_RUNNING && r.Sub != 0 {
		t.level(c, r.Sub, first)
	}
	if known && c.Live() && c.Confirmed != c.Resource && r.Resource != nil {
		t.confirm(n, c, r.Resource) // started at its new size, or the word of it was lost with a leader
	}
}

// containerEnded takes the end of a live container into account; with an ApplicationMaster's goes its attempt.
func (t *turn) containerEnded(c *ledger.Container, exit int32, diagnostics string) {
	t.containerEndedAt(c, exit, diagnostics, nil)
}

// containerEndedAt is containerEnded with what the node knows of the container's life.
func (t *turn) containerEndedAt(c *ledger.Container, exit int32, diagnostics string, times *ledgerpb.ContainerTimes) {
	app := t.work.Apps[c.ID.Attempt.App]
	attempt := app.Current()
	t.completeAt(app, c, exit, diagnostics, times)
	if c.AM && attempt.AMContainer == c.ID && !attempt.State.Ended() {
		t.amEnded(app, attempt, exit, diagnostics)
	}
}

// appOnNode takes note of an application that a node has something of; one that is over is to be forgotten there.
func (t *turn) appOnNode(n *nodeSoft, id records.ApplicationID) {
	if soft := t.apps[id]; soft != nil {
		soft.nodes[n.id] = true
		return
	}
	t.AfterCommit(func() { n.session.endApp(id) })
}
