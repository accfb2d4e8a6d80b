package leader

import (
	"cmp"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
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
func (cs *containers) restore(c *ledger.Container) {
	soft := cs.apps[c.ID.Attempt.App]
	h := cs.sched.Restore(soft.handle, cs.nodes[c.Node].handle, c.Resource, drive.Container{
		Attempt: c.ID.Attempt.Attempt, ID: c.ID.ID, Priority: c.Priority, AM: c.AM, Since: c.Allocated,
	})
	handle(c, h)
	cs.restoreHeld(c, h)
	soft.nodes[c.Node] = true
}

// restoreHeld tells the scheduler how a container was suspended so far. Those that an earlier leader has chosen resume by themselves. So do
// those of releases that don't say for whom they were suspended, if they hold less than their claim.
func (cs *containers) restoreHeld(c *ledger.Container, h scheduler.ContainerHandle) {
	s, held := c.Suspension(), c.Held()
	chosen := s.Queue != "" && c.Level != ledgerpb.Level_RUNNING || s.Times == 0 && held != c.Resource
	times, since := int(s.Times), cmp.Or(s.Since, cs.Time())
	if chosen {
		times = max(times-1, 0) // this one is counted below
	}
	if times > 0 {
		cs.sched.SetPast(h, times, s.Total)
	}
	switch {
	case chosen:
		cs.sched.WasSuspended(h, held, since, s.Queue)
	case held != c.Resource:
		cs.sched.NoteHeld(h, held)
	}
	if !chosen && c.Suspended() {
		cs.sched.SetStopped(h, true)
	}
}

// containerReport takes what a node says of a container into account.
func (cs *containers) containerReport(n *nodeSoft, r *NodeContainer, first bool) {
	c := cs.work.Container(r.ID)
	cs.appOnNode(n, r.ID.Attempt.App)
	known := c != nil && c.Live() && c.Node == n.id
	switch {
	case r.State == pb.ContainerState_C_COMPLETE:
		if known {
			cs.containerEndedAt(c, r.ExitStatus, r.Diagnostics, r.Times)
		}
		id := r.ID
		cs.AfterCommit(func() { n.session.box.Forget(id) })
	case !known:
		id := r.ID
		cs.AfterCommit(func() { n.session.box.EndContainers(id) })
	case c.State == ledger.ContainerAllocated:
		cs.Enter(&ledgerpb.Command{ContainersRunning: &ledgerpb.ContainersRunning{
			Containers: ledger.ContainerRefs(r.ID),
		}})
	}
	if known && c.Live() && r.State == pb.ContainerState_C_RUNNING && r.Sub != 0 {
		cs.levels.Reported(c, r.Sub, first)
	}
	if known && c.Live() && c.Confirmed() != c.Resource && r.Resource != nil {
		cs.sizes.Confirm(c, r.Resource) // started at its new size, or the word of it was lost with a leader
	}
}

// containerEnded takes the end of a live container into account; with an ApplicationMaster's goes its attempt.
func (cs *containers) containerEnded(c *ledger.Container, exit int32, diagnostics string) {
	cs.containerEndedAt(c, exit, diagnostics, nil)
}

// containerEndedAt is containerEnded with what the node knows of the container's life.
func (cs *containers) containerEndedAt(c *ledger.Container, exit int32, diagnostics string, times *ledgerpb.ContainerTimes) {
	app := cs.work.Apps[c.ID.Attempt.App]
	attempt := app.Current()
	cs.completeAt(app, c, exit, diagnostics, times)
	if c.AM && attempt.AMContainer == c.ID && !attempt.State.Ended() {
		cs.attempts.amEnded(app, attempt, exit, diagnostics)
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
