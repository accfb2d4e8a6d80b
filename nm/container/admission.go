package container

import (
	"context"
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

type ticket struct {
	want     records.Resource
	admitted chan struct{}
}

func newAdmission(total records.Resource) *admission { return &admission{total: uncounted(total)} }

func uncounted(r records.Resource) records.Resource {
	r[records.VCores] = 0
	return r
}

// enter waits for its turn; leave has to follow a success.
func (a *admission) enter(ctx context.Context, want records.Resource) error {
	t := &ticket{want: uncounted(want), admitted: make(chan struct{})}
	a.mu.Lock()
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
	for i, q := range a.queue {
		if q == t {
			a.queue = append(a.queue[:i], a.queue[i+1:]...)
			a.admit()
			return ctx.Err()
		}
	}
	return nil // it was admitted at the same moment
}

// restore counts a container that runs already.
func (a *admission) restore(r records.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used = a.used.Add(uncounted(r))
}

func (a *admission) leave(r records.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used = a.used.Sub(uncounted(r))
	a.admit()
}

// change replaces the size of a container that was admitted.
func (a *admission) change(from, to records.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used = a.used.Sub(uncounted(from)).Add(uncounted(to))
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
		a.queue = a.queue[1:]
		close(t.admitted)
	}
}
