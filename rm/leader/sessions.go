package leader

import (
	"sync"
	"sync/atomic"
	"time"

	"heddle/yarn/records"
)

// sessions are the peers of this leadership. They are found without the loop, so that a heartbeat that brings nothing new
// costs it nothing.
type sessions struct {
	mu    sync.RWMutex
	ams   map[records.AttemptID]*amSession
	nodes map[records.NodeID]*nodeSession
	// Registrations under way, which are taken one after the other for each node.
	underWay map[records.NodeID]*registering
}

type registering struct {
	mu    sync.Mutex
	calls int // that have it, or wait for it
}

// registering returns when no other call registers a node; the caller says when it has ended.
func (s *sessions) registering(id records.NodeID) (end func()) {
	s.mu.Lock()
	if s.underWay == nil {
		s.underWay = map[records.NodeID]*registering{}
	}
	r := s.underWay[id]
	if r == nil {
		r = &registering{}
		s.underWay[id] = r
	}
	r.calls++
	s.mu.Unlock()
	r.mu.Lock()
	return func() {
		r.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.calls--; r.calls == 0 {
			delete(s.underWay, id)
		}
	}
}

func (s *sessions) am(id records.AttemptID) *amSession {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ams[id]
}

func (s *sessions) node(id records.NodeID) *nodeSession {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.nodes[id]
}

func (s *sessions) putAM(a *amSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ams == nil {
		s.ams = map[records.AttemptID]*amSession{}
	}
	s.ams[a.id] = a
}

func (s *sessions) putNode(n *nodeSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[records.NodeID]*nodeSession{}
	}
	s.nodes[n.id] = n
}

func (s *sessions) dropAM(id records.AttemptID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ams, id)
}

func (s *sessions) dropNode(id records.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, id)
}

// seen is when a peer was last heard of.
type seen struct{ ms atomic.Int64 }

func (s *seen) at(t time.Time) { s.ms.Store(t.UnixMilli()) }

func (s *seen) last() time.Time { return time.UnixMilli(s.ms.Load()) }

// silentSince reports whether nothing was heard for that long; never for a limit of 0.
func (s *seen) silentSince(now time.Time, limit time.Duration) bool {
	return limit > 0 && now.Sub(s.last()) > limit
}
