// Package together does a piece of work once for all who ask for it at the same time.
package together

import "sync"

// Group builds a value once for all who ask for it at the same time. The zero value is for use.
type Group[T any] struct {
	turn sync.Mutex // held while one is built
	mu   sync.Mutex
	next *build[T] // hasn't begun; nil: no caller waits
}

type build[T any] struct {
	once  sync.Once
	of    T
	asked int // how many get it
}

// Get returns what f returns in a call that began after Get was called. So callers see what they have changed before. All callers of a group
// pass an f that does the same. One f runs at a time.
func (t *Group[T]) Get(f func() T) T {
	t.mu.Lock()
	if t.next == nil {
		t.next = &build[T]{}
	}
	b := t.next
	b.asked++
	t.mu.Unlock()
	b.once.Do(func() {
		t.turn.Lock()
		defer t.turn.Unlock()
		t.mu.Lock()
		t.next = nil // later callers need a later one
		t.mu.Unlock()
		b.of = f()
	})
	return b.of
}

// Waiting returns how many callers wait for a build that hasn't begun.
func (t *Group[T]) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		return 0
	}
	return t.next.asked
}
