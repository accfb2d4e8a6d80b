// Package admission lets containers onto a node when what they are to hold fits in what the node has.
//
// A Room is the node. Each container has a Place in it, with two amounts: what it was granted, and what it holds. They are the same
// but for a suspended container, which may hold less. A container that starts enters; one that is suspended has its amounts
// changed; one that is resumed enters again, and waits like one that starts until the rest of its grant fits.
//
// The ResourceManager sees to it that containers fit. It may give away a released container's room before that container is dead,
// though: that is what waiting is for.
//
// CPU is not counted. A ResourceManager that schedules by memory alone, as YARN does by default, places more vcores than there are,
// and the kernel divides them.
package admission

import (
	"context"
	"slices"
	"sync"

	"heddle/yarn/records"
)

// Room is what a node has for containers. Its methods may be called from several goroutines.
type Room struct {
	mu    sync.Mutex
	total records.Resource
	used  records.Resource // what all places hold
	queue []*waiter        // in the order of arrival
}

// Place is that of one container. Only the Room looks into it.
type Place struct {
	room  *Room
	grant records.Resource
	held  records.Resource // zero for one that isn't in
	in    bool
}

// waiter is a call of Enter that waits.
type waiter struct {
	place    *Place
	admitted chan struct{} // closed when it may go in
}

// New returns a room of a size in which nobody is.
func New(total records.Resource) *Room { return &Room{total: counted(total)} }

// counted is the part of an amount that is counted.
func counted(r records.Resource) records.Resource {
	r[records.VCores] = 0
	return r
}

// Place returns a place for a container of a size, which is not in yet.
func (r *Room) Place(grant records.Resource) *Place { return &Place{room: r, grant: counted(grant)} }

// Used returns what all who are in hold together.
func (r *Room) Used() records.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// Resize changes what the node has. Those who are in stay in even if they are too many.
func (r *Room) Resize(total records.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total = counted(total)
	r.admit()
}

// Enter waits until the container can hold all of its grant, and returns when it does, or with the error of ctx: then it holds what it
// held before. Only one call at a time may be under way for a place. Leave has to follow a success.
//
// Those that are resumed keep what they hold while they wait. So two of them may wait for each other: it is for the ResourceManager to
// resume no more than fit.
func (p *Place) Enter(ctx context.Context) error {
	r := p.room
	r.mu.Lock()
	if p.in && p.held == p.grant {
		r.mu.Unlock()
		return nil
	}
	w := &waiter{place: p, admitted: make(chan struct{})}
	r.queue = append(r.queue, w)
	r.admit()
	r.mu.Unlock()
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	left := len(r.queue)
	r.queue = slices.DeleteFunc(r.queue, func(q *waiter) bool { return q == w })
	if len(r.queue) == left {
		return nil // it was admitted at the same moment
	}
	r.admit()
	return ctx.Err()
}

// Restore lets a container in that runs already, whatever room there is.
func (p *Place) Restore() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.hold(p.grant)
}

// Change gives a container another size, and says how much of it it holds if it is in. Nobody has to wait to hold more than before: whoever
// has to calls Enter.
func (p *Place) Change(grant, held records.Resource) {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.grant = counted(grant)
	if p.in {
		p.hold(counted(held))
	}
	p.room.admit()
}

// Leave gives back what the container holds. One that is not in holds nothing.
func (p *Place) Leave() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.hold(records.Resource{})
	p.in = false
	p.room.admit()
}

// hold makes what a container holds another amount. The lock is held.
func (p *Place) hold(amount records.Resource) {
	p.room.used = p.room.used.Sub(p.held).Add(amount)
	p.held, p.in = amount, true
}

// admit lets in those who fit, first come first served: a large one that waits is not overtaken by small ones. One that
// could never fit, as the node has shrunk since it was allocated, gets in when it would be alone. The lock is held.
func (r *Room) admit() {
	for len(r.queue) > 0 {
		w := r.queue[0]
		others := r.used.Sub(w.place.held)
		if !others.Add(w.place.grant).FitsIn(r.total) && !others.IsZero() {
			return
		}
		w.place.hold(w.place.grant)
		r.queue = r.queue[1:]
		close(w.admitted)
	}
}
