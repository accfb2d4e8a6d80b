package scheduler

import (
	"math/bits"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/order"
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
	open := s.classes.Opened()
	if !s.capacity {
		return s.pick(root, open)
	}
	if s.el.Offers(&s.queues[root].inner)&open == 0 {
		return order.Nothing
	}
	w := walk{s: s}
	if a, v := w.all(open); v == found {
		return a
	}
	return order.Nothing
}

// offers is the mask of a queue's element.
func (s *Scheduler) offers(q *runQueue) order.Mask {
	m := s.el.Offers(&q.inner)
	if s.capacity && q.bounded && m&class.Tight == 0 {
		room := q.maximum.Sub(q.used)
		if s.exceeding(m, &room) != 0 {
			m |= class.Tight
		}
	}
	return m
}

// exceeding is the classes of a mask that don't fit into an amount. The shared one is never among them.
func (s *Scheduler) exceeding(m order.Mask, room *records.Resource) (out order.Mask) {
	for left := m & s.classes.Taken(); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.calc.Fits(s.classes.Size(i), room) {
			out |= 1 << i
		}
	}
	return out
}

// walk is a search for the application whose turn it is.
type walk struct {
	s *Scheduler
	// For explanations: nothing is found and no mask is lowered, and each leaf is told of, and each queue that has nothing left.
	tell func(h int32, at head)
	by   *demand          // the last that blocked a leaf
	kept records.Resource // what the queue that was looked in last keeps from its later siblings, if it is blocked
}

// scope is what is known of classes in the room that there is. What isn't told apart yet is compared when a queue is entered
// where it is asked for; queues without a maximum of their own have the room of those above them, so nothing is compared
// twice.
type scope struct {
	open   order.Mask // nodes may have room for them, and so have the queues
	exceed order.Mask // they are larger than the room
	told   order.Mask // whether they are larger is known
}

// tell compares classes with the room.
func (s *Scheduler) tell(c scope, m order.Mask, room *records.Resource) scope {
	if m &^= c.told; m != 0 {
		c.exceed |= s.exceeding(m, room)
		c.told |= m
		c.open &^= c.exceed
	}
	return c
}

// all looks in all queues.
func (w *walk) all(open order.Mask) (a int32, v verdict) {
	room := w.s.calc.Cluster
	if q := &w.s.queues[root]; !q.bounded {
		w.s.calc.Sub(&room, &q.used)
	}
	return w.in(root, scope{open: open}, &room)
}

// in looks in a queue that has at most so much room left above it.
func (w *walk) in(h int32, c scope, above *records.Resource) (a int32, v verdict) {
	s := w.s
	q := &s.queues[h]
	if !q.bounded {
		return w.within(h, q, c, above)
	}
	room := q.maximum
	s.calc.Sub(&room, &q.used)
	if s.calc.Spent(&q.used, &room) {
		w.pass(h, &room)
		return order.Nothing, idle
	}
	for i := range s.calc.Types() {
		room[i] = min(room[i], above[i])
	}
	c.told = c.exceed
	return w.within(h, q, c, &room)
}

// within looks in a queue that has so much room.
func (w *walk) within(h int32, q *runQueue, c scope, room *records.Resource) (a int32, v verdict) {
	s := w.s
	if s.calc.Spent(&q.used, room) {
		w.pass(h, room)
		return order.Nothing, shut
	}
	m := s.el.Offers(&q.inner)
	c = s.tell(c, m, room)
	if !q.leaf {
		if w.vain(h, c, m) {
			return order.Nothing, shut
		}
		return w.below(h, q, c, room)
	}
	a, v = w.inLeaf(h, q, c, room)
	if w.tell != nil {
		at := head{room: *room}
		if v == blocked {
			at.by = w.by
		}
		w.tell(h, at)
	}
	if v == blocked {
		w.kept = s.calc.Measure(*room).Max(records.Resource{})
	}
	return a, v
}

