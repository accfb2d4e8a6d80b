package rest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// DefaultMemory bounds the bytes of bodies of requests under way, and those of unread answers, each.
const DefaultMemory = 256 << 20

// budgetGrace is how long a client may hold memory that others wait for.
const budgetGrace = 5 * time.Second

// errNoMemory says that a request found no room before its client went away.
var errNoMemory = errors.New("the memory for requests is used up")

// budget bounds the bytes that all requests hold for their clients. When it is used up, it cuts off the client that has
// held memory longest, if that is longer than budgetGrace. Otherwise newcomers wait.
type budget struct {
	limit int

	mu      sync.Mutex
	used    int
	shares  map[*share]struct{}
	changed chan struct{} // closed, and made again, when something is given back
}

// share is the memory that one request holds.
type share struct {
	budget *budget
	opened time.Time
	since  time.Time // when it got its first room, later by the time that it has waited for more since then
	bytes  int
	// waiting is since when it has waited for room; zero: it doesn't wait.
	waiting time.Time
	cut     func() // ends the client's connection; nil: nothing depends on the client now
	gone    bool   // cut was called, at cutAt
	cutAt   time.Time
}

func newBudget(limit int) *budget {
	return &budget{limit: limit, shares: map[*share]struct{}{}, changed: make(chan struct{})}
}

// open begins an empty share. cut ends the client's connection.
func (b *budget) open(cut func()) *share {
	now := time.Now()
	s := &share{budget: b, opened: now, since: now, cut: cut}
	b.mu.Lock()
	b.shares[s] = struct{}{}
	b.mu.Unlock()
	return s
}

// take counts n more bytes. It waits for room until ctx ends. One request always gets what it needs.
func (s *share) take(ctx context.Context, n int) error {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	defer s.proceed()
	for b.used+n > b.limit && b.used > s.bytes {
		if s.gone {
			return errNoMemory
		}
		if s.waiting.IsZero() {
			s.waiting = time.Now()
		}
		wait := b.press()
		changed := b.changed
		b.mu.Unlock()
		t := time.NewTimer(wait)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		b.mu.Lock()
		if ctx.Err() != nil {
			return errNoMemory
		}
	}
	if s.bytes == 0 {
		s.since, s.waiting = time.Now(), time.Time{}
	}
	b.used += n
	s.bytes += n
	return nil
}

// proceed ends a wait for room, whose time isn't the client's.
func (s *share) proceed() {
	if !s.waiting.IsZero() {
		s.since, s.waiting = s.since.Add(time.Since(s.waiting)), time.Time{}
	}
}

// press cuts off the client that has held memory longest, if its time is over. If all who hold memory wait for more, it
// cuts off the one that came first. It returns when to look again, unless something changes before. While a client that
// was cut off still releases its memory, no other one is cut off: that may be enough for all who wait.
func (b *budget) press() time.Duration {
	var slowest, stuck *share
	served := false // a request that needs nothing from its client will give memory back
	for s := range b.shares {
		switch {
		case s.bytes == 0:
		case s.gone:
			if time.Since(s.cutAt) < budgetGrace {
				return budgetGrace
			}
		case s.cut == nil:
			served = true
		case !s.waiting.IsZero():
			if stuck == nil || s.opened.Before(stuck.opened) {
				stuck = s
			}
		case slowest == nil || s.before(slowest):
			slowest = s
		}
	}
	victim := slowest
	if slowest != nil {
		if left := budgetGrace - time.Since(slowest.since); left > 0 {
			return left
		}
	} else if victim = stuck; served || stuck == nil {
		return budgetGrace
	}
	victim.gone, victim.cutAt = true, time.Now()
	victim.cut()
	b.wake() // it may wait for more itself
	return budgetGrace
}

// before reports whether s must make room before o.
func (s *share) before(o *share) bool {
	return cmp.Or(s.since.Compare(o.since), s.opened.Compare(o.opened)) < 0
}

// settle says that nothing depends on the client any more.
func (s *share) settle() {
	s.budget.mu.Lock()
	s.cut = nil
	s.budget.mu.Unlock()
}

// close gives all bytes back.
func (s *share) close() {
	b := s.budget
	b.mu.Lock()
	delete(b.shares, s)
	b.used -= s.bytes
	s.bytes = 0
	b.wake()
	b.mu.Unlock()
}

// wake makes all who wait look again.
func (b *budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}
