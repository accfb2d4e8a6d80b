package scheduler

import (
	"math"

	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// queueKey computes the key of a queue among its siblings, and reports whether it has changed.
func (s *Scheduler) queueKey(q *runQueue, r order.Rule) bool {
	k := s.el.Key(q.el)
	before := *k
	switch r {
	case order.ByUse, order.ByPriorityAndUse:
		k.Promise = float64(q.promise)
		k.Ratio = 0
		if q.promised > 0 {
			k.Ratio = float64(float32(s.calc.Share(&q.used) / q.promised))
		}
		if r == order.ByPriorityAndUse {
			k.Rank, k.Priority = 0, q.cfg.Priority
			if k.Ratio >= 1 {
				k.Rank = 1
			}
		}
	case order.ByFairness:
		s.fairKey(k, &q.used, &q.pending, &q.guaranteed, q.cfg.Fair.Weight)
	case order.ByDominance:
		return s.dominantKey(k, s.el.Shares(q.el), &q.used, &q.guaranteed, q.cfg.Fair.Weight)
	}
	return !k.Same(&before)
}

// seedKey sets what of an application's key hangs on nothing that it holds or asks for.
func (s *Scheduler) seedKey(a *app, r order.Rule) {
	s.el.Reset(a.el, a.spec.Seq)
	if r == order.ByPriority {
		s.el.Key(a.el).Priority = a.spec.Priority
	}
	s.appKey(a, r)
}

// appKey computes the key of an application in its leaf, and reports whether it has changed.
func (s *Scheduler) appKey(a *app, r order.Rule) bool {
	k := s.el.Key(a.el)
	before := *k
	switch r {
	case order.ByAppUse:
		k.Ratio = float64(a.used[records.Memory])
		if s.queues[a.leaf].cfg.SizeBasedWeight {
			k.Ratio /= sizeWeight(a)
		}
	case order.ByFairness:
		s.fairKey(k, &a.used, &a.pendingSum, &records.Resource{}, s.appWeight(a))
	case order.ByDominance:
		return s.dominantKey(k, s.el.Shares(a.el), &a.used, &records.Resource{}, s.appWeight(a)) || !k.Same(&before)
	}
	return !k.Same(&before)
}

// userKey takes the key of a user from its first application, and reports whether it has changed.
func (s *Scheduler) userKey(u *user) (changed bool) {
	k, first := &order.Never, s.el.First(&u.apps, ^order.Mask(0))
	if first != order.Nothing {
		k = s.el.Key(first)
	}
	if mine := s.el.Key(u.el); !mine.Same(k) {
		*mine, changed = *k, true
	}
	if u.apps.Rule == order.ByDominance {
		var of measure.Shares
		if first != order.Nothing {
			of = *s.el.Shares(first)
		}
		if mine := s.el.Shares(u.el); *mine != of {
			*mine, changed = of, true
		}
	}
	return changed
}

// appWeight is the weight of an application under the FairScheduler.
func (s *Scheduler) appWeight(a *app) float64 {
	if s.tree.Settings.Fair.SizeBasedWeight {
		return sizeWeight(a)
	}
	return 1
}

// sizeWeight lets an application weigh by the logarithm of the memory that it has and asks for.
func sizeWeight(a *app) float64 {
	return max(1, math.Log1p(float64(a.used[records.Memory]+a.pendingSum[records.Memory]))/math.Ln2)
}

// fairKey is YARN's FairSharePolicy: those below their minimum share first, by how far; then by memory over weight.
func (s *Scheduler) fairKey(k *order.Key, used, pending, least *records.Resource, weight float64) {
	m := used[records.Memory]
	low := min(least[records.Memory], m+pending[records.Memory])
	switch {
	case m < low:
		k.Rank, k.Ratio = 0, float64(m)/float64(max(low, 1))
	case weight > 0:
		k.Rank, k.Ratio = 1, float64(m)/weight
	default:
		k.Rank, k.Ratio = 2, float64(m)
	}
}

// dominantKey is YARN's DominantResourceFairnessPolicy: those first whose dominant resource is below its minimum share; then
// by shares of the cluster over weight, the largest first. It reports whether that has changed.
func (s *Scheduler) dominantKey(k *order.Key, was *measure.Shares, used, least *records.Resource, weight float64) bool {
	var shares measure.Shares
	dominant, rank := 0, k.Rank
	for i, n := range used {
		if s.calc.Cluster[i] > 0 {
			shares[i] = float64(n) / float64(s.calc.Cluster[i])
		}
		if shares[i] > shares[dominant] {
			dominant = i
		}
	}
	k.Rank = 1
	if least[dominant] > used[dominant] {
		k.Rank = 0
		for i, n := range used {
			shares[i] = 1
			if least[i] > 0 {
				shares[i] = float64(n) / float64(least[i])
			}
		}
	} else if weight > 0 {
		for i := range shares {
			shares[i] /= weight
		}
	} else {
		k.Rank = 2
	}
	measure.Descend(shares[:])
	if k.Rank == rank && shares == *was {
		return false
	}
	*was = shares
	return true
}
