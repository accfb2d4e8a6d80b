package capacity

import (
	"fmt"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// explainBlocked looks for an ask whose turn is earlier and that is larger than what its queue has left.
func (p *Policy) explainBlocked(a *core.App, d *core.Demand, r *explain.Reason) bool {
	if d.Reservations > 0 {
		return false
	}
	heads := p.blockers
	if heads == nil {
		heads = p.findBlockers()
	}
	if p.explaining {
		p.blockers = heads
	}
	at, known := heads[a.Leaf]
	switch {
	case !known:
		return false
	case at.from != nil && !p.s.Calc.Fits(&d.Size, &at.room):
		q := &p.s.Queues[p.s.Apps[at.from.App].Leaf]
		r.IsBehind(q.Cfg.Path, at.from.App)
		r.Because(explain.BehindOthers, fmt.Sprintf("what its queue could have is reserved for queue %s, where the ask of %s of %s is larger than what is left", r.Queue,
			explain.Another, p.s.Format(at.from.Capability)), "the end of containers until that ask fits, or its withdrawal")
		r.Lack(explain.Lacks(d.Size, at.room))
	case at.by != nil && at.by != d && p.earlier(at.by, a, d):
		app, whose := at.by.App, explain.Another
		if app == d.App && a.Live {
			app, whose = handle.NoApp, "the same application"
		}
		r.IsBehind(p.s.Queues[a.Leaf].Cfg.Path, app)
		r.Because(explain.BehindOthers, fmt.Sprintf("it is behind %s, whose ask of %s exceeds the %s that queue %s can still have", whose,
			p.s.Format(at.by.Capability), p.s.Format(at.room.Max(records.Resource{})), r.Queue),
			"the end of containers until that ask fits, its withdrawal, or a higher maximum-capacity")
	default:
		return false
	}
	return true
}

// earlier reports whether a demand is served before one of an application of the same leaf.
func (p *Policy) earlier(first *core.Demand, a *core.App, d *core.Demand) bool {
	switch {
	case !a.Live: // one that isn't there yet
		return true
	case first.App == d.App:
		return first.Compare(d.Priority, d.RequestID) < 0
	}
	return p.s.Rankings.Less(p.s.Queues[a.Leaf].Apps, p.s.Apps[first.App].El, a.El)
}

func (p *Policy) explainUser(leaf int32, u *core.User, r *explain.Reason) bool {
	q := &p.s.Queues[leaf]
	if !p.OverUserLimit(q, u) {
		return false
	}
	bound := p.s.Calc.Weighted(*p.limitOfUsers(q), u.Weight)
	r.Exceeds(q.Cfg.Path, u.Name, u.Used, bound, p.s.Calc.Measure(u.Used.Sub(bound)).Max(records.Resource{}))
	r.Because(explain.UserLimit, fmt.Sprintf("user %s has %s of queue %s, more than the limit of %s that each of its active users has now",
		r.User, p.s.Format(r.Used), r.Queue, p.s.Format(r.Bound)),
		"the end of containers of the user, less demand of the queue's other users, or a higher user-limit-factor or minimum-user-limit-percent")
	return true
}

// Explaining keeps who blocks leaves, and limits on ApplicationMasters, while applications are explained.
func (p *Policy) Explaining(on bool) {
	p.explaining, p.blockers, p.masters = on, nil, map[int32]mastersOf{}
}

// ExplainTurn looks at the limit of the user, and for requests that block the leaf.
func (p *Policy) ExplainTurn(a *core.App, u *core.User, d *core.Demand, r *explain.Reason) bool {
	return p.explainUser(a.Leaf, u, r) || p.explainBlocked(a, d, r)
}

func (p *Policy) ExplainUnreserved(*core.App, *core.Demand, *explain.Reason) {}

// mastersOf returns what limits on the ApplicationMasters of a leaf hang on.
func (p *Policy) mastersOf(leaf int32) mastersOf {
	m, ok := p.masters[leaf]
	if !ok {
		m = mastersOf{p.AMLimit(leaf), p.activeUsers(&p.s.Queues[leaf])}
	}
	if p.explaining {
		p.masters[leaf] = m
	}
	return m
}

// ExplainMasters looks at the limits of the leaf and of the user.
func (p *Policy) ExplainMasters(a *core.App, u *core.User, r *explain.Reason) bool {
	s := p.s
	q, masters := &s.Queues[a.Leaf], p.mastersOf(a.Leaf)
	switch {
	case s.NoNodes():
		return explain.HeldByNoNodes(s, a.Am, r)
	case p.mayActivate(q, a, u, &masters.limit, masters.users):
		return false
	case !s.Calc.Measure(q.AmUsed.Add(a.Am)).FitsIn(s.Calc.Measure(masters.limit)):
		explain.HeldByQueueMasters(s, a, masters.limit, r)
		return true
	}
	bound := p.userAMLimit(q, u, &masters.limit, masters.users)
	r.Exceeds(q.Cfg.Path, a.Spec.User, u.AmUsed, bound, s.Calc.Measure(u.AmUsed.Add(a.Am).Sub(bound)).Max(records.Resource{}))
	r.Because(explain.UserMasters, fmt.Sprintf("ApplicationMasters of user %s in queue %s have %s and may have %s; %s more is too much",
		r.User, r.Queue, s.Format(r.Used), s.Format(r.Bound), s.Format(a.Am)),
		"the end of an application of the user, a higher minimum-user-limit-percent or maximum-am-resource-percent")
	return true
}
