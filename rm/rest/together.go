package rest

import "sync"

// together builds an answer once for all who ask for it at the same time. The zero value is for use.
type together[T any] struct {
	turn sync.Mutex // held while one is built
	mu   sync.Mutex
	next *build[T] // hasn't begun; nil: nobody waits
}

type build[T any] struct {
	once  sync.Once
	of    T
	asked int // how many get it
}

// get returns what build returns in a call that began after get was called. So callers see what they have changed before.
func (t *together[T]) get(f func() T) T {
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
		t.next = nil // who comes from now on needs a later one
		t.mu.Unlock()
		b.of = f()
	})
	return b.of
}
