package capacity

import (
	"math"

	"heddle/rm/scheduler/core"
	"heddle/yarn/records"
)

// OverUserLimit reports whether a user has more than its limit, so that nothing more is given to it. As in YARN what it asks
// for isn't counted: the limit may be passed by one container.
func (p *Policy) OverUserLimit(q *core.Queue, u *core.User) bool {
	if p.forGuests {
		return p.overLimitOfGuests(q, u)
	}
	if u.Weight == 1 {
		// Most have no more than what they get in any case, whatever the others have.
		if !q.LimitKnown && p.s.Calc.Fits(&u.Used, &q.UserMinimum) && p.s.Calc.Fits(&u.Used, &q.UserMaximum) {
			return false
		}
		return p.s.Calc.LessOfWhole(p.limitOfUsers(q), &u.Used)
	}
	limit := p.s.Calc.Weighted(*p.limitOfUsers(q), u.Weight)
	return p.s.Calc.LessOfWhole(&limit, &u.Used)
}

// overLimitOfGuests is OverUserLimit for nodes that are shared with requests of others: user-limit-factor doesn't hold there.
func (p *Policy) overLimitOfGuests(q *core.Queue, u *core.User) bool {
	if q.Cfg.UserLimit >= 100 { // of all that the queue has
		return false
	}
	limit := p.s.Calc.Weighted(p.userLimitOf(q, &q.ActiveUsed, q.Wanting, &p.s.Calc.Cluster), u.Weight)
	return p.s.Calc.LessOfWhole(&limit, &u.Used)
}

// limitOfUsers returns what a user of weight 1 may have, computed again if something has changed in the leaf.
func (p *Policy) limitOfUsers(q *core.Queue) *records.Resource {
	if !q.LimitKnown {
		q.UserLimit, q.LimitKnown = p.UserLimit(q), true
	}
	return &q.UserLimit
}

// BoundUsers computes what limits of users hang on that stays as it is while the cluster does.
func (p *Policy) BoundUsers(q *core.Queue) {
	q.Capacity = p.s.Calc.Larger(q.Guaranteed, p.s.Config.Minimum)
	q.UserMinimum = p.minimumOfUser(q, &q.Capacity)
	if q.Cfg.UserLimitFactor == -1 || q.Guaranteed.IsZero() {
		q.UserMaximum = q.Maximum
		return
	}
	for i := range p.s.Calc.Types() {
		q.UserMaximum[i] = records.Whole(math.Floor(float64(q.Capacity[i])*float64(q.Cfg.UserLimitFactor) + 1e-6))
	}
}

// minimumOfUser returns the part of an amount that a user gets in any case.
func (p *Policy) minimumOfUser(q *core.Queue, of *records.Resource) (minimum records.Resource) {
	for i := range p.s.Calc.Types() {
		minimum[i] = records.Whole(math.Ceil(math.Floor(float64(of[i])*float64(q.Cfg.UserLimit)+1e-6)/100 - 1e-6))
	}
	return minimum
}

// UserLimit returns what a user of weight 1 may have while it asks for more (Hadoop: UsersManager.computeUserLimit). The
// use of active users plus one smallest container is divided among them; minimum-user-limit-percent of the queue is the
// minimum, and user-limit-factor times the queue's capacity the most.
func (p *Policy) UserLimit(q *core.Queue) records.Resource {
	return p.userLimitOf(q, &q.ActiveUsed, q.Wanting, &q.UserMaximum)
}

// UserLimitsOfAll returns what users of weight 1 may have beside all others of their leaves, also those who ask for nothing more
// (Hadoop: AbstractLeafQueue.getResourceLimitForAllUsers).
func (p *Policy) UserLimitsOfAll() map[int32]records.Resource {
	weights, home := map[int32]float64{}, p.s.Home()
	for i := range home.Users {
		if u := &home.Users[i]; u.Total > 0 {
			if leaf, known := p.s.ByPath[home.Queues[u.Leaf].Cfg.Path]; known {
				weights[leaf] += u.Weight
			}
		}
	}
	limits := make(map[int32]records.Resource, len(weights))
	for leaf, w := range weights {
		q := &p.s.Queues[leaf]
		limits[leaf] = p.userLimitOf(q, &q.Used, w, &q.UserMaximum)
	}
	return limits
}

// userLimitOf divides what users have, and one smallest container more, by their weights. most is what one may have at most.
func (p *Policy) userLimitOf(q *core.Queue, have *records.Resource, weights float64, most *records.Resource) (limit records.Resource) {
	var current records.Resource
	for i := range p.s.Calc.Types() {
		current[i] = p.s.Calc.StepUp(i, float64(p.s.Calc.Cluster[i])*max(0, q.Shares))
		if weights > 0 {
			limit[i] = records.Whole(math.Ceil(float64(have[i]+p.s.Config.Minimum[i])/weights - 1e-6))
		}
	}
	minimum := &q.UserMinimum
	if !p.s.Calc.Less(&current, &q.Capacity) { // the queue has more than it is guaranteed
		p.s.Calc.Add(&current, &p.s.Config.Minimum)
		current = p.minimumOfUser(q, &current)
		minimum = &current
	}
	if p.s.Calc.Less(&limit, minimum) {
		limit = *minimum
	}
	if p.s.Calc.Less(most, &limit) {
		limit = *most
	}
	for i := range p.s.Calc.Types() {
		limit[i] = p.s.Calc.StepUp(i, float64(limit[i]))
	}
	return limit
}
