package rest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// DefaultMemory is how many bytes the bodies of requests under way, and of answers that wait to be read, take each.
const DefaultMemory = 256 << 20

// budgetGrace is how long a client may take before it has to make room for others.
const budgetGrace = 5 * time.Second

// errNoMemory is for a request that found no room before its client went away.
var errNoMemory = errors.New("the memory for requests is used up")

// budget bounds the bytes that all requests hold for their clients. Where it is used up those are cut off that take
// longest, if they have had their time; else newcomers wait.
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
	since  time.Time // it was opened, or got room after it had waited with nothing: that wasn't its client's doing
	bytes  int
	cut    func() // ends the client's connection; nil: it isn't the client that is waited for
	gone   bool   // cut was called
}

func newBudget(limit int) *budget {
	return &budget{limit: limit, shares: map[*share]struct{}{}, changed: make(chan struct{})}
}

// open begins a share of nothing.
func (b *budget) open(cut func()) *share {
	now := time.Now()
	s := &share{budget: b, opened: now, since: now, cut: cut}
	b.mu.Lock()
	b.shares[s] = struct{}{}
	b.mu.Unlock()
	return s
}

// take counts n more bytes. It waits for room until ctx is done. One request may always go on, whatever it needs.
func (s *share) take(ctx context.Context, n int) error {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used+n > b.limit && b.used > s.bytes {
		if s.gone {
			return errNoMemory
		}
		wait, changed := b.press(), b.changed
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

// press cuts off whoever takes longest, if that is too long, and says when to look again otherwise.
func (b *budget) press() time.Duration {
	var oldest *share
	for s := range b.shares {
		if s.cut != nil && !s.gone && s.bytes > 0 && (oldest == nil || s.before(oldest)) {
			oldest = s
		}
	}
	if oldest == nil {
		return budgetGrace
	}
	if left := budgetGrace - time.Since(oldest.since); left > 0 {
		return left
	}
	oldest.gone = true
	oldest.cut()
	return budgetGrace
}

// before reports whether a share is the one that makes room first, of two.
func (s *share) before(o *share) bool {
	return cmp.Or(s.since.Compare(o.since), s.opened.Compare(o.opened)) < 0
}

// settle says that the client is waited for no more.
func (s *share) settle() {
	s.budget.mu.Lock()
	s.cut = nil
	s.budget.mu.Unlock()
}

// close gives everything back.
func (s *share) close() {
	b := s.budget
	b.mu.Lock()
	delete(b.shares, s)
	b.used -= s.bytes
	s.bytes = 0
	close(b.changed)
	b.changed = make(chan struct{})
	b.mu.Unlock()
}
