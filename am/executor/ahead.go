package executor

import (
	"slices"

	"heddle/yarn/wire"
)

// A node that has no room for a task yet may send it ahead. It begins here as soon as another one ends: the room is taken over without a message to the
// node and one back, during which nothing would run.

// keep makes a task wait for the end of another one.
func (s *server) keep(t *wire.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = append(s.ahead, t)
}

// take takes a task out that waits; nil: it doesn't.
func (s *server) take(id uint64) *wire.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.ahead, func(t *wire.Task) bool { return t.ID == id })
	if at < 0 {
		return nil
	}
	t := s.ahead[at]
	s.ahead = slices.Delete(s.ahead, at, at+1)
	return t
}

// recall gives a task back that waits. It reports whether it does.
func (s *server) recall(id uint64) bool {
	if s.take(id) == nil {
		return false
	}
	_ = s.conn.Send(&wire.Ended{ID: id, Why: wire.Canceled}) // if it fails, Receive does
	return true
}

// succeed has the first task that waits begin in place of one that has ended, and returns its id; 0: none waits.
func (s *server) succeed() uint64 {
	s.mu.Lock()
	if len(s.ahead) == 0 || s.ctx.Err() != nil {
		s.mu.Unlock()
		return 0
	}
	t := s.ahead[0]
	s.ahead = slices.Delete(s.ahead, 0, 1)
	s.mu.Unlock()
	s.begin(t)
	return t.ID
}
