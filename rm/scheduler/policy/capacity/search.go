package capacity

import (
	"math/bits"
	"slices"

	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// In capacity queues no request overtakes an ask that is next and fits below the maxima of its queues, but not into their headroom. Its
// leaf gives nothing to the asks behind it, of the same application and of others. The rest that the leaf could have is withheld from
// its siblings that come later. So large asks are served in order; otherwise small ones would take each resource that becomes free
// (Hadoop: RegularContainerAllocator.checkHeadroom, CSAssignment.SkippedType.QUEUE_LIMIT, ResourceLimits.addBlockedHeadroom). An ask
// that is larger than a maximum itself is passed over. In YARN it blocks its leaf for good.

// verdict is the result of a search in a queue.
type verdict uint8

const (
	found   verdict = iota // an application to be served
	idle                   // nothing to serve, however much room there were
	shut                   // nothing to serve in the room that there is
	blocked                // the ask whose turn it is is too large for it
)

// Next finds the application whose turn it is, or nothing.
func (p *Policy) Next() int32 {
	s := p.s
	open := s.Classes.Opened() & s.Rankings.Offers(&s.Queues[core.Root].Inner)
	if open == 0 {
		return ranking.Nothing
	}
	w := walk{s: s, p: p, mine: ^s.Classes.Guests()}
	if open&w.mine != 0 && w.all(s.Classes.Opened()) == found {
		return w.app
	}
	if open&^w.mine != 0 {
		return p.nextGuest()
	}
	return ranking.Nothing
}

// nextGuest is Next for applications that nodes are shared with.
//
//go:noinline
func (p *Policy) nextGuest() int32 {
	w := walk{s: p.s, p: p, mine: p.s.Classes.Guests(), forGuests: true}
	p.forGuests = true
	v := w.all(p.s.Classes.Opened())
	if p.forGuests = false; v == found {
		return w.app
	}
	return ranking.Nothing
}

// walk is a search for the application whose turn it is.
type walk struct {
	s   *core.Core
	p   *Policy
	app int32 // that was found
	// mine are the classes that are looked for: those of the requests in this partition, or those of guests, with which it is shared
	// when no other can have anything. Guests are held to no maximum (Hadoop: SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY).
	mine      ranking.Mask
	forGuests bool
	// For explanations: nothing is found and no mask is lowered, and each leaf is told of, and each queue that has nothing left.
	visit    func(h int32, at blocker)
	by       *core.Demand     // the last that blocked a leaf
	withheld records.Resource // what the queue that was looked in last withholds from its later siblings, if it is blocked
}

// scope is the knowledge of classes in the room that there is. Classes that aren't told apart yet are compared when a queue
// that asks for them is entered; queues without a maximum of their own have the room of those above them, so nothing is
// compared twice.
type scope struct {
	open   ranking.Mask // nodes may have room for them, and so have the queues
	exceed ranking.Mask // they are larger than the room
	told   ranking.Mask // whether they are larger is known
}

// compare compares classes with the room.
func (w *walk) compare(c scope, m ranking.Mask, room *records.Resource) scope {
	if m &^= c.told; m != 0 {
		c.exceed |= w.s.Exceeding(m, room)
		c.told |= m
		c.open &^= c.exceed
	}
	return c
}

// all looks in all queues.
func (w *walk) all(open ranking.Mask) verdict {
	room := w.s.Calc.Cluster
	if q := &w.s.Queues[core.Root]; !q.Bounded || w.forGuests {
		w.s.Calc.Sub(&room, &q.Used)
	}
	return w.in(core.Root, scope{open: open & w.mine}, &room)
}

// in looks in a queue that has at most so much room left above it.
func (w *walk) in(h int32, c scope, above *records.Resource) verdict {
	s := w.s
	q := &s.Queues[h]
	if !q.Bounded || w.forGuests {
		return w.within(h, q, c, above)
	}
	room := q.Maximum
	s.Calc.Sub(&room, &q.Used)
	if s.Calc.Spent(&q.Used, &room) {
		w.pass(h, &room)
		return idle
	}
	for i := range s.Calc.Types() {
		room[i] = min(room[i], above[i])
	}
	c.told = c.exceed
	return w.within(h, q, c, &room)
}

// within looks in a queue that has so much room.
func (w *walk) within(h int32, q *core.Queue, c scope, room *records.Resource) verdict {
	s := w.s
	if s.Calc.Spent(&q.Used, room) {
		w.pass(h, room)
		return shut
	}
	m := s.Rankings.Offers(&q.Inner) & w.mine
	c = w.compare(c, m, room)
	if !q.Leaf {
		if w.vain(h, c, m) {
			return shut
		}
		return w.below(h, q, c, room)
	}
	v := w.inLeaf(h, q, c, room)
	if w.visit != nil {
		at := blocker{room: *room}
		if v == blocked {
			at.by = w.by
		}
		w.visit(h, at)
	}
	if v == blocked {
		w.withheld = s.Calc.Measure(*room).Max(records.Resource{})
	}
	return v
}

// pass records that a queue has nothing left, and so blocks no other, and those below it.
func (w *walk) pass(h int32, room *records.Resource) {
	if w.visit == nil {
		return
	}
	w.visit(h, blocker{room: *room, spent: true})
	for _, c := range w.s.Queues[h].Below {
		w.pass(c, room)
	}
}

// below looks in the children of a queue.
func (w *walk) below(h int32, q *core.Queue, c scope, room *records.Resource) verdict {
	s := w.s
	var own, withheld records.Resource
	v, left := idle, room
	want := w.wanted(c)
	for i := s.Rankings.First(&q.Inner, want); i != ranking.Nothing; i = s.Rankings.Next(i, want) {
		switch w.in(s.Rankings.Ref(i), c, left) {
		case found:
			return found
		case idle:
			if w.visit == nil {
				s.Rankings.SetMask(i, s.Rankings.Own(i)&^want)
			}
		case shut:
			v = max(v, shut)
		case blocked:
			if v != blocked {
				v, own = blocked, *room
				left = &own
			}
			s.Calc.Add(&withheld, &w.withheld)
			s.Calc.Sub(left, &w.withheld)
			m := s.Rankings.Offers(&q.Inner) & w.mine
			c.told = c.exceed
			c = w.compare(c, m, left)
			if w.visit == nil && (s.Calc.Spent(&q.Used, left) || w.vain(h, c, m)) {
				w.withheld = withheld
				return blocked
			}
			want = w.wanted(c)
		}
	}
	w.withheld = withheld
	return v
}

// wanted returns the classes for which children are looked in.
func (w *walk) wanted(c scope) ranking.Mask {
	switch {
	case w.visit != nil:
		return ^ranking.Mask(0)
	case w.forGuests:
		return c.open | c.exceed // what is tight is so by maxima
	}
	return c.open | c.exceed | class.Tight
}

// everFits reports whether an ask is within the maxima of the queues above it.
func (w *walk) everFits(leaf int32, size *records.Resource) bool {
	if w.forGuests {
		return w.s.Calc.Fits(size, &w.s.Calc.Cluster)
	}
	return everFits(w.s, leaf, size)
}

// vain reports whether nothing can be found any more, of the classes of a queue. Other blocked requests don't matter then
// if the queue is the root; below it, it tells what is left for the queue's siblings.
func (w *walk) vain(h int32, c scope, m ranking.Mask) bool {
	return h == core.Root && c.open&m == 0 && w.visit == nil
}

// inLeaf looks at the applications of a leaf in their order.
func (w *walk) inLeaf(h int32, q *core.Queue, c scope, room *records.Resource) verdict {
	s := w.s
	for left := c.exceed & s.Rankings.Offers(&q.Inner) & s.Classes.Taken(); left != 0; left &= left - 1 {
		if i := bits.TrailingZeros64(left); !w.everFits(h, s.Classes.Size(i)) {
			c.exceed &^= 1 << i
		}
	}
	v := idle
	after := ranking.Nothing
	for {
		a := s.FirstInLeaf(q, c.open|c.exceed, after)
		if a == ranking.Nothing {
			return v
		}
		switch w.judge(h, &s.Apps[a], c, room) {
		case found:
			s.Picked, w.app = c.open, a
			return found
		case blocked:
			return blocked
		case shut:
			v = shut
		}
		after = s.Apps[a].El
	}
}

// judge looks at the demands of an application, the most urgent first: whether one can be placed, or is too large for the
// room that its leaf has.
func (w *walk) judge(leaf int32, a *core.App, c scope, room *records.Resource) verdict {
	s := w.s
	v := idle
	want := (c.open | c.exceed | 1<<class.Shared) & w.mine
	for d := s.Demanded.First(&a.Set, want); d != nil; d = s.Demanded.Next(&a.Set, d, want) {
		large := c.exceed&(1<<d.Class) != 0
		if d.Class == class.Shared {
			large = !s.Calc.Fits(&d.Size, room) && w.everFits(leaf, &d.Size)
		}
		switch {
		case large && s.HoldsBack(a, d).Policy != "":
			v = shut
		case large && w.p.lifted(a, d, room):
			if v = shut; d.Class != class.Shared {
				want &^= 1 << d.Class
			}
		case large:
			w.by = d
			return blocked
		case c.open&(1<<d.Class) != 0 && w.visit == nil:
			return found
		}
	}
	return v
}

// lifted reports whether the room would do if the application's reservations were undone, as they are when one of its
// containers is placed elsewhere.
func (p *Policy) lifted(a *core.App, d *core.Demand, room *records.Resource) bool {
	if a.Reserved.IsZero() || !p.s.Tree.Settings.ReservationsContinue {
		return false
	}
	more := room.Add(a.Reserved)
	return p.s.Calc.Fits(&d.Size, &more)
}

// blocker is what holds back the asks of a queue.
type blocker struct {
	room  records.Resource // that the queue has, less what is reserved for others
	spent bool             // it has nothing left
	by    *core.Demand     // in the leaf, which those behind it wait for; nil if there is none
	from  *core.Demand     // of another leaf, for which something is withheld that this one could have; nil if there is none
}

// findBlockers finds out who blocks the leaves that have something to place.
func (p *Policy) findBlockers() map[int32]blocker {
	out := map[int32]blocker{}
	var from *core.Demand
	w := walk{s: p.s, p: p, mine: ^p.s.Classes.Guests()}
	w.visit = func(h int32, at blocker) {
		at.from = from
		if out[h] = at; at.by != nil {
			from = at.by
		}
	}
	w.all(1 << class.Shared)
	return out
}

// ranked returns the active applications of a queue in the order in which they are served, or those among them that want something. A queue that
// isn't a leaf has none.
func (p *Policy) ranked(leaf int32, wanting bool) (apps []handle.App) {
	q := &p.s.Queues[leaf]
	if !q.Leaf {
		return nil
	}
	p.s.Rankings.All(&q.Inner, func(u int32) bool {
		p.s.Rankings.All(&p.s.Users[p.s.Rankings.Ref(u)].Apps, func(a int32) bool {
			if h := handle.App(p.s.Rankings.Ref(a)); p.s.Apps[h].Wants || !wanting {
				apps = append(apps, h)
			}
			return true
		})
		return true
	})
	slices.SortFunc(apps, func(a, b handle.App) int {
		if p.s.Rankings.Less(q.Apps, p.s.Apps[a].El, p.s.Apps[b].El) {
			return -1
		}
		return 1
	})
	return apps
}

// everFits reports whether an ask is within the maximum of a queue and of those above it.
func everFits(s *core.Core, h int32, size *records.Resource) bool {
	for ; h != ranking.Nothing; h = s.Queues[h].Parent {
		most := &s.Calc.Cluster // which is in the cache
		if q := &s.Queues[h]; q.Bounded {
			most = &q.Maximum
		}
		if !s.Calc.Fits(size, most) {
			return false
		}
	}
	return true
}
