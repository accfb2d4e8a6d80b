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
	changed chan struct{} // closed, and made anew, when something is given back
}

// share is what one request holds.
type share struct {
	budget *budget
	opened time.Time
	since  time.Time // when it was opened, or got its first room: waiting for that isn't the client's fault
	bytes  int
	cut    func() // ends the client's connection; nil: nothing depends on the client now
	gone   bool   // cut was called, at cutAt
	cutAt  time.Time
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
	for b.used+n > b.limit && b.used > s.bytes {
		if s.gone {
			return errNoMemory
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
		if s.bytes == 0 {
			s.since = time.Now()
		}
	}
	b.used += n
	s.bytes += n
	return nil
}

// press cuts off the client that has held memory longest, if its time is over. It returns when to look again, unless
// something changes before. While a client that was cut off still releases its memory, no other one is: that may be
// enough for all who wait.
func (b *budget) press() time.Duration {
	var oldest *share
	releasing := false
	for s := range b.shares {
		releasing = releasing || s.gone && s.bytes > 0 && time.Since(s.cutAt) < budgetGrace
		if s.cut != nil && !s.gone && s.bytes > 0 && (oldest == nil || s.before(oldest)) {
			oldest = s
		}
	}
	if oldest == nil || releasing {
		return budgetGrace
	}
	if left := budgetGrace - time.Since(oldest.since); left > 0 {
		return left
	}
	oldest.gone, oldest.cutAt = true, time.Now()
	oldest.cut()
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
