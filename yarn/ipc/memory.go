package ipc

import (
	"errors"
	"sync"
	"sync/atomic"
)

// errMemory ends the connection that holds most when memory is used up.
var errMemory = errors.New("the connection held most of its server's memory while that was used up")

// memory bounds the bytes that all connections of a server hold for one purpose: requests under way, or replies. It
// distinguishes bytes whose end depends on a client (requests that still arrive, replies that wait to be read) from
// bytes of work under way. When memory is used up, it ends the connection whose client holds most. So a client that
// needs little always gets through. It waits for the end of work.
type memory struct {
	limit   int64
	held    func(*serverConn) *atomic.Int64 // bytes that a connection's client holds
	used    atomic.Int64
	working atomic.Int64 // of used
	waiters atomic.Int32

	mu      sync.Mutex
	changed sync.Cond
	conns   map[*serverConn]struct{}
}

func newMemory(limit int, held func(*serverConn) *atomic.Int64) *memory {
	m := &memory{limit: int64(limit), held: held, conns: map[*serverConn]struct{}{}}
	m.changed.L = &m.mu
	return m
}

// add enters a connection; remove drops it.
func (m *memory) add(c *serverConn) {
	m.mu.Lock()
	m.conns[c] = struct{}{}
	m.mu.Unlock()
}

func (m *memory) remove(c *serverConn) {
	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
}

// take counts n more bytes that c's client holds. It waits for room, and fails when the connection must end.
func (m *memory) take(c *serverConn, n int) error {
	if m.try(n) {
		m.held(c).Add(int64(n))
		return nil
	}
	m.waiters.Add(1)
	defer m.waiters.Add(-1)
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.try(n) {
		if err := c.id.ctx.Err(); err != nil {
			return err
		}
		victim := m.largest(m.held(c).Load() + int64(n))
		switch {
		case victim != nil:
			m.evict(victim)
		case m.working.Load() == 0:
			return errMemory // clients hold everything, and nothing will be freed
		default:
			m.changed.Wait()
		}
	}
	m.held(c).Add(int64(n))
	return nil
}

// evict ends a connection, and waits until some memory is given back.
func (m *memory) evict(victim *serverConn) {
	m.mu.Unlock()
	victim.evict()
	m.mu.Lock()
	if m.held(victim).Load() > 0 {
		m.changed.Wait()
	}
}

// try counts n bytes if there is room, and reports whether there was.
func (m *memory) try(n int) bool {
	for {
		used := m.used.Load()
		if used+int64(n) > m.limit {
			return false
		}
		if m.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// largest returns the connection whose client holds most, if that is more than n. Otherwise it returns nil.
func (m *memory) largest(n int64) (victim *serverConn) {
	for c := range m.conns {
		if has := m.held(c).Load(); has > n {
			victim, n = c, has
		}
	}
	return victim
}

// give gives back n bytes that c's client held.
func (m *memory) give(c *serverConn, n int) {
	m.used.Add(-int64(n)) // first: a reader that sees that a connection holds nothing must find the room
	m.held(c).Add(-int64(n))
	m.wake()
}

// begin turns n bytes that c's client held into work.
func (m *memory) begin(c *serverConn, n int) {
	m.working.Add(int64(n))
	m.held(c).Add(-int64(n))
}

// work counts n more bytes of work. It fails if there is no room and clients don't hold enough to make any.
func (m *memory) work(n int) bool {
	if int64(n) > m.limit {
		return false
	}
	if !m.try(n) {
		m.waiters.Add(1)
		defer m.waiters.Add(-1)
		m.mu.Lock()
		defer m.mu.Unlock()
		for !m.try(n) {
			victim := m.largest(int64(n))
			if victim == nil {
				return false
			}
			m.evict(victim)
		}
	}
	m.working.Add(int64(n))
	return true
}

// end gives back n bytes of work.
func (m *memory) end(n int) {
	m.working.Add(-int64(n))
	m.used.Add(-int64(n))
	m.wake()
}

// wake makes waiting callers look again.
func (m *memory) wake() {
	if m.waiters.Load() == 0 {
		return
	}
	m.mu.Lock()
	m.changed.Broadcast()
	m.mu.Unlock()
}
