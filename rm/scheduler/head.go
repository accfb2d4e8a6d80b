package scheduler

import (
	"math/bits"

	"heddle/yarn/records"
)

// In capacity queues nobody overtakes an ask whose turn it is and that fits below the maximum of its queues, but not into
// what they have left of it: its leaf gives nothing to those behind it, of the same application and of others, and what
// the leaf could still have is kept from its siblings that come later. So large asks are served in their turn where small
// ones would take what becomes free before it is enough (Hadoop: RegularContainerAllocator.checkHeadroom,
// CSAssignment.SkippedType.QUEUE_LIMIT, ResourceLimits.addBlockedHeadroom). An ask that is larger than a maximum itself is
// passed over, unlike in YARN, where it stops its leaf for good.

// verdict is what became of a search in a queue.
type verdict uint8

const (
	found   verdict = iota // an application to be served
	idle                   // nothing to serve, however much room there were
	shut                   // nothing to serve in the room that there is
	blocked                // the ask whose turn it is is too large for it
)

// next finds the application whose turn it is, or nothing.
func (s *Scheduler) next() int32 {
	open := s.classes.open
	if !s.capacity {
		return s.pick(root, open)
	}
	if s.el.subOf(s.queues[root].inner.root)&open == 0 {
		return nothing
	}
	w := walk{s: s}
	room := s.limitsOf
	if a, _, v := w.in(root, open, 0, &room); v == found {
		return a
	}
	return nothing
}

// offers is the mask of a queue's element.
func (s *Scheduler) offers(q *runQueue) mask {
	m := s.el.subOf(q.inner.root)
	if s.capacity && q.bounded && m&tight == 0 {
		room := q.maximum.Sub(q.used)
		if s.exceeding(m, &room) != 0 {
			m |= tight
		}
	}
	return m
}

// exceeding is the classes of a mask that don't fit into an amount. The shared one is never among them.
func (s *Scheduler) exceeding(m mask, room *records.Resource) (out mask) {
	for left := m & s.classes.taken; left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.fits(&s.classes.size[i], room) {
			out |= 1 << i
		}
	}
	return out
}

// spent reports whether a queue that uses something has nothing left (Hadoop: AbstractCSQueue.canAssignToThisQueue, which
// compares dominant shares).
func (s *Scheduler) spent(used, room *records.Resource) bool {
	some, all := false, true
	for i := range s.types() {
		if s.limitsOf[i] > 0 && (i == records.Memory || !s.memoryOnly) {
			some, all = some || room[i] > 0, all && room[i] > 0
		}
	}
	if some == all {
		return !some
	}
	limit := used.Add(*room)
	return !s.less(used, &limit)
}

// walk is a search for the application whose turn it is.
type walk struct {
	s *Scheduler
	// For explanations: nothing is found and no mask is lowered, and each leaf is told.
	leaf func(h int32, room records.Resource, by *demand)
	by   *demand // the last that blocked a leaf
}

// in looks in a queue that has at most so much room left above it. exceed are classes that are known to be larger. kept is
// what a blocked queue keeps from its later siblings.
func (w *walk) in(h int32, open, exceed mask, above *records.Resource) (a int32, kept records.Resource, v verdict) {
	s := w.s
	q := &s.queues[h]
	room := *above
	if q.bounded {
		own := q.maximum
		s.sub(&own, &q.used)
		if s.spent(&q.used, &own) {
			w.pass(h, &own)
			return nothing, kept, idle
		}
		for i := range s.types() {
			room[i] = min(room[i], own[i])
		}
	} else if h == root {
		s.sub(&room, &q.used)
	}
	if s.spent(&q.used, &room) {
		w.pass(h, &room)
		return nothing, kept, shut
	}
	exceed |= s.exceeding(s.el.subOf(q.inner.root)&^exceed, &room)
	open &^= exceed
	if !q.leaf {
		return w.below(q, open, exceed, &room)
	}
	a, v = w.inLeaf(h, q, open, exceed, &room)
	if w.leaf != nil {
		by := w.by
		if v != blocked {
			by = nil
		}
		w.leaf(h, room, by)
	}
	if v == blocked {
		for i := range s.types() {
			if i == records.Memory || !s.memoryOnly {
				kept[i] = max(room[i], 0)
			}
		}
	}
	return a, kept, v
}

