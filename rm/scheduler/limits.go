package scheduler

import (
	"math"

	"heddle/rm/queue"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// limitQueues computes what queues are promised and can have at most in the cluster as it is.
func (s *Scheduler) limitQueues() {
	s.changes++
	effective := s.tree.Effective(s.calc.Cluster)
	least := s.calc.Share(&s.cfg.Minimum)
	for h := range s.queues {
		q := &s.queues[h]
		switch {
		case !q.live:
		case q.made || s.tree.Kind == queue.FIFO:
			q.guaranteed, q.maximum, q.promise = records.Resource{}, q.cfg.Fair.Max.Of(s.calc.Cluster, s.calc.Cluster), 0
		default:
			e := &effective[q.cfg.Index]
			q.guaranteed, q.maximum, q.promise = e.Min, e.Max, e.AbsoluteCapacity
		}
		q.bounded = s.calc.Measure(q.maximum) != s.calc.Measure(s.calc.Cluster)
		q.promised = max(s.calc.Share(&q.guaranteed), least)
		if q.live && q.leaf {
			s.boundUsers(q)
		}
	}
}

// limited reports whether a queue is held to its maximum. Capacity queues also are where that is all there is, as reservations
// may count for more than is free.
func (s *Scheduler) limited(q *runQueue) bool { return q.bounded || s.capacity }

// room is what a queue can have in all: its maximum, or less where those above it have given to others (Hadoop:
// ResourceLimits).
func (s *Scheduler) room(h int32) records.Resource {
	q := &s.queues[h]
	if q.parent == order.Nothing {
		return q.maximum
	}
	above := &s.queues[q.parent]
	return s.room(q.parent).Sub(above.used).Add(q.used).Min(q.maximum)
}

// overUserLimit reports whether a user has more than its limit, so that nothing more is given to it. As in YARN what it asks
// for isn't counted: the limit may be passed by one container.
func (s *Scheduler) overUserLimit(q *runQueue, u *user) bool {
	if u.weight == 1 {
		// Most have no more than what they get in any case, whatever the others have.
		if !q.limitKnown && s.calc.Fits(&u.used, &q.userLeast) && s.calc.Fits(&u.used, &q.userMost) {
			return false
		}
		return s.calc.Less(s.limitOfUsers(q), &u.used)
	}
	limit := s.calc.Weighted(*s.limitOfUsers(q), u.weight)
	return s.calc.Less(&limit, &u.used)
}

// limitOfUsers is what a user of weight 1 may have, computed again if something has changed in the leaf.
func (s *Scheduler) limitOfUsers(q *runQueue) *records.Resource {
	if !q.limitKnown {
		q.userLimit, q.limitKnown = s.activeUserLimit(q), true
	}
	return &q.userLimit
}

// boundUsers computes what limits of users hang on that stays as it is while the cluster does.
func (s *Scheduler) boundUsers(q *runQueue) {
	q.capacity = s.calc.Larger(q.guaranteed, s.cfg.Minimum)
	q.userLeast = s.leastOfUser(q, &q.capacity)
	if q.cfg.UserLimitFactor == -1 || q.guaranteed.IsZero() {
		q.userMost = q.maximum
		return
	}
	for i := range s.calc.Types() {
		q.userMost[i] = int64(math.Floor(float64(q.capacity[i])*float64(q.cfg.UserLimitFactor) + 1e-6))
	}
}

// leastOfUser is the part of an amount that a user gets in any case.
func (s *Scheduler) leastOfUser(q *runQueue, of *records.Resource) (least records.Resource) {
	for i := range s.calc.Types() {
		least[i] = int64(math.Ceil(math.Floor(float64(of[i])*float64(q.cfg.UserLimit)+1e-6)/100 - 1e-6))
	}
	return least
}

// activeUserLimit is what a user of weight 1 may have while it asks for more (Hadoop: UsersManager.computeUserLimit). What
// active users have and one smallest container more is divided among them; minimum-user-limit-percent of the queue is the
// least, and user-limit-factor times the queue's capacity the most.
func (s *Scheduler) activeUserLimit(q *runQueue) records.Resource {
	return s.userLimitOf(q, &q.activeUsed, q.wanting)
}

// limitsOfAllUsers are what users of weight 1 may have beside all others of their leaves, also those who ask for nothing more
// (Hadoop: AbstractLeafQueue.getResourceLimitForAllUsers).
func (s *Scheduler) limitsOfAllUsers() map[int32]records.Resource {
	weights := map[int32]float64{}
	for i := range s.users {
		if u := &s.users[i]; u.total > 0 {
			weights[u.leaf] += u.weight
		}
	}
	limits := make(map[int32]records.Resource, len(weights))
	for leaf, w := range weights {
		q := &s.queues[leaf]
		limits[leaf] = s.userLimitOf(q, &q.used, w)
	}
	return limits
}

// userLimitOf divides what users have, and one smallest container more, by their weights.
func (s *Scheduler) userLimitOf(q *runQueue, have *records.Resource, weights float64) (limit records.Resource) {
	var current records.Resource
	for i := range s.calc.Types() {
		current[i] = s.calc.StepUp(i, float64(s.calc.Cluster[i])*max(0, q.shares))
		if weights > 0 {
			limit[i] = int64(math.Ceil(float64(have[i]+s.cfg.Minimum[i])/weights - 1e-6))
		}
	}
	least := &q.userLeast
	if !s.calc.Less(&current, &q.capacity) { // the queue has more than it is promised
		s.calc.Add(&current, &s.cfg.Minimum)
		current = s.leastOfUser(q, &current)
		least = &current
	}
	if s.calc.Less(&limit, least) {
		limit = *least
	}
	if s.calc.Less(&q.userMost, &limit) {
		limit = q.userMost
	}
	for i := range s.calc.Types() {
		limit[i] = s.calc.StepUp(i, float64(limit[i]))
	}
	return limit
}