// pass tells of a queue that has nothing left, and so blocks nobody, and of those below it.
func (w *walk) pass(h int32, room *records.Resource) {
	if w.tell == nil {
		return
	}
	w.tell(h, head{room: *room, spent: true})
	for _, c := range w.s.queues[h].below {
		w.pass(c, room)
	}
}

// below looks in the children of a queue.
func (w *walk) below(h int32, q *runQueue, c scope, room *records.Resource) (a int32, v verdict) {
	s := w.s
	var own, kept records.Resource
	v, left := idle, room
	want := w.wanted(c)
	for i := s.el.First(&q.inner, want); i != order.Nothing; i = s.el.Next(i, want) {
		a, x := w.in(s.el.Ref(i), c, left)
		switch x {
		case found:
			return a, found
		case idle:
			if w.tell == nil {
				s.el.SetMask(i, s.el.Own(i)&^want)
			}
		case shut:
			v = max(v, shut)
		case blocked:
			if v != blocked {
				v, own = blocked, *room
				left = &own
			}
			s.calc.Add(&kept, &w.kept)
			s.calc.Sub(left, &w.kept)
			m := s.el.Offers(&q.inner)
			c.told = c.exceed
			c = s.tell(c, m, left)
			if w.tell == nil && (s.calc.Spent(&q.used, left) || w.vain(h, c, m)) {
				w.kept = kept
				return order.Nothing, blocked
			}
			want = w.wanted(c)
		}
	}
	w.kept = kept
	return order.Nothing, v
}

// wanted is the classes for which children are looked in.
func (w *walk) wanted(c scope) order.Mask {
	if w.tell != nil {
		return ^order.Mask(0)
	}
	return c.open | c.exceed | class.Tight
}

// vain reports whether nothing can be found any more, of the classes of a queue. Who else is blocked matters to nobody then
// if the queue is the root; below it, it tells what is left for the queue's siblings.
func (w *walk) vain(h int32, c scope, m order.Mask) bool {
	return h == root && c.open&m == 0 && w.tell == nil
}

// inLeaf looks at the applications of a leaf in their order.
func (w *walk) inLeaf(h int32, q *runQueue, c scope, room *records.Resource) (int32, verdict) {
	s := w.s
	for left := c.exceed & s.el.Offers(&q.inner) & s.classes.Taken(); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !s.everFits(h, s.classes.Size(i)) {
			c.exceed &^= 1 << i
		}
	}
	v := idle
	after := order.Nothing
	for {
		a := s.firstInLeaf(q, c.open|c.exceed, after)
		if a == order.Nothing {
			return order.Nothing, v
		}
		switch w.judge(h, &s.apps[a], c, room) {
		case found:
			s.picked = c.open
			return a, found
		case blocked:
			return order.Nothing, blocked
		case shut:
			v = shut
		}
		after = s.apps[a].el
	}
}

// judge looks at the demands of an application, the most urgent first: whether one can be placed, or is too large for the
// room that its leaf has.
func (w *walk) judge(leaf int32, a *app, c scope, room *records.Resource) verdict {
	s := w.s
	v := idle
	want := c.open | c.exceed | 1<<class.Shared
	for d := s.firstDemand(a, want); d != nil; d = s.nextDemand(a, d, want) {
		large := c.exceed&(1<<d.class) != 0
		if d.class == class.Shared {
			large = !s.calc.Fits(&d.size, room) && s.everFits(leaf, &d.size)
		}
		switch {
		case large && s.lifted(a, d, room):
			if v = shut; d.class != class.Shared {
				want &^= 1 << d.class
			}
		case large:
			w.by = d
			return blocked
		case c.open&(1<<d.class) != 0 && w.tell == nil:
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
	return s.calc.Fits(&d.size, &more)
}

// everFits reports whether an ask is within the maximum of a queue and of those above it.
func (s *Scheduler) everFits(h int32, size *records.Resource) bool {
	for ; h != order.Nothing; h = s.queues[h].parent {
		most := &s.calc.Cluster // which is in the cache
		if q := &s.queues[h]; q.bounded {
			most = &q.maximum
		}
		if !s.calc.Fits(size, most) {
			return false
		}
	}
	return true
}
