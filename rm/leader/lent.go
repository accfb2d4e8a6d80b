package leader

import (
	"slices"

	"heddle/rm/leader/lending"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// lentNodes carries what is lent to the scheduler and to nodes.
type lentNodes struct{ *core }

func (l lentNodes) SetCapability(id records.NodeID, r records.Resource) {
	if n := l.nodes[id]; n != nil {
		l.sched.Apply(&eventlog.Event{Op: eventlog.SetCapability, Node: n.handle, Resource: eventlog.Amounts(r)})
	}
}

func (l lentNodes) Box(id records.NodeID) lending.Box {
	if n := l.nodes[id]; n != nil && n.session != nil {
		return &n.session.box
	}
	return nil
}

// isLong reports whether an application's tasks are long, and may be suspended.
func (c *core) isLong(id records.ApplicationID) (long, may bool) {
	long = c.apps[id] != nil && c.apps[id].longTasks
	return long, long && !slices.Contains(c.work.Apps[id].Context.GetApplicationTags(), NeverSuspend)
}

// tellOfProbes adds the nodes that take probes and that an ApplicationMaster hasn't been told of. They hear when the application ends.
func (ms *masters) tellOfProbes(s *amSession, call *AllocateCall, reply *AllocateReply) error {
	if call.Probes {
		reply.ProbeNodes, reply.ProbesGone = ms.loans.News(&s.probes)
	}
	if len(reply.ProbeNodes) == 0 {
		return nil
	}
	return ms.Do(func() error {
		for _, n := range reply.ProbeNodes {
			if soft := ms.nodes[n.ID]; soft != nil {
				ms.appOnNode(soft, s.id.App)
			}
		}
		return nil
	})
}
