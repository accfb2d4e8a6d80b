package container

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"heddle/yarn/records"
)

// step is a transition.
type step struct{ from, to State }

// walk is what the containers of this process went through. It can hold a container where it is.
type walk struct {
	mu        sync.Mutex
	counts    map[step]int
	histories map[records.ContainerID][]State
	changed   chan struct{} // closed with the next transition

	hold *State        // see holdAt
	held chan struct{} // has a value once that goroutine waits
}

// steps has all transitions since the last reset.
var steps = newWalk()

func newWalk() *walk {
	w := &walk{held: make(chan struct{}, 1)}
	w.reset()
	return w
}

func (w *walk) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts, w.histories = make(map[step]int), make(map[records.ContainerID][]State)
	w.changed = make(chan struct{})
}

// holdAt has the next goroutine that makes a transition to a state wait for ever, in a process that is to be killed.
func (w *walk) holdAt(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = &s
}

// again has wait look only at what these containers become from now on.
func (w *walk) again(all ...*Container) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range all {
		delete(w.histories, c.ID())
	}
}

// all returns how often each transition was made.
func (w *walk) all() map[step]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.counts)
}

// note is for Options.Observed.
func (w *walk) note(c *Container, from, to State) {
	w.mu.Lock()
	w.counts[step{from, to}]++
	w.histories[c.ID()] = append(w.histories[c.ID()], to)
	close(w.changed)
	w.changed = make(chan struct{})
	hold := w.hold != nil && *w.hold == to
	w.mu.Unlock()
	if hold {
		w.held <- struct{}{}
		select {}
	}
}

// wait returns when a container has become to since the last call for it, or ctx ends.
func (w *walk) wait(ctx context.Context, id records.ContainerID, to State) error {
	for {
		w.mu.Lock()
		history, changed := w.histories[id], w.changed
		for i, s := range history {
			if s == to {
				w.histories[id] = history[i+1:]
				w.mu.Unlock()
				return nil
			}
		}
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// until is wait for a test.
func (w *walk) until(t testing.TB, c *Container, to State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.wait(ctx, c.ID(), to); err != nil {
		t.Fatalf("%s has not become %s: %s", c, to, c.Status().Diagnostics)
	}
}
