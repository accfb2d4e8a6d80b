package leader

import (
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

// grantAll enters the containers that one application gets.
func (l *Leader) grantAll(soft *appSoft, decisions []scheduler.Decision) {
	app := l.work.Apps[soft.id]
	attempt := app.Current()
	am := attempt.State == ledger.AttemptScheduled
	cmd := &ledgerpb.ContainersAllocated{
		Attempt: ledger.AttemptRef(attempt.ID), Grants: make([]*ledgerpb.Grant, len(decisions)),
	}
	ids, now := make([]records.ContainerID, len(decisions)), l.now()
	for i := range decisions {
		d := &decisions[i]
		ids[i] = records.ContainerID{
			Attempt: attempt.ID, ID: l.epoch<<records.EpochShift | (attempt.LastSequence + int64(i) + 1),
		}
		cmd.Grants[i] = &ledgerpb.Grant{
			Id: ids[i].ID, Node: ledger.NodeRef(l.nodeOf[d.Node].id), Resource: ledger.Amounts(d.Resource),
			Priority: d.Priority, AllocationRequestId: d.AllocationRequestID, ExecutionType: int32(d.ExecutionType), Am: am,
		}
		since := attempt.StartTime
		if !am {
			since = soft.asked.take(d.Priority, d.AllocationRequestID)
		}
		if since > 0 {
			cmd.Grants[i].Waited = max(now-since, 0) + 1
		}
		l.containers[ids[i]] = d.Container
		soft.nodes[l.nodeOf[d.Node].id] = true
	}
	l.enter(&ledgerpb.Command{ContainersAllocated: cmd})
	if am {
		(&turn{l}).launch(app, app.Containers[ids[0]])
		return
	}
	deadline := l.Now().Add(l.Settings.AllocationExpiry)
	grants := make([]Grant, len(ids))
	for i, id := range ids {
		grants[i] = l.grant(app, app.Containers[id])
		l.unstarted = append(l.unstarted, unstarted{id: id, deadline: deadline})
	}
	l.after(func() {
		soft.grants = append(soft.grants, grants...)
		soft.session.wakeUp()
	})
}

// grant is what an application is told of a container.
func (l *Leader) grant(_ *ledger.Application, c *ledger.Container) Grant {
	g := Grant{
		ID: c.ID, Node: c.Node, Resource: c.Resource, Priority: c.Priority, AllocationRequestID: c.AllocationRequestID,
		ExecutionType: c.ExecutionType, Allocated: c.Allocated, AM: c.AM, Tags: c.Tags, Version: c.Version,
	}
	if n := l.work.Nodes[c.Node]; n != nil {
		g.NodeHTTPAddress = n.HTTPAddress()
	}
	return g
}
