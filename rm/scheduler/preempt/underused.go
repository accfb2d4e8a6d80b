package preempt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"heddle/yarn/records"
)

// UnderusedSettings are the keys yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.*.
type UnderusedSettings struct {
	Enabled bool          // enabled
	Delay   time.Duration // reserved-container-delay-ms: from the reservation to the choice of containers for it
	Move    bool          // allow-move-reservation: to a node on which enough could be taken
}

// byPriority lets reservations of queues below their guarantee be filled at the cost of queues of lower priority, also of
// those that are below their guarantee themselves (Hadoop: QueuePriorityContainerCandidateSelector). Reservations of higher
// queues, and then older ones, come first, and so do the containers that go. ApplicationMasters stay.
func (r *selection) byPriority() {
	x := underused{selection: r, sites: r.sites(), touched: map[*site]bool{}, granted: map[int]records.Resource{}}
	var waiting []*site
	for i := range x.sites {
		if at := &x.sites[i]; at.reserved.Container != nil && r.aboveAny(at.reserved.app.Queue) {
			waiting = append(waiting, at)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *site) int { return x.compare(a.reserved, b.reserved) })
	for _, at := range waiting {
		if r.now-at.reserved.Since >= r.settings.Underused.Delay.Milliseconds() && !x.satisfied(at.reserved.app.Queue) {
			x.serve(at)
		}
	}
}

// underused is the work of byPriority.
type underused struct {
	*selection
	sites   []site
	touched map[*site]bool           // something was decided there in this round
	granted map[int]records.Resource // by queue: room that is made for it in this round
}

func (x *underused) serve(at *site) {
	reserved := at.reserved
	if victims, ok := x.roomFor(reserved, at); ok {
		x.touched[at] = true
		x.granted[reserved.app.Queue] = x.granted[reserved.app.Queue].Add(reserved.Resource)
		for _, v := range victims {
			x.allowed = x.allowed.Sub(v.Resource)
			x.pick(v.app, v.Container, fmt.Sprintf("queue %s has a lower priority than %s, which uses %v of the %v that it is guaranteed, and for whose container of %v %s is reserved",
				x.Queues[v.app.Queue].Path, x.Queues[reserved.app.Queue].Path, x.has(reserved.app.Queue), x.Queues[reserved.app.Queue].Guaranteed, reserved.Resource, at.Host))
		}
		return
	}
	if !x.settings.Underused.Move || !reserved.Relax {
		return
	}
	for i := range x.sites {
		to := &x.sites[i]
		if to.reserved.Container != nil || to.Closed {
			continue
		}
		if _, ok := x.roomFor(reserved, to); ok {
			x.touched[to] = true
			x.moves = append(x.moves, Move{
				App: reserved.app.ID, Queue: x.Queues[reserved.app.Queue].Path, Handle: reserved.Handle, To: to.Handle,
				Reason: fmt.Sprintf("%s can't be cleared for %v by taking from queues of lower priority, and %s can", at.Host, reserved.Resource, to.Host),
			})
			return
		}
	}
}

// has returns what a queue really uses.
func (r *selection) has(i int) records.Resource { return r.Queues[i].Used.Sub(r.Queues[i].Reserved) }

// satisfied reports whether a queue has its guarantee, with what is made room for.
func (x *underused) satisfied(i int) bool {
	return !x.less(x.has(i).Add(x.granted[i]), x.Queues[i].Guaranteed)
}

// roomFor finds the containers of queues of lower priority without which a container fits on a node. What is killable there is room already.
// (YARN chooses it once more, beside others.)
func (x *underused) roomFor(reserved owned, at *site) (victims []owned, ok bool) {
	if x.touched[at] {
		return nil, false
	}
	room, allowed := at.Free, x.allowed
	running := slices.Clone(at.running)
	slices.SortStableFunc(running, x.compare)
	for _, c := range running {
		if x.taken[c.ID] || c.Killable {
			room = room.Add(c.Resource)
		}
	}
	for _, c := range running {
		if x.fits(reserved.Resource, room) {
			break
		}
		if x.taken[c.ID] || c.Killable || c.AM || c.Spared || !x.above(reserved.app.Queue, c.app.Queue) || x.less(allowed, c.Resource) {
			continue
		}
		room, allowed = room.Add(c.Resource), allowed.Sub(c.Resource)
		victims = append(victims, c)
	}
	return victims, x.fits(reserved.Resource, room)
}

// compare puts containers of higher queues first, and otherwise older ones.
func (x *underused) compare(a, b owned) int {
	switch {
	case x.above(a.app.Queue, b.app.Queue):
		return -1
	case x.above(b.app.Queue, a.app.Queue):
		return 1
	}
	return cmp.Or(cmp.Compare(a.Since, b.Since), a.ID.Compare(b.ID))
}

// above reports whether a leaf, or a queue above it, has a higher priority than its sibling at or above another leaf.
func (s *Snapshot) above(a, b int) bool {
	x, y := s.way(a), s.way(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return s.Queues[x[i]].Priority > s.Queues[y[i]].Priority
		}
	}
	return false
}

// aboveAny reports whether a leaf is above any queue.
func (s *Snapshot) aboveAny(leaf int) bool {
	for i := range s.Queues {
		if s.above(leaf, i) {
			return true
		}
	}
	return false
}

// way returns the queues from the root down to one.
func (s *Snapshot) way(i int) (way []int) {
	for ; i >= 0; i = s.Queues[i].Parent {
		way = append(way, i)
	}
	slices.Reverse(way)
	return way
}
