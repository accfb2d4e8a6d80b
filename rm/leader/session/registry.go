package session

import "sync"

// Registry finds sessions by the ids of peers. It is safe for concurrent use: heartbeats that bring nothing new don't need the leader's
// loop. The zero value is empty.
type Registry[ID comparable, Session any] struct {
	mu       sync.RWMutex
	sessions map[ID]Session
	underWay map[ID]*registration
}

// registration is the calls that register one peer.
type registration struct {
	mu    sync.Mutex
	calls int // that hold mu, or wait for it
}

// Get returns a peer's session, or the zero Session.
func (r *Registry[ID, Session]) Get(id ID) Session {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sessions[id]
}

// Put sets a peer's session.
func (r *Registry[ID, Session]) Put(id ID, s Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions == nil {
		r.sessions = map[ID]Session{}
	}
	r.sessions[id] = s
}

// Drop forgets a peer's session.
func (r *Registry[ID, Session]) Drop(id ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, id)
}

// Registering returns when no other call registers the peer. Its caller calls end when its registration has ended.
func (r *Registry[ID, Session]) Registering(id ID) (end func()) {
	r.mu.Lock()
	if r.underWay == nil {
		r.underWay = map[ID]*registration{}
	}
	one := r.underWay[id]
	if one == nil {
		one = &registration{}
		r.underWay[id] = one
	}
	one.calls++
	r.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if one.calls--; one.calls == 0 {
			delete(r.underWay, id)
		}
	}
}

// UnderWay returns the number of peers for which registrations are under way.
func (r *Registry[ID, Session]) UnderWay() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.underWay)
}
