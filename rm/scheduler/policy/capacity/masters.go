package capacity

import (
	"heddle/rm/scheduler/core"
	"heddle/yarn/records"
)

// userAMLimit returns what ApplicationMasters of one user of a leaf may have (Hadoop:
// AbstractLeafQueue.getUserAMResourceLimitPerPartition).
func (p *Policy) userAMLimit(q *core.Queue, u *core.User, limit *records.Resource, users int) records.Resource {
	return p.s.Calc.Smaller(p.userAMShare(q, u, users), *limit)
}

// userAMShare returns what a user's ApplicationMasters may have by the limits of users alone. Without a user it is that of one of weight 1.
func (p *Policy) userAMShare(q *core.Queue, u *core.User, users int) (out records.Resource) {
	part := max(float64(q.Cfg.UserLimit)/100, 1/float64(max(users, 1)))
	if u != nil {
		part = min(part*u.Weight, 1)
	}
	if q.Cfg.UserLimitFactor == -1 {
		part = 1
	} else {
		part *= float64(q.Cfg.UserLimitFactor)
	}
	for i, n := range q.Guaranteed {
		out[i] = p.s.Calc.StepUp(i, float64(n)*float64(q.Cfg.MaxAMShare)*part)
	}
	return out
}

// activeUsers counts the users of a leaf who want something, be it an ApplicationMaster for an application that waits to
// become active, and those whose applications all wait (Hadoop: UsersManager.getNumActiveUsers).
func (p *Policy) activeUsers(q *core.Queue) int { return p.activeUsersWith(q, p.wishes(q)) }

// wishes counts by users the applications of a leaf that ask for something and wait to become active.
func (p *Policy) wishes(q *core.Queue) map[int32]int {
	if len(q.Waiting) == 0 {
		return nil
	}
	of := map[int32]int{}
	p.s.Passed += int64(len(q.Waiting))
	for _, h := range q.Waiting {
		if a := &p.s.Apps[h]; a.Pending > 0 {
			of[a.User]++
		}
	}
	return of
}

func (p *Policy) activeUsersWith(q *core.Queue, wishes map[int32]int) (n int) {
	p.s.Orders.All(&q.Inner, func(i int32) bool {
		ref := p.s.Orders.Ref(i)
		if u := &p.s.Users[ref]; u.Wanting > 0 || u.Active == 0 || wishes[ref] > 0 {
			n++
		}
		return true
	})
	return n
}

// onlyWish reports whether a user counts as active for nothing but one waiting application. YARN tries an application for the
// first time before it knows what that asks for, and so without its user among the active ones.
func (p *Policy) onlyWish(a *core.App, wishes map[int32]int) bool {
	u := &p.s.Users[a.User]
	return a.Pending > 0 && u.Wanting == 0 && u.Active > 0 && wishes[a.User] == 1
}

// Activate makes the applications of a leaf active that the limits on ApplicationMasters admit. The first of a queue always is.
func (p *Policy) Activate(leaf int32) {
	q := &p.s.Queues[leaf]
	if p.s.NoNodes() {
		for _, h := range q.Waiting {
			p.s.Apps[h].Tried = true
		}
		return
	}
	wishes := p.wishes(q)
	limit, users := p.AMLimit(leaf), p.activeUsersWith(q, wishes)
	p.s.ActivateWaiting(leaf, func(a *core.App) bool {
		others := users
		if !a.Tried && p.onlyWish(a, wishes) {
			others--
		}
		a.Tried = true
		return p.mayActivate(q, a, &p.s.Users[a.User], &limit, others)
	})
}

// mayActivate reports whether the limits on ApplicationMasters admit an application, given the queue's and the number of
// active users.
func (p *Policy) mayActivate(q *core.Queue, a *core.App, u *core.User, limit *records.Resource, users int) bool {
	c := &p.s.Calc
	switch {
	case q.Active < 1 || c.Share(&q.AmUsed) <= 0 && (!c.Cluster.IsZero() || q.AmUsed.IsZero()):
		return true
	case !c.Measure(q.AmUsed.Add(a.Am)).FitsIn(c.Measure(*limit)):
		return false
	}
	return c.Measure(u.AmUsed.Add(a.Am)).FitsIn(c.Measure(p.userAMLimit(q, u, limit, users)))
}

// AMLimit returns what ApplicationMasters of a leaf may have: a share of what the queue can have now, or of its guarantee if that
// is more; on nodes with a label, of its guarantee (Hadoop: AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition).
func (p *Policy) AMLimit(leaf int32) (limit records.Resource) {
	q := &p.s.Queues[leaf]
	usable := q.Guaranteed
	if p.s.Tree.Label == "" {
		usable = p.s.Room(leaf)
	}
	if !p.s.Calc.Measure(q.Guaranteed).FitsIn(p.s.Calc.Measure(usable)) {
		usable = q.Guaranteed
	}
	for i, n := range usable {
		limit[i] = p.s.Calc.StepUp(i, float64(n)*float64(q.Cfg.MaxAMShare))
	}
	return limit
}

// UserAMShare: see userAMShare.
func (p *Policy) UserAMShare(q *core.Queue, u *core.User) records.Resource {
	return p.userAMShare(q, u, p.activeUsers(q))
}
