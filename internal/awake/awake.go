// Package awake has timers for processes that may be suspended: time in which the process is suspended doesn't count.
package awake

import (
	"sync"
	"time"
)

const (
	// look is the longest time between two looks at the clock, and about how much of a standstill counts at most.
	look = time.Second
	// late is how late a look is that comes after a standstill. A machine that is busy delays looks for less.
	late = time.Second
)

// Timer calls a function later.
type Timer struct {
	f func()

	mu    sync.Mutex
	left  time.Duration
	begun time.Time
	next  time.Duration // from begun to the next look
	timer *time.Timer
	over  bool
}

// AfterFunc calls f, in a goroutine of its own, when this process has run for d.
func AfterFunc(d time.Duration, f func()) *Timer {
	t := &Timer{f: f, left: d}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait()
	return t
}

// Stop keeps the function from being called. It returns false if it was called, or Stop was.
func (t *Timer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over = true
	t.timer.Stop()
	return true
}

// wait waits for the next look. The lock is held.
func (t *Timer) wait() {
	t.begun, t.next = time.Now(), min(t.left, look)
	t.timer = time.AfterFunc(t.next, t.look)
}

func (t *Timer) look() {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	if t.count(time.Since(t.begun)); t.left > 0 {
		t.wait()
		t.mu.Unlock()
		return
	}
	t.over = true
	t.mu.Unlock()
	t.f()
}

// count takes off the time since the last look, unless there was a standstill.
func (t *Timer) count(since time.Duration) {
	if since < t.next+late {
		t.left -= since
	}
}
