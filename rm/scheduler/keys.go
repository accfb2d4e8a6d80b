package scheduler

import (
	"math"

	"heddle/yarn/records"
)

// rule says by what an order is ordered.
type rule uint8

const (
	byUse            rule = iota // YARN's utilization: what is used of what is promised
	byPriorityAndUse             // priority-utilization: those below their promise first, then by priority, then by use
	byPriority                   // fifo: priority, then submission
	byAppUse                     // fair leaves of the CapacityScheduler: memory in use
	byFairness                   // fair of the FairScheduler
	byDominance                  // its drf
	byPlace                      // as configured
)

// key is by what a queue, user or application is ordered. That of a user is that of its first application.
type key struct {
	ratio    float64 // lower first
	promise  float64 // higher first, of equal ratios
	seq      int64   // submission, or place in the configuration; unique
	priority int32   // higher first
	rank     uint8   // lower first, whatever the rest says
}

// same is ==, which the compiler makes a call of.
func (k *key) same(o *key) bool {
	return k.ratio == o.ratio && k.promise == o.promise && k.seq == o.seq && k.priority == o.priority && k.rank == o.rank
}

// shares is a part of the cluster for each type of resource.
type shares [records.MaxResourceTypes]float64

// less reports whether one element is served before another.
func (e *elements) less(r rule, i, j int32) bool {
	a, b := &e.at[i].key, &e.at[j].key
	switch r {
	case byUse:
		if a.ratio != b.ratio {
			return a.ratio < b.ratio
		}
		if a.promise != b.promise {
			return a.promise > b.promise
		}
	case byPriorityAndUse, byPriority, byAppUse, byFairness:
		switch {
		case a.rank != b.rank:
			return a.rank < b.rank
		case a.priority != b.priority:
			return a.priority > b.priority
		case a.ratio != b.ratio:
			return a.ratio < b.ratio
		case a.promise != b.promise:
			return a.promise > b.promise
		}
	case byDominance:
		if a.rank != b.rank {
			return a.rank < b.rank
		}
		y := &e.shares[j]
		for t, x := range &e.shares[i] {
			if x != y[t] {
				return x < y[t]
			}
		}
	}
	if a.seq == b.seq { // users without applications to serve
		return e.at[i].ref < e.at[j].ref
	}
	return a.seq < b.seq
}

// never is the key of a user without applications to serve.
var never = key{rank: math.MaxUint8, priority: math.MinInt32, ratio: math.Inf(1), seq: math.MaxInt64}

// share is the part of the cluster that an amount is: of memory, or of the resource of which it is the largest.
func (s *Scheduler) share(r *records.Resource) float64 {
	return s.shareOf(r, &s.limitsOf)
}

func (s *Scheduler) shareOf(r, of *records.Resource) (most float64) {
	if s.memoryOnly {
		if of[records.Memory] <= 0 {
			return 0
		}
		return float64(r[records.Memory]) / float64(of[records.Memory])
	}
	for i := range s.types() {
		if n := r[i]; n > 0 && of[i] > 0 {
			most = max(most, float64(n)/float64(of[i]))
		}
	}
	return most
}

// queueKey computes the key of a queue among its siblings, and reports whether it has changed.
func (s *Scheduler) queueKey(q *runQueue, r rule) bool {
	k := &s.el.at[q.el].key
	before := *k
	switch r {
	case byUse, byPriorityAndUse:
		k.promise = float64(q.promise)
		k.ratio = 0
		if q.promised > 0 {
			k.ratio = float64(float32(s.share(&q.used) / q.promised))
		}
		if r == byPriorityAndUse {
			k.rank, k.priority = 0, q.cfg.Priority
			if k.ratio >= 1 {
				k.rank = 1
			}
		}
	case byFairness:
		s.fairKey(k, &q.used, &q.pending, &q.guaranteed, q.cfg.Fair.Weight)
	case byDominance:
		return s.dominantKey(k, &s.el.shares[q.el], &q.used, &q.guaranteed, q.cfg.Fair.Weight)
	}
	return !k.same(&before)
}

// seedKey sets what of an application's key hangs on nothing that it holds or asks for.
func (s *Scheduler) seedKey(a *app, r rule) {
	s.el.at[a.el].key, s.el.shares[a.el] = key{seq: a.spec.Seq}, shares{}
	if r == byPriority {
		s.el.at[a.el].key.priority = a.spec.Priority
	}
	s.appKey(a, r)
}

// appKey computes the key of an application in its leaf, and reports whether it has changed.
func (s *Scheduler) appKey(a *app, r rule) bool {
	k := &s.el.at[a.el].key
	before := *k
	switch r {
	case byAppUse:
		k.ratio = float64(a.used[records.Memory])
		if s.queues[a.leaf].cfg.SizeBasedWeight {
			k.ratio /= sizeWeight(a)
		}
	case byFairness:
		s.fairKey(k, &a.used, &a.pendingSum, &records.Resource{}, s.appWeight(a))
	case byDominance:
		return s.dominantKey(k, &s.el.shares[a.el], &a.used, &records.Resource{}, s.appWeight(a)) || !k.same(&before)
	}
	return !k.same(&before)
}

// userKey takes the key of a user from its first application, and reports whether it has changed.
func (s *Scheduler) userKey(u *user) (changed bool) {
	k, first := &never, s.el.first(&u.apps, ^mask(0))
	if first != nothing {
		k = &s.el.at[first].key
	}
	if mine := &s.el.at[u.el].key; !mine.same(k) {
		*mine, changed = *k, true
	}
	if u.apps.rule == byDominance {
		var of shares
		if first != nothing {
			of = s.el.shares[first]
		}
		if mine := &s.el.shares[u.el]; *mine != of {
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
func (s *Scheduler) fairKey(k *key, used, pending, least *records.Resource, weight float64) {
	m := used[records.Memory]
	low := min(least[records.Memory], m+pending[records.Memory])
	switch {
	case m < low:
		k.rank, k.ratio = 0, float64(m)/float64(max(low, 1))
	case weight > 0:
		k.rank, k.ratio = 1, float64(m)/weight
	default:
		k.rank, k.ratio = 2, float64(m)
	}
}

// dominantKey is YARN's DominantResourceFairnessPolicy: those first whose dominant resource is below its minimum share; then
// by shares of the cluster over weight, the largest first. It reports whether that has changed.
func (s *Scheduler) dominantKey(k *key, was *shares, used, least *records.Resource, weight float64) bool {
	var shares shares
	dominant, rank := 0, k.rank
	for i, n := range used {
		if s.limitsOf[i] > 0 {
			shares[i] = float64(n) / float64(s.limitsOf[i])
		}
		if shares[i] > shares[dominant] {
			dominant = i
		}
	}
	k.rank = 1
	if least[dominant] > used[dominant] {
		k.rank = 0
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
		k.rank = 2
	}
	descend(shares[:])
	if k.rank == rank && shares == *was {
		return false
	}
	*was = shares
	return true
}
