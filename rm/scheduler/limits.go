package scheduler

import (
	"math"

	"heddle/rm/queue"
	"heddle/yarn/records"
)

// limitQueues computes what queues are promised and can have at most in the cluster as it is.
func (s *Scheduler) limitQueues() {
	s.changes++
	effective := s.tree.Effective(s.limitsOf)
	least := s.share(&s.cfg.Minimum)
	for h := range s.queues {
		q := &s.queues[h]
		switch {
		case !q.live:
		case q.made || s.tree.Kind == queue.FIFO:
			q.guaranteed, q.maximum, q.promise = records.Resource{}, q.cfg.Fair.Max.Of(s.limitsOf, s.limitsOf), 0
		default:
			e := &effective[q.cfg.Index]
			q.guaranteed, q.maximum, q.promise = e.Min, e.Max, e.AbsoluteCapacity
		}
		q.bounded = s.measure(q.maximum) != s.measure(s.limitsOf)
		q.promised = max(s.share(&q.guaranteed), least)
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
	if q.parent == nothing {
		return q.maximum
	}
	above := &s.queues[q.parent]
	return s.room(q.parent).Sub(above.used).Add(q.used).Min(q.maximum)
}

// stepUp rounds an amount up to a multiple of the smallest container. Fractions are treated as YARN's calculators do, which
// keeps rounding errors of shares from adding a step.
func (s *Scheduler) stepUp(i int, x float64) int64 {
	n := int64(math.Ceil(float64(float32(x))))
	if s.memoryOnly {
		n = int64(x + 0.5)
	}
	if m := s.cfg.Minimum[i]; m > 1 {
		n = (n + m - 1) / m * m
	}
	return n
}

func (s *Scheduler) stepDown(i int, x float64) int64 {
	n := int64(x + 1e-6)
	if m := s.cfg.Minimum[i]; m > 0 {
		n = n / m * m
	}
	return n
}

// less compares amounts by the shares of the cluster that they are, the largest first.
func (s *Scheduler) less(a, b *records.Resource) bool {
	if s.memoryOnly {
		return a[records.Memory] < b[records.Memory]
	}
	// Mostly one is the larger of every type, which needs no shares.
	var above, below bool
	for i := range s.types() {
		if s.limitsOf[i] > 0 {
			below = below || a[i] < b[i]
			above = above || a[i] > b[i]
		}
	}
	if !above || !below {
		return below
	}
	x, y := s.shares(a), s.shares(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// shares is what part of the cluster an amount is of each resource, the largest first.
func (s *Scheduler) shares(r *records.Resource) (out shares) {
	for i := range s.types() {
		if n := r[i]; n != 0 && s.limitsOf[i] > 0 {
			out[i] = float64(n) / float64(s.limitsOf[i])
		}
	}
	descend(out[:s.types()])
	return out
}

// descend sorts shares, which are few and mostly in order.
func descend(shares []float64) {
	for i := 1; i < len(shares); i++ {
		for j := i; j > 0 && shares[j] > shares[j-1]; j-- {
			shares[j], shares[j-1] = shares[j-1], shares[j]
		}
	}
}

func (s *Scheduler) larger(a, b records.Resource) records.Resource {
	if s.less(&a, &b) {
		return b
	}
	return a
}

func (s *Scheduler) smaller(a, b records.Resource) records.Resource {
	if s.less(&b, &a) {
		return b
	}
	return a
}

// overUserLimit reports whether a user has more than its limit, so that nothing more is given to it. As in YARN what it asks
// for isn't counted: the limit may be passed by one container.
func (s *Scheduler) overUserLimit(q *runQueue, u *user) bool {
	if u.weight == 1 {
		// Most have no more than what they get in any case, whatever the others have.
		if !q.limitKnown && s.fits(&u.used, &q.userLeast) && s.fits(&u.used, &q.userMost) {
			return false
		}
		return s.less(s.limitOfUsers(q), &u.used)
	}
	limit := s.weighted(*s.limitOfUsers(q), u.weight)
	return s.less(&limit, &u.used)
}

// limitOfUsers is what a user of weight 1 may have, computed again if something has changed in the leaf.
func (s *Scheduler) limitOfUsers(q *runQueue) *records.Resource {
	if !q.limitKnown {
		q.userLimit, q.limitKnown = s.activeUserLimit(q), true
	}
	return &q.userLimit
}

func (s *Scheduler) weighted(limit records.Resource, weight float64) records.Resource {
	for i := range limit {
		limit[i] = s.stepDown(i, float64(limit[i])*weight)
	}
	return limit
}

// boundUsers computes what limits of users hang on that stays as it is while the cluster does.
func (s *Scheduler) boundUsers(q *runQueue) {
	q.capacity = s.larger(q.guaranteed, s.cfg.Minimum)
	q.userLeast = s.leastOfUser(q, &q.capacity)
	if q.cfg.UserLimitFactor == -1 || q.guaranteed.IsZero() {
		q.userMost = q.maximum
		return
	}
	for i := range s.types() {
		q.userMost[i] = int64(math.Floor(float64(q.capacity[i])*float64(q.cfg.UserLimitFactor) + 1e-6))
	}
}

// leastOfUser is the part of an amount that a user gets in any case.
func (s *Scheduler) leastOfUser(q *runQueue, of *records.Resource) (least records.Resource) {
	for i := range s.types() {
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
	for i := range s.types() {
		current[i] = s.stepUp(i, float64(s.limitsOf[i])*max(0, q.shares))
		if weights > 0 {
			limit[i] = int64(math.Ceil(float64(have[i]+s.cfg.Minimum[i])/weights - 1e-6))
		}
	}
	least := &q.userLeast
	if !s.less(&current, &q.capacity) { // the queue has more than it is promised
		s.add(&current, &s.cfg.Minimum)
		current = s.leastOfUser(q, &current)
		least = &current
	}
	if s.less(&limit, least) {
		limit = *least
	}
	if s.less(&q.userMost, &limit) {
		limit = q.userMost
	}
	for i := range s.types() {
		limit[i] = s.stepUp(i, float64(limit[i]))
	}
	return limit
}
