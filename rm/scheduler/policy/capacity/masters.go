package capacity

import (
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
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

// wishes counts by users, as home knows them, the applications of a leaf that ask for something and wait to become active.
func (p *Policy) wishes(q *core.Queue) (of map[int32]int) {
	home := p.s.Home()
	p.s.Family(func(c *core.Core) {
		leaf, known := c.ByPath[q.Cfg.Path]
		if !known || len(c.Queues[leaf].Waiting) == 0 {
			return
		}
		if of == nil {
			of = map[int32]int{}
		}
		p.s.Passed += int64(len(c.Queues[leaf].Waiting))
		for _, h := range c.Queues[leaf].Waiting {
			if asks(p.s, h) {
				of[home.Apps[h].User]++
			}
		}
	})
	return of
}

// asks reports whether an application asks for something in any partition.
func asks(s *core.Core, h handle.App) (some bool) {
	s.Family(func(c *core.Core) { some = some || c.Has(h) && c.Apps[h].Pending > 0 })
	return some
}

func (p *Policy) activeUsersWith(q *core.Queue, wishes map[int32]int) (n int) {
	home := p.s.Home()
	leaf, known := home.ByPath[q.Cfg.Path]
	if !known {
		return 0
	}
	home.Rankings.All(&home.Queues[leaf].Inner, func(i int32) bool {
		ref := home.Rankings.Ref(i)
		if u := &home.Users[ref]; u.Wanting > 0 || u.Active == 0 || wishes[ref] > 0 {
			n++
		}
		return true
	})
	return n
}

// onlyWish reports whether a user counts as active for nothing but one waiting application. YARN tries an application for the
// first time before it knows what that asks for, and so without its user among the active ones.
func (p *Policy) onlyWish(a *core.App, wishes map[int32]int) bool {
	home, h := p.s.Home(), handle.App(p.s.Rankings.Ref(a.El))
	of := home.Apps[h].User
	u := &home.Users[of]
	return asks(p.s, h) && u.Wanting == 0 && u.Active > 0 && wishes[of] == 1
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
