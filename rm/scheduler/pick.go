package scheduler

import (
	"math/bits"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// pick finds the application in a queue whose turn it is to get a container of one of the open classes, or nothing. What
// it finds to have none is not looked at again until it changes.
func (s *Scheduler) pick(h int32, open order.Mask) int32 {
	q := &s.queues[h]
	open &^= s.beyond(q, open)
	if open == 0 {
		return order.Nothing
	}
	if q.leaf {
		return s.pickInLeaf(q, open)
	}
	for {
		i := s.el.First(&q.inner, open)
		if i == order.Nothing {
			return order.Nothing
		}
		if a := s.pick(s.el.Ref(i), open); a != order.Nothing {
			return a
		}
		s.el.SetMask(i, s.el.Own(i)&^open)
	}
}

// beyond is the classes of which one more container would take a queue above its maximum.
func (s *Scheduler) beyond(q *runQueue, open order.Mask) (m order.Mask) {
	if !q.bounded {
		return 0
	}
	rest := q.maximum
	s.calc.Sub(&rest, &q.used)
	for left := open &^ (1 << class.Shared); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.calc.Fits(s.classes.Size(i), &rest) {
			m |= 1 << i
		}
	}
	return m
}

// belowMaximum reports whether a queue and those above it can have so much more.
func (s *Scheduler) belowMaximum(h int32, size *records.Resource) bool {
	for ; h != order.Nothing; h = s.queues[h].parent {
		if q := &s.queues[h]; s.limited(q) {
			left := q.maximum
			if s.calc.Sub(&left, &q.used); !s.calc.Fits(size, &left) {
				return false
			}
		}
	}
	return true
}

// pickInLeaf looks at the users by the first application that each has, so that the search ends when no later user can have
// a better one.
func (s *Scheduler) pickInLeaf(q *runQueue, open order.Mask) int32 {
	s.picked = open
	return s.firstInLeaf(q, open, order.Nothing)
}

// firstInLeaf finds the first application of a leaf that has one of some classes, behind one if that is given, or nothing.
func (s *Scheduler) firstInLeaf(q *runQueue, want order.Mask, after int32) int32 {
	best := order.Nothing
	for i := s.el.First(&q.inner, want); i != order.Nothing; i = s.el.Next(i, want) {
		u := &s.users[s.el.Ref(i)]
		if best != order.Nothing && !s.el.Less(q.apps, i, s.apps[best].el) {
			break
		}
		if s.capacity && s.overUserLimit(q, u) {
			continue
		}
		e := order.Nothing
		if after == order.Nothing {
			e = s.el.First(&u.apps, want)
		} else {
			e = s.el.FirstBehind(&u.apps, after, want)
		}
		if e != order.Nothing {
			a := s.el.Ref(e)
			if best == order.Nothing || s.el.Less(q.apps, e, s.apps[best].el) {
				best = a
			}
		}
	}
	return best
}
