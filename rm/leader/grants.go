package leader

import (
	"slices"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// schedule has the scheduler place what it can, and enters its decisions. Where it has containers end for others, it places
// again.
func (l *Leader) schedule() {
	l.grow()
	for reserved := false; ; {
		claimed := l.decide(&reserved)
		if !(&turn{l}).killClaimed(claimed) {
			if reserved {
				l.showReserved()
			}
			return
		}
	}
}

// decide has the scheduler decide once. It returns the containers that must end.
func (l *Leader) decide(reserved *bool) (claimed []scheduler.ContainerHandle) {
	granted := l.granted[:0]
	for _, d := range l.sched.Schedule(l.Now().UnixMilli()) {
		switch d.Kind {
		case scheduler.Allocate:
		case scheduler.Kill:
			claimed = append(claimed, d.Container)
			continue
		default:
			*reserved = *reserved || d.Kind == scheduler.Reserve || d.Kind == scheduler.Unreserve
			continue
		}
		soft := l.byHandle[d.App]
		if len(soft.granted) == 0 {
			granted = append(granted, soft)
		}
		soft.granted = append(soft.granted, d)
	}
	l.granted = granted
	for _, soft := range granted {
		l.grantAll(soft, soft.granted)
		soft.granted = soft.granted[:0]
	}
	return claimed
}

// maxTogether is how many containers one command is about at most, so that it leaves a batch room.
const maxTogether = 2048

// grantAll enters the containers that one application gets.
func (l *Leader) grantAll(soft *appSoft, decisions []scheduler.Decision) {
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
