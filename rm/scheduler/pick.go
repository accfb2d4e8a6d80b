package scheduler

import (
	"math/bits"

	"heddle/yarn/records"
)

// pick finds the application in a queue whose turn it is to get a container of one of the open classes, or nothing. What
// it finds to have none is not looked at again until it changes.
func (s *Scheduler) pick(h int32, open mask) int32 {
	q := &s.queues[h]
	open &^= s.beyond(q, open)
	if open == 0 {
		return nothing
	}
	if q.leaf {
		return s.pickInLeaf(q, open)
	}
	for {
		i := s.el.first(&q.inner, open)
		if i == nothing {
			return nothing
		}
		if a := s.pick(s.el.at[i].ref, open); a != nothing {
			return a
		}
		s.el.setMask(i, s.el.at[i].own&^open)
	}
}

// beyond is the classes of which one more container would take a queue above its maximum.
func (s *Scheduler) beyond(q *runQueue, open mask) (m mask) {
	if !q.bounded {
		return 0
	}
	rest := q.maximum
	s.sub(&rest, &q.used)
	for left := open &^ (1 << sharedClass); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.fits(&s.classes.size[i], &rest) {
			m |= 1 << i
		}
	}
	return m
}

// belowMaximum reports whether a queue and those above it can have so much more.
func (s *Scheduler) belowMaximum(h int32, size *records.Resource) bool {
	for ; h != nothing; h = s.queues[h].parent {
		if q := &s.queues[h]; s.limited(q) {
			left := q.maximum
			if s.sub(&left, &q.used); !s.fits(size, &left) {
				return false
			}
		}
	}
	return true
}

// pickInLeaf looks at the users by the first application that each has, so that the search ends when no later user can have
// a better one.
func (s *Scheduler) pickInLeaf(q *runQueue, open mask) int32 {
	s.picked = open
	return s.firstInLeaf(q, open, nothing)
}

// firstInLeaf finds the first application of a leaf that has one of some classes, behind one if that is given, or nothing.
func (s *Scheduler) firstInLeaf(q *runQueue, want mask, after int32) int32 {
	best := nothing
	for i := s.el.first(&q.inner, want); i != nothing; i = s.el.next(i, want) {
		u := &s.users[s.el.at[i].ref]
		if best != nothing && !s.el.less(q.apps, i, s.apps[best].el) {
			break
		}
		if s.capacity && s.overUserLimit(q, u) {
			continue
		}
		e := nothing
		if after == nothing {
			e = s.el.first(&u.apps, want)
		} else {
			e = s.el.firstBehind(q.apps, u.apps.root, after, want)
		}
		if e != nothing {
			a := s.el.at[e].ref
			if best == nothing || s.el.less(q.apps, e, s.apps[best].el) {
				best = a
			}
		}
	}
	return best
}
