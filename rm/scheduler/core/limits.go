package core

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// limitQueues computes what queues are guaranteed and can have at most in the cluster as it is.
func (s *Core) limitQueues() {
	s.Changes++
	s.reviewReservations()
	effective := s.Tree.Effective(s.Calc.Cluster)
	least := s.Calc.Share(&s.Config.Minimum)
	for h := range s.Queues {
		q := &s.Queues[h]
		if q.Live {
			s.Policy.Bound(q, effective)
		}
		q.Bounded = s.Calc.Measure(q.Maximum) != s.Calc.Measure(s.Calc.Cluster)
		q.GuaranteedShare = max(s.Calc.Share(&q.Guaranteed), least)
		if q.Live && q.Leaf {
			s.Policy.BoundUsers(q)
		}
	}
}

// BoundByShares sets the limits of a queue by its share of the cluster. One that was made for an application is guaranteed nothing.
func (s *Core) BoundByShares(q *Queue, shares []queue.Share) {
	if q.made {
		q.Guaranteed, q.Maximum, q.AbsoluteCapacity = records.Resource{}, q.Cfg.Fair.Max.Of(s.Calc.Cluster, s.Calc.Cluster), 0
		return
	}
	e := &shares[q.Cfg.Index]
	q.Guaranteed, q.Maximum, q.AbsoluteCapacity = e.Min, e.Max, e.AbsoluteCapacity
}

// Limited reports whether a queue is held to its maximum. Capacity queues also are where that is all there is, as reservations
// may count for more than is free.
func (s *Core) Limited(q *Queue) bool { return q.Bounded || s.Rules.ReservedIsUsed }

// Room returns what a queue can have in all: its maximum, or less where those above it have given to others (Hadoop:
// ResourceLimits).
func (s *Core) Room(h int32) records.Resource {
	q := &s.Queues[h]
	if q.Parent == ranking.Nothing {
		return q.Maximum
	}
	above := &s.Queues[q.Parent]
	return s.Room(q.Parent).Sub(above.Used).Add(q.Used).Min(q.Maximum)
}
