package core

import (
	"math/bits"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Search finds the application whose turn it is, or nothing, for orders in which no request blocks others.
func (s *Core) Search() int32 { return s.search(Root, s.Classes.Opened()) }

// search finds the application in a queue whose turn it is to get a container of one of the open classes, or nothing.
// Queues and applications without a request that fits are not searched again until they change.
func (s *Core) search(h int32, open ranking.Mask) int32 {
	q := &s.Queues[h]
	open &^= s.beyond(q, open)
	if open == 0 {
		return ranking.Nothing
	}
	if q.Leaf {
		s.Picked = open
		return s.FirstInLeaf(q, open, ranking.Nothing)
	}
	for {
		i := s.Rankings.First(&q.Inner, open)
		if i == ranking.Nothing {
			return ranking.Nothing
		}
		if a := s.search(s.Rankings.Ref(i), open); a != ranking.Nothing {
			return a
		}
		s.Rankings.SetMask(i, s.Rankings.Own(i)&^open)
	}
}

// beyond returns the classes of which one more container would take a queue above its maximum.
func (s *Core) beyond(q *Queue, open ranking.Mask) (m ranking.Mask) {
	if !q.Bounded {
		return 0
	}
	rest := q.Maximum
	s.Calc.Sub(&rest, &q.Used)
	for left := open &^ (1 << class.Shared); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.Calc.Fits(s.Classes.Size(i), &rest) {
			m |= 1 << i
		}
	}
	return m
}

// BelowMaximum reports whether a queue and those above it can have so much more.
func (s *Core) BelowMaximum(h int32, size *records.Resource) bool {
	for ; h != ranking.Nothing; h = s.Queues[h].Parent {
		if q := &s.Queues[h]; s.Limited(q) {
			left := q.Maximum
			if s.Calc.Sub(&left, &q.Used); !s.Calc.Fits(size, &left) {
				return false
			}
		}
	}
	return true
}

// FirstInLeaf finds the first application of a leaf that has one of some classes, behind one if that is given, or nothing. It looks at the
// users by the first application that each has, and ends when no later user can have a better one.
func (s *Core) FirstInLeaf(q *Queue, want ranking.Mask, after int32) int32 {
	best := ranking.Nothing
	for i := s.Rankings.First(&q.Inner, want); i != ranking.Nothing; i = s.Rankings.Next(i, want) {
		u := &s.Users[s.Rankings.Ref(i)]
		if best != ranking.Nothing && !s.Rankings.Less(q.Apps, i, s.Apps[best].El) {
			break
		}
		if s.Rules.UserLimits && s.Policy.OverUserLimit(q, u) {
			continue
		}
		e := ranking.Nothing
		if after == ranking.Nothing {
			e = s.Rankings.First(&u.Apps, want)
		} else {
			e = s.Rankings.FirstBehind(&u.Apps, after, want)
		}
		if e != ranking.Nothing {
			a := s.Rankings.Ref(e)
			if best == ranking.Nothing || s.Rankings.Less(q.Apps, e, s.Apps[best].El) {
				best = a
			}
		}
	}
	return best
}

// offers returns the mask of a queue's element.
func (s *Core) offers(q *Queue) ranking.Mask {
	m := s.Rankings.Offers(&q.Inner)
	if s.Rules.Blocking && q.Bounded && m&class.Tight == 0 {
		room := q.Maximum.Sub(q.Used)
		if s.Exceeding(m, &room) != 0 {
			m |= class.Tight
		}
	}
	return m
}

// Exceeding returns the classes of a mask that don't fit into an amount. The shared one is never among them.
func (s *Core) Exceeding(m ranking.Mask, room *records.Resource) (out ranking.Mask) {
	for left := m & s.Classes.Taken(); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.Calc.Fits(s.Classes.Size(i), room) {
			out |= 1 << i
		}
	}
	return out
}