// pass tells of the leaves of a queue that has nothing left, and so blocks nobody.
func (w *walk) pass(h int32, room *records.Resource) {
	q := &w.s.queues[h]
	switch {
	case w.leaf == nil:
	case q.leaf:
		w.leaf(h, *room, nil)
	default:
		for _, c := range q.below {
			w.pass(c, room)
		}
	}
}

// below looks in the children of a queue.
func (w *walk) below(q *runQueue, open, exceed mask, room *records.Resource) (a int32, kept records.Resource, v verdict) {
	s := w.s
	v = idle
	left := *room
	want := open | exceed | tight
	if w.leaf != nil {
		want = ^mask(0)
	}
	for i := s.el.first(&q.inner, want); i != nothing; i = s.el.next(i, want) {
		a, k, x := w.in(s.el.at[i].ref, open, exceed, &left)
		switch x {
		case found:
			return a, kept, found
		case idle:
			if w.leaf == nil {
				s.el.setMask(i, s.el.at[i].own&^want)
			}
		case shut:
			if v == idle {
				v = shut
			}
		case blocked:
			v = blocked
			s.add(&kept, &k)
			s.sub(&left, &k)
			if w.leaf == nil && s.spent(&q.used, &left) {
				return nothing, kept, blocked
			}
			exceed |= s.exceeding(s.el.subOf(q.inner.root)&^exceed, &left)
			open &^= exceed
			if w.leaf == nil {
				want = open | exceed | tight
			}
		}
	}
	return nothing, kept, v
}

// inLeaf looks at the applications of a leaf in their order.
func (w *walk) inLeaf(h int32, q *runQueue, open, exceed mask, room *records.Resource) (int32, verdict) {
	s := w.s
	for left := exceed & s.el.subOf(q.inner.root) & s.classes.taken; left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.everFits(h, &s.classes.size[i]) {
			exceed &^= 1 << i
		}
	}
	v := idle
	after := nothing
	for {
		a := s.firstInLeaf(q, open|exceed, after)
		if a == nothing {
			return nothing, v
		}
		switch w.judge(h, &s.apps[a], open, exceed, room) {
		case found:
			s.picked = open
			return a, found
		case blocked:
			return nothing, blocked
		case shut:
			v = shut
		}
		after = s.apps[a].el
	}
}

// judge looks at the demands of an application, the most urgent first: whether one can be placed, or is too large for the
// room that its leaf has.
func (w *walk) judge(leaf int32, a *app, open, exceed mask, room *records.Resource) verdict {
	s := w.s
	v := idle
	for _, d := range a.demands {
		if d.pending == 0 || d.state.why != untried {
			continue
		}
		large := exceed&(1<<d.class) != 0
		if d.class == sharedClass {
			large = !s.fits(&d.size, room) && s.everFits(leaf, &d.size)
		}
		switch {
		case large && s.lifted(a, d, room):
			v = shut
		case large:
			w.by = d
			return blocked
		case open&(1<<d.class) != 0 && w.leaf == nil:
			return found
		}
	}
	return v
}

// lifted reports whether the room would do if the application's reservations were undone, as they are when one of its
// containers is placed elsewhere.
func (s *Scheduler) lifted(a *app, d *demand, room *records.Resource) bool {
	if a.reserved.IsZero() || !s.tree.Settings.ReservationsContinue {
		return false
	}
	more := room.Add(a.reserved)
	return s.fits(&d.size, &more)
}

// everFits reports whether an ask is within the maximum of a queue and of those above it.
func (s *Scheduler) everFits(h int32, size *records.Resource) bool {
	for ; h != nothing; h = s.queues[h].parent {
		if !s.fits(size, &s.queues[h].maximum) {
			return false
		}
	}
	return true
}
