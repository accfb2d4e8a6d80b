package leader

import (
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// schedule has the driver decide, and carries its decisions out. Where containers must end, it decides again.
func (l *Leader) schedule() {
	l.grow()
	reserved := false
	for l.step(&reserved) {
		continue
	}
	if reserved {
		l.showReserved()
	}
}

// step has the driver decide once. It reports whether containers had to end.
func (l *Leader) step(reserved *bool) bool {
	granted, killed := l.granted[:0], l.killed[:0]
	decisions := l.sched.Step(l.Now().UnixMilli())
	for i := range decisions {
		d := &decisions[i]
		switch d.Kind {
		case drive.Allocate:
			soft := l.byHandle[d.App]
			if len(soft.granted) == 0 {
				granted = append(granted, soft)
			}
			soft.granted = append(soft.granted, *d)
		case drive.Kill:
			killed = append(killed, preempted{l.sched.ContainerID(d.Container), d.Reason})
		case drive.Tell:
			l.tellPreempted(d)
		case drive.Killable:
			l.preemptionLog(d).Info("may be killed when its room is needed: " + d.Reason)
		case drive.Reserve, drive.Unreserve:
			*reserved = true
			l.logReservation(d)
		}
	}
	l.granted, l.killed = granted, killed
	for _, soft := range granted {
		l.grantAll(soft, soft.granted)
		soft.granted = soft.granted[:0]
	}
	for i := range killed {
		(&turn{l}).killPreempted(&killed[i])
	}
	return len(killed) > 0
}

// maxTogether is how many containers one command is about at most, so that it leaves a batch room.
const maxTogether = 2048

// grantAll enters the containers that one application gets.
func (l *Leader) grantAll(soft *appSoft, decisions []drive.Decision) {
	app := l.work.Apps[soft.id]
	attempt := app.Current()
	am := attempt.State == ledger.AttemptScheduled
	grantsPB := make([]*ledgerpb.Grant, len(decisions))
	all := make([]ledgerpb.Grant, len(decisions)) // thousands come at a time
	first, now := l.epoch<<records.EpochShift|(attempt.LastSequence+1), l.Time()
	for i := range decisions {
		d := &decisions[i]
		g := &all[i]
		g.Id, g.Node, g.Resource = first+int64(i), l.nodeOf[d.Node].ref, l.refs.Amounts(d.Resource)
		g.Priority, g.AllocationRequestId, g.ExecutionType, g.Am = d.Priority, d.AllocationRequestID, int32(d.ExecutionType), am
		since := attempt.StartTime
		if !am {
			since = soft.asked.take(d.Priority, d.AllocationRequestID)
		}
		if since > 0 {
			g.Waited = max(now-since, 0) + 1
		}
		grantsPB[i] = g
	}
	ref := ledger.AttemptRef(attempt.ID)
	for part := range slices.Chunk(grantsPB, maxTogether) {
		l.Enter(&ledgerpb.Command{ContainersAllocated: &ledgerpb.ContainersAllocated{Attempt: ref, Grants: part}})
	}
	l.identify(attempt.ID.Attempt, first, am, decisions)
	granted := func(i int) *ledger.Container {
		c := app.Containers.Get(records.ContainerID{Attempt: attempt.ID, ID: first + int64(i)})
		handle(c, decisions[i].Container)
		soft.nodes[c.Node] = true
		return c
	}
	if am {
		(&turn{l}).spare(soft)
		(&turn{l}).launch(app, granted(0))
		return
	}
	deadline := l.Now().Add(l.Settings.AllocationExpiry)
	grants := make([]Grant, len(decisions))
	for i := range decisions {
		c := granted(i)
		grants[i] = l.grant(c)
		l.unstarted.add(c.ID, deadline, l.waitsForStart)
	}
	l.AfterCommit(func() {
		soft.grants = join(soft.grants, grants)
		soft.session.wakeUp()
	})
}

// identify tells the driver what the containers are called that it has granted to an attempt.
func (l *Leader) identify(attempt int32, first int64, am bool, decisions []drive.Decision) {
	handles := l.handles[:0]
	for i := range decisions {
		handles = append(handles, decisions[i].Container)
	}
	l.handles = handles
	l.sched.Identify(attempt, first, am, handles...)
}

// join appends to a list what the caller gives away, which becomes the list if there was nothing in it.
func join[T any](list, more []T) []T {
	if len(list) == 0 {
		return more
	}
	return append(list, more...)
}

// grant is what an application is told of a container that lives.
func (l *Leader) grant(c *ledger.Container) Grant {
	return Grant{
		ID: c.ID, Node: c.Node, Resource: c.Resource, Priority: c.Priority, AllocationRequestID: c.AllocationRequestID,
		ExecutionType: c.ExecutionType, Allocated: c.Allocated, AM: c.AM, Tags: c.Tags, Version: c.Version,
		NodeHTTPAddress: c.NodeHTTPAddress(),
	}
}
