// Package admission admits containers to a node when the amounts that they will hold fit.
//
// A Room is the node. Each container has a Place in it, with two amounts: its grant, and what it holds. They differ only for a suspended
// container, which may hold less. A container that starts enters. A suspended one has its amounts changed. A resumed one enters again: it
// waits, like one that starts, until the rest of its grant fits. If the node has shrunk and it can never fit, it gets in when all others
// are suspended, or are ApplicationMasters: those wait for others to end.
//
// The ResourceManager ensures that containers fit. But it may give away a released container's room before that
// container is dead. Waiting is for this case.
//
// CPU is not counted. A ResourceManager that schedules by memory alone, as YARN does by default, allocates more vcores
// than there are, and the kernel divides them.
//
// Opportunistic containers wait in a queue of their own (see Opportunism). They get in when no other waits, and make way for others.
package admission

import (
	"context"
	"slices"
	"sync"

	"heddle/yarn/records"
)

// Room accounts for a node's resources for containers. It is safe for concurrent use.
type Room struct {
	// Waits is called when a container must wait for room. It is set before the first Enter; nil: nothing is.
	Waits func()

	mu    sync.Mutex
	total records.Resource
	used  records.Resource // sum of what all places hold
	run   int              // places that are in and aren't suspended: they may make room
	last  int              // of these, those that last
	queue []*waiter        // in the order of arrival

	opportunism
}

// Place is the place of one container in a Room.
type Place struct {
	room  *Room
	grant records.Resource
	held  records.Resource // zero before Enter and after Leave
	in    bool
	still bool // it is in, and makes no room as long as it stays
	lasts bool // see Room.Place
	aside bool // it never takes anything of the room

	yields func() // makes way for others, of an opportunistic container; nil: it is guaranteed
	vcores int64  // of its grant
	asked  bool   // it was told to make way, and hasn't yet
	begun  bool   // it has been in: the limit of the queue isn't about it
}

// waiter is a waiting call of Enter.
type waiter struct {
	place    *Place
	admitted chan struct{} // closed when it is admitted
	shed     chan struct{} // closed when it is sent away
	why      error         // why it was
}

// New returns an empty room of a size.
func New(total records.Resource) *Room {
	return &Room{total: counted(total), opportunism: opportunism{vcores: total.VCores(), limit: -1}}
}

// counted returns the counted part of an amount.
func counted(r records.Resource) records.Resource {
	r[records.VCores] = 0
	return r
}

// Place returns a place for a container of a size, which has not entered yet. lasts says that it stays until others have ended, as an
// ApplicationMaster does: one that resumes doesn't wait for it, one that starts does. A container of no size has its room elsewhere, as for short tasks: it takes
// nothing of this one, whatever its size becomes.
func (r *Room) Place(grant records.Resource, lasts bool) *Place {
	return &Place{room: r, grant: counted(grant), vcores: grant.VCores(), lasts: lasts, aside: grant.IsZero()}
}

// Used returns the sum of what all places hold.
func (r *Room) Used() records.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// Awaited reports whether a container waits until it fits.
func (r *Room) Awaited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)+len(r.backlog) > 0
}

// Resize changes what the node has. It removes no container, even if they no longer fit.
func (r *Room) Resize(total records.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.vcores = counted(total), total.VCores()
	r.admit()
}

// Enter waits until the container can hold all of its grant, and returns nil when it does. If ctx ends first, Enter
// returns its error, and the container holds what it held before. Only one call at a time may be under way for a place.
// Call Leave after a success.
//
// Resumed containers keep what they hold while they wait. So two of them may wait for each other: the ResourceManager
// must resume no more than fit.
func (p *Place) Enter(ctx context.Context) error {
	r := p.room
	r.mu.Lock()
	if p.aside || p.in && p.held == p.grant && !(p.still && p.yields != nil) {
		r.mu.Unlock()
		return nil
	}
	w := &waiter{place: p, admitted: make(chan struct{}), shed: make(chan struct{})}
	r.join(w)
	r.admit()
	r.keepToLimit(w)
	waits := slices.Contains(r.queue, w)
	r.mu.Unlock()
	if waits && r.Waits != nil {
		r.Waits()
	}
	var err error
	select {
	case <-w.admitted:
		return nil
	case <-w.shed:
		err = w.why
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-w.admitted:
		return nil // just now
	default:
	}
	r.leave(w)
	r.admit()
	return err
}

// Restore admits a container that runs already, whatever room there is.
func (p *Place) Restore() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.hold(p.grant)
}

// Stand is Change for one that may be suspended, or have no vcores, and then will let go of nothing more. One that enters again does so no more.
func (p *Place) Stand(grant, held records.Resource, still bool) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.in {
		p.stand(still)
	}
	p.change(grant, held)
}

// Change sets a container's grant, and what it holds if it has entered. It never waits. To hold more than before, call
// Enter if the container must wait for room.
func (p *Place) Change(grant, held records.Resource) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.change(grant, held)
}

// change is Change. The caller has the lock.
func (p *Place) change(grant, held records.Resource) {
	if p.aside {
		return
	}
	if p.in && !p.still {
		p.room.busy += grant.VCores() - p.vcores
	}
	p.grant, p.vcores = counted(grant), grant.VCores()
	if p.in {
		p.hold(counted(held))
	}
	p.room.admit()
}

// Leave gives back what the container holds. It does nothing if the container has not entered.
func (p *Place) Leave() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.in {
		p.stand(true)
		p.hold(records.Resource{})
		p.in, p.still, p.asked = false, false, false
		p.room.forget(p)
	}
	p.room.admit()
}

// hold changes what a container holds. The caller has the lock.
func (p *Place) hold(amount records.Resource) {
	p.room.used = p.room.used.Sub(p.held).Add(amount)
	if p.held = amount; !p.in {
		p.in, p.begun = true, true
		p.runs(1)
	}
}

// stand notes whether a container that is in is suspended. The caller has the lock.
func (p *Place) stand(still bool) {
	if p.still == still {
		return
	}
	if p.still = still; still {
		p.runs(-1)
	} else {
		p.runs(1)
	}
}

// runs counts a container that runs from now on (1), or does no more (-1). The caller has the lock.
func (p *Place) runs(n int) {
	if p.aside {
		return
	}
	p.room.run += n
	p.room.busy += int64(n) * p.vcores
	if n > 0 {
		p.room.borrow(p)
	}
	if p.lasts {
		p.room.last += n
	}
}

// others returns how many containers run beside one and may make room for it. The caller has the lock.
func (p *Place) others() int {
	n := p.room.run
	if p.in {
		n -= p.room.last
	}
	if p.in && !p.still && !p.lasts {
		n--
	}
	return n
}

// admit admits waiters that fit, first come, first served: small ones don't overtake a large one. The first one is also
// admitted when no other runs who could make room: the node has shrunk. Opportunistic ones come last. The caller has the lock.
func (r *Room) admit() {
	for len(r.queue) > 0 && r.enters(r.queue[0]) {
		r.queue = r.queue[1:]
	}
	for len(r.queue) == 0 && len(r.backlog) > 0 && r.idle(r.backlog[0].place) && r.enters(r.backlog[0]) {
		r.backlog = r.backlog[1:]
	}
	r.reclaim()
}

// enters admits a waiter if it fits. The caller has the lock.
func (r *Room) enters(w *waiter) bool {
	others := r.used.Sub(w.place.held)
	if !others.Add(w.place.grant).FitsIn(r.total) && w.place.others() > 0 {
		return false
	}
	w.place.hold(w.place.grant)
	w.place.stand(false)
	w.place.asked = false
	close(w.admitted)
	return true
}
