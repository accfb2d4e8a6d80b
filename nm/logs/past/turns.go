package past

import (
	"context"
	"sync"
	"time"

	"heddle/yarn/rest"
)

// turns bounds how many logs are read at a time, by one user and in all: each costs a connection and memory, and a slow reader keeps them.
type turns struct {
	mu  sync.Mutex
	by  map[string]int
	all int
}

// enter waits for a turn. Call leave afterwards.
func (t *turns) enter(ctx context.Context, user string) (leave func(), err error) {
	for tries := 0; ; tries++ {
		if t.take(user) {
			return func() { t.give(user) }, nil
		}
		if tries == 50 {
			return nil, rest.Retriable("%d logs are being read for user %s, or %d for all users; try again later", ofUser,
				user, atOnce)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (t *turns) take(user string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]int{}
	}
	if t.all == atOnce || t.by[user] == ofUser {
		return false
	}
	t.all++
	t.by[user]++
	return true
}

func (t *turns) give(user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.by[user]--; t.by[user] == 0 {
		delete(t.by, user)
	}
}
