package ranking

import "math"

// Rule says by what a ranking is ordered.
type Rule uint8

// Rules. Where keys are equal by a rule, the earlier submission, or place in the configuration, decides.
const (
	ByUse            Rule = iota // YARN's utilization: what is used of what is guaranteed
	ByPriorityAndUse             // priority-utilization: those below their guarantee first, then by priority, then by use
	ByPriority                   // fifo: priority, then submission
	ByAppUse                     // fair leaves of the CapacityScheduler: memory in use
	ByFairness                   // fair of the FairScheduler
	ByDominance                  // its drf
	ByPlace                      // as configured
	ByRatio                      // a leaf policy that isn't built in: what it says of each application (package leaf)
)

// Key is by what a queue, user or application is ordered. That of a user is that of its first application.
type Key struct {
	Ratio    float64 // lower first
	Capacity float64 // higher first, of equal ratios
	Seq      int64   // submission, or place in the configuration; unique
	Priority int32   // higher first
	Rank     uint8   // lower first, whatever the rest says
}

// Same is ==, which the compiler makes a call of.
func (k *Key) Same(o *Key) bool {
	return k.Ratio == o.Ratio && k.Capacity == o.Capacity && k.Seq == o.Seq && k.Priority == o.Priority && k.Rank == o.Rank
}

// Place sets what is compared first, and reports whether that has changed it.
func (k *Key) Place(rank uint8, ratio float64) bool {
	if k.Rank == rank && k.Ratio == ratio {
		return false
	}
	k.Rank, k.Ratio = rank, ratio
	return true
}

// Less reports whether one element is served before another.
func (e *Arena) Less(r Rule, i, j int32) bool {
	a, b := &e.at[i].key, &e.at[j].key
	switch r {
	case ByUse:
		if a.Ratio != b.Ratio {
			return a.Ratio < b.Ratio
		}
		if a.Capacity != b.Capacity {
			return a.Capacity > b.Capacity
		}
	case ByPriorityAndUse, ByPriority, ByAppUse, ByFairness, ByRatio:
		switch {
		case a.Rank != b.Rank:
			return a.Rank < b.Rank
		case a.Priority != b.Priority:
			return a.Priority > b.Priority
		case a.Ratio != b.Ratio:
			return a.Ratio < b.Ratio
		case a.Capacity != b.Capacity:
			return a.Capacity > b.Capacity
		}
	case ByDominance:
		if a.Rank != b.Rank {
			return a.Rank < b.Rank
		}
		y := &e.shares[j]
		for t, x := range &e.shares[i] {
			if x != y[t] {
				return x < y[t]
			}
		}
	}
	if a.Seq == b.Seq { // users without applications to serve
		return e.at[i].ref < e.at[j].ref
	}
	return a.Seq < b.Seq
}

// Never is the key of a user without applications to serve.
var Never = Key{Rank: math.MaxUint8, Priority: math.MinInt32, Ratio: math.Inf(1), Seq: math.MaxInt64}
