package container

import (
	"context"
	"slices"
	"sync"

	"heddle/yarn/records"
)

// admission starts a container when it fits in what the node has. The ResourceManager sees to it that they do, but it
// may give away a released container's place before that container is dead.
//
// CPU is not counted: a ResourceManager that schedules by memory alone, as YARN does by default, places more vcores than
// there are, and the kernel divides them.
type admission struct {
	mu    sync.Mutex
	total records.Resource
	used  records.Resource
	queue []*ticket // in the order of arrival
}

// ticket is the place of one container: what it takes is known here and nowhere else, so that just that is given back.
// Only admission uses what is in it.
type ticket struct {
	want     records.Resource
	in       bool
	admitted chan struct{} // closed when it is let in
}

func newAdmission(total records.Resource) *admission { return &admission{total: uncounted(total)} }

func newTicket(want records.Resource) *ticket {
	return &ticket{want: uncounted(want), admitted: make(chan struct{})}
}

func uncounted(r records.Resource) records.Resource {
	r[records.VCores] = 0
	return r
}

// enter waits for its turn; leave has to follow a success.
func (a *admission) enter(ctx context.Context, t *ticket) error {
	a.mu.Lock()
	if t.in {
		a.mu.Unlock()
		return nil
	}
	a.queue = append(a.queue, t)
	a.admit()
	a.mu.Unlock()
	select {
	case <-t.admitted:
		return nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.in {
		return nil // it was admitted at the same moment
	}
	a.queue = slices.DeleteFunc(a.queue, func(q *ticket) bool { return q == t })
	a.admit()
	return ctx.Err()
}

// restore counts a container that runs already.
func (a *admission) restore(t *ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.in {
		a.used = a.used.Add(t.want)
		t.in = true
		close(t.admitted)
	}
}

// leave gives a place back. One that was not let in has none.
func (a *admission) leave(t *ticket) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.in {
		a.used = a.used.Sub(t.want)
		t.in, t.admitted = false, make(chan struct{})
		a.admit()
	}
}

// change gives a container another size, whether it was let in or waits.
func (a *admission) change(t *ticket, to records.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	to = uncounted(to)
	if t.in {
		a.used = a.used.Sub(t.want).Add(to)
	}
	t.want = to
	a.admit()
}

func (a *admission) resize(total records.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total = uncounted(total)
	a.admit()
}

// admit lets in those who fit, first come first served: a large one that waits is not overtaken by small ones. One that
// could never fit, as the node has shrunk since it was allocated, gets in when it would be alone. The lock is held.
func (a *admission) admit() {
	for len(a.queue) > 0 {
		t := a.queue[0]
		if after := a.used.Add(t.want); !after.FitsIn(a.total) && !a.used.IsZero() {
			return
		}
		a.used = a.used.Add(t.want)
		t.in = true
		a.queue = a.queue[1:]
		close(t.admitted)
	}
}
