package admission

import (
	"slices"

	"heddle/yarn/records"
)

// SentAway is why Enter has sent an opportunistic container away, in Hadoop's words (ContainerScheduler).
type SentAway string

func (s SentAway) Error() string { return string(s) }

// The reasons.
const (
	ErrQueueFull = SentAway("Opportunistic container queue is full.")
	ErrShed      = SentAway("Container De-queued to meet NM queuing limits.")
)

// opportunism holds the opportunistic containers, which use what guaranteed ones leave idle (Hadoop: ContainerScheduler).
//
// One starts when no guaranteed container waits, and both its memory and its vcores are idle. Until then it waits in a queue that has a limit. When a guaranteed
// one doesn't fit, or its vcores are taken, the opportunistic ones that came last make way: their owners kill or suspend them.
type opportunism struct {
	backlog []*waiter // opportunistic ones that wait: those that have run before others, then in the order of arrival
	lenders []*Place  // opportunistic ones that are in, in the order in which they came in
	vcores  int64     // that the node has
	busy    int64     // vcores of those that run
	limit   int       // how many that have never run may wait; -1: opportunistic containers are treated as guaranteed ones
}

// Opportunities are sums over opportunistic containers.
type Opportunities struct {
	Running int              // that are in, and not suspended
	Used    records.Resource // by these
	Queued  int              // that wait
	Waiting int              // all that wait, guaranteed ones as well

	Capacity int // how many may wait for their first start
}

// SetOpportunism sets how many opportunistic containers may wait for their first start. It is called before the first Place. 0, as in Hadoop, means that the node has no
// queue: opportunistic containers are then treated as guaranteed ones.
func (r *Room) SetOpportunism(limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit = limit; limit <= 0 {
		r.limit = -1
	}
}

// Yields makes a place that of an opportunistic container, which does yield when it must make way, or with nil that of a guaranteed one. yield is called from
// a goroutine that may hold locks: it returns at once. A container that waits changes its queue.
func (p *Place) Yields(yield func()) {
	r := p.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.aside || r.limit < 0 || (p.yields == nil) == (yield == nil) {
		return
	}
	var moved []*waiter
	mine := func(w *waiter) bool {
		if w.place == p {
			moved = append(moved, w)
		}
		return w.place == p
	}
	r.queue, r.backlog = slices.DeleteFunc(r.queue, mine), slices.DeleteFunc(r.backlog, mine)
	p.yields = yield
	for _, w := range moved {
		r.join(w)
	}
	if r.forget(p); p.in && !p.still {
		r.borrow(p)
	}
	r.admit()
}

// Guaranteed reports whether a container doesn't make way for others.
func (p *Place) Guaranteed() bool {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	return p.yields == nil
}

// Shed sends away opportunistic containers that wait for their first start, those that came last, until no more than limit are left (Hadoop:
// ContainerQueuingLimit). A negative limit sends none away.
func (r *Room) Shed(limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for limit >= 0 && r.starting() > limit {
		r.sendAway(r.backlog[len(r.backlog)-1], ErrShed)
	}
}

// Opportunities returns sums over opportunistic containers.
func (r *Room) Opportunities() (o Opportunities) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.lenders {
		if !p.still {
			o.Running++
			o.Used = o.Used.Add(p.held)
			o.Used[records.VCores] += p.vcores
		}
	}
	o.Capacity = max(r.limit, 0)
	o.Queued, o.Waiting = len(r.backlog), len(r.backlog)+len(r.queue)
	return o
}

// join puts a waiter in its queue. The caller has the lock, as in the following.
func (r *Room) join(w *waiter) {
	switch {
	case w.place.yields == nil:
		r.queue = append(r.queue, w)
	case w.place.begun: // it has run, and goes before those that have not
		at := slices.IndexFunc(r.backlog, func(q *waiter) bool { return !q.place.begun })
		if at < 0 {
			at = len(r.backlog)
		}
		r.backlog = slices.Insert(r.backlog, at, w)
	default:
		r.backlog = append(r.backlog, w)
	}
}

// leave takes a waiter out of its queue.
func (r *Room) leave(w *waiter) {
	is := func(q *waiter) bool { return q == w }
	r.queue, r.backlog = slices.DeleteFunc(r.queue, is), slices.DeleteFunc(r.backlog, is)
}

// keepToLimit sends a waiter away that the queue has no room for.
func (r *Room) keepToLimit(w *waiter) {
	if !w.place.begun && slices.Contains(r.backlog, w) && r.starting() > r.limit {
		r.sendAway(w, ErrQueueFull)
	}
}

// starting returns how many opportunistic containers wait that have never run.
func (r *Room) starting() (n int) {
	for _, w := range slices.Backward(r.backlog) {
		if w.place.begun {
			break
		}
		n++
	}
	return n
}

func (r *Room) sendAway(w *waiter, why error) {
	r.leave(w)
	w.why = why
	close(w.shed)
}

// idle reports whether an opportunistic container's vcores are idle, or it would run alone.
func (r *Room) idle(p *Place) bool { return r.busy+p.vcores <= r.vcores || p.others() == 0 }

// borrow notes that a container runs, in the order in which they came.
func (r *Room) borrow(p *Place) {
	if r.forget(p); p.yields != nil {
		r.lenders = append(r.lenders, p)
	}
}

// forget takes a container out of those that make way.
func (r *Room) forget(p *Place) {
	r.lenders = slices.DeleteFunc(r.lenders, func(l *Place) bool { return l == p })
}

// reclaim has opportunistic containers make way, those that came last, until the guaranteed ones that wait fit and have their vcores.
func (r *Room) reclaim() {
	if len(r.lenders) == 0 {
		return
	}
	need, vcores := r.used, r.busy
	for _, w := range r.queue {
		need = need.Sub(w.place.held).Add(w.place.grant)
		vcores += w.place.vcores
	}
	for _, p := range r.lenders {
		if p.asked {
			need, vcores = p.without(need, vcores)
		}
	}
	for _, p := range slices.Backward(r.lenders) {
		if need.FitsIn(r.total) && vcores <= r.vcores {
			return
		}
		if !p.asked && !p.still {
			p.asked = true
			need, vcores = p.without(need, vcores)
			p.yields()
		}
	}
}

// without subtracts what the node gets back of a container that makes way.
func (p *Place) without(used records.Resource, vcores int64) (records.Resource, int64) {
	if !p.still {
		vcores -= p.vcores
	}
	return used.Sub(p.held), vcores
}
