package raft

import (
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// Proposal is an entry on its way into the log.
type Proposal struct {
	future hraft.ApplyFuture
	err    error
	done   chan struct{} // closed when err is known
	down   <-chan struct{}
}

// Propose appends an entry to the log; it blocks while the member is busy with others. Entries of one caller are committed
// in the order in which it proposed them.
func (n *Node) Propose(entry []byte) *Proposal {
	p := &Proposal{done: make(chan struct{}), down: n.down}
	if !n.flying.begin() {
		p.err = ErrClosed
		close(p.done)
		return p
	}
	p.future = n.raft.Apply(entry, 0)
	go func() {
		defer n.flying.end()
		p.err = translate(p.future.Error())
		close(p.done)
	}()
	return p
}

// Wait blocks until the entry is committed and applied here and returns the FSM's result, or until that is known not to
// happen through this member, or it has stopped.
func (p *Proposal) Wait() (any, error) {
	select {
	case <-p.done:
	case <-p.down:
		return nil, ErrClosed
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.future.Response(), nil
}

// landingPatience is how long a member that stops waits for proposals under way.
const landingPatience = 5 * time.Second

// flying counts proposals under way.
type flying struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// begin counts one more, unless there are to be no more.
func (f *flying) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.all.Add(1)
	}
	return !f.closed
}

func (f *flying) end() { f.all.Done() }

// land lets no more begin, and waits for those under way, but not for ever. Raft has to run meanwhile: what it has committed and not
// yet applied when it stops, it never answers.
func (f *flying) land(patience time.Duration) {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	landed := make(chan struct{})
	go func() {
		f.all.Wait()
		close(landed)
	}()
	select {
	case <-landed:
	case <-time.After(patience):
	}
}
