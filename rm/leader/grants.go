package leader

import (
	"slices"

	"heddle/rm/leader/session"
	"heddle/rm/leader/totals"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// schedule runs the driver, and carries its decisions out. Where containers must end, it decides again.
func (cs *containers) schedule() {
	reserved := false
	for cs.step(&reserved) {
		continue
	}
	if reserved {
		cs.reports.ShowReserved()
	}
}

// step runs the driver once. It reports whether containers must end.
func (cs *containers) step(reserved *bool) bool {
	granted, killed := cs.granted[:0], cs.killed[:0]
	decisions := cs.sched.Step(cs.Now().UnixMilli())
	for i := range decisions {
		d := &decisions[i]
		switch d.Kind {
		case drive.Allocate:
			soft := cs.byHandle[d.App]
			if len(soft.granted) == 0 {
				granted = append(granted, soft)
			}
			soft.granted = append(soft.granted, *d)
		case drive.Kill:
			killed = append(killed, preempted{cs.sched.ContainerID(d.Container), d.Reason})
		case drive.Suspend, drive.Shrink, drive.Resume, drive.Charge:
			cs.levels.Decided(d)
		case drive.Grow:
			cs.sizes.Grown(d)
		case drive.Tell:
			cs.preempting.tellPreempted(d)
		case drive.Killable:
			cs.preempting.preemptionLog(d).Info("may be killed when its room is needed: " + d.Reason)
		case drive.Reserve, drive.Unreserve:
			*reserved = true
			cs.preempting.logReservation(d)
		}
	}
	cs.granted, cs.killed = granted, killed
	for _, soft := range granted {
		cs.grantAll(soft, soft.granted)
		soft.granted = soft.granted[:0]
	}
	for i := range killed {
		cs.killPreempted(&killed[i])
	}
	return len(killed) > 0
}

// maxTogether is how many containers one command is about at most, so that it leaves a batch room.
const maxTogether = 2048

// grantAll enters the containers that one application gets.
func (cs *containers) grantAll(soft *appSoft, decisions []drive.Decision) {
	app := cs.work.Apps[soft.id]
	attempt := app.Current()
	am := attempt.State == ledger.AttemptScheduled
	grantsPB := make([]*ledgerpb.Grant, len(decisions))
	all := make([]ledgerpb.Grant, len(decisions)) // thousands come at a time
	first, now := cs.epoch<<records.EpochShift|(attempt.LastSequence+1), cs.Time()
	var places totals.Places
	for i := range decisions {
		d := &decisions[i]
		g := &all[i]
		places[d.Locality]++
		g.Id, g.Node, g.Resource = first+int64(i), cs.nodeOf[d.Node].ref, cs.refs.Amounts(d.Resource)
		g.Priority, g.AllocationRequestId, g.Am = d.Priority, d.AllocationRequestID, am // all that the scheduler grants is guaranteed
		if cs.Settings.Constraints.On() {
			g.Tags = slices.Clone(cs.sched.TagsOf(d.Container))
		}
		since := attempt.StartTime
		if !am {
			since, g.Far = soft.asked.Take(d.Priority, d.AllocationRequestID, d.Locality)
			g.Far = g.Far && cs.work.Version >= ledger.CourseVersion
		}
		if since > 0 {
			g.Waited = max(now-since, 0) + 1
		}
		grantsPB[i] = g
	}
	cs.totals.Granted(app.Queue, &places)
	if attempt.LastSequence == 1 && !am {
		cs.totals.First(app.Queue, max(all[0].Waited-1, 0))
	}
	ref := ledger.AttemptRef(attempt.ID)
	for part := range slices.Chunk(grantsPB, maxTogether) {
		cs.Enter(&ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ref, Grants: part}})
	}
	cs.identify(attempt.ID.Attempt, first, am, decisions)
	granted := func(i int) *ledger.Container {
		c := app.Containers.Get(records.ContainerID{Attempt: attempt.ID, ID: first + int64(i)})
		setHandle(c, decisions[i].Container)
		soft.nodes[c.Node] = true
		return c
	}
	if am {
		cs.masterGranted(app, granted(0))
		return
	}
	deadline := cs.Now().Add(cs.Settings.AllocationExpiry)
	grants := make([]Grant, len(decisions))
	for i := range decisions {
		c := granted(i)
		grants[i] = session.GrantOf(c)
		cs.unstarted.Add(c.ID, deadline, cs.waitsForStart)
	}
	cs.AfterCommit(func() {
		soft.box.Grant(grants)
	})
}

// given notes an opportunistic container, which the scheduler doesn't know.
func (cs *containers) given(c *ledger.Container) {
	cs.apps[c.ID.Attempt.App].nodes[c.Node] = true
	cs.unstarted.Add(c.ID, cs.Now().Add(cs.Settings.AllocationExpiry), cs.waitsForStart)
}

// identify tells the driver what the containers are called that it has granted to an attempt.
func (cs *containers) identify(attempt int32, first int64, am bool, decisions []drive.Decision) {
	cs.handles = cs.handles[:0]
	for i := range decisions {
		cs.handles = append(cs.handles, decisions[i].Container)
	}
	cs.sched.Apply(&eventlog.Event{Op: eventlog.Identify, Attempt: attempt, First: first, AM: am, Containers: cs.handles})
}

// waitsForStart reports whether a container was granted and is neither started nor gone.
func (cs *containers) waitsForStart(id records.ContainerID) bool {
	c := cs.work.Container(id)
	return c != nil && c.State == ledger.ContainerAllocated
}
