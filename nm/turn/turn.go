// Package turn serialises operations on one container; long steps yield to urgent ones.
//
// A container (nm/container) has a Queue for the operations that suspend, resume or resize it. A step of a turn that may take long yields to a
// waiting operation that is urgent enough (Yield): paging out a suspended container yields to its breath, and a resume that waits for room yields to
// changes and commands only.
package turn

import (
	"context"
	"sync"
)

// Urgency ranks waiting operations. A more urgent one doesn't come sooner, but a running one may give way to it.
type Urgency int

// The urgencies.
const (
	Chore   Urgency = iota // it can be done at any time
	Breath                 // frameworks give a container up that has none for long
	Change                 // it changes what others do, and doesn't put an end to it: they continue afterwards
	Command                // an operation waits for it
	urgencies
)

// Queue is where they wait. Make it with New. It is safe for concurrent use.
type Queue struct {
	held chan struct{}

	mu      sync.Mutex
	waiting [urgencies]int
	taken   [urgencies]int     // turns so far
	yield   context.CancelFunc // ends what gives way; nil: nothing does at present
	to      Urgency            // and those above
}

// New returns a Queue without a current turn.
func New() *Queue { return &Queue{held: make(chan struct{}, 1)} }

// Take waits for a turn. It returns ctx's error if that ends before. Leave must follow a success.
func (q *Queue) Take(ctx context.Context, u Urgency) error {
	q.wait(u, 1)
	defer q.wait(u, -1)
	select {
	case q.held <- struct{}{}:
		q.mu.Lock()
		defer q.mu.Unlock()
		q.taken[u]++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Begin is Take for an operation that continues until either context ends. It returns what ends with them, and how to leave.
func (q *Queue) Begin(ctx, life context.Context, u Urgency) (both context.Context, leave func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(life, cancel)
	end := func() {
		stop()
		cancel()
	}
	if err := q.Take(ctx, u); err != nil {
		end()
		return ctx, nil, err
	}
	return ctx, func() {
		q.Leave()
		end()
	}, nil
}

// Taken returns how many turns of an urgency there were, with one that is under way.
func (q *Queue) Taken(u Urgency) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken[u]
}

// Leave ends a turn.
func (q *Queue) Leave() { <-q.held }

// Blocks reports whether a turn is under way that yields to no waiting operation.
func (q *Queue) Blocks(u Urgency) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.held) > 0 && (q.yield == nil || u < q.to)
}

// wait counts waiting operations, and ends steps that yield to them.
func (q *Queue) wait(u Urgency, more int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[u] += more; more > 0 && q.yield != nil && u >= q.to {
		q.yield()
	}
}

// Yield returns a context for a step of a turn that yields to operations, present or future, of this urgency or a higher one. done must follow.
func (q *Queue) Yield(ctx context.Context, to Urgency) (part context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.yield, q.to = cancel, to
	for u := to; u < urgencies; u++ {
		if q.waiting[u] > 0 {
			cancel()
		}
	}
	return ctx, func() {
		q.mu.Lock()
		q.yield = nil
		q.mu.Unlock()
		cancel()
	}
}
