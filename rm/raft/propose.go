package raft

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// answer is raft's answer to a request, once it comes.
type answer struct {
	err  error
	done chan struct{} // closed when err is known
	down <-chan struct{}
}

// answerTo waits for a request to raft in the background, and calls then when it is answered.
func (n *Node) answerTo(f hraft.Future, then func()) *answer {
	a := &answer{done: make(chan struct{}), down: n.down}
	go func() {
		defer then()
		a.err = translate(f.Error())
		close(a.done)
	}()
	return a
}

// wait waits for the answer. Raft never answers what it had accepted but not begun when it stopped. An answer that has come counts
// even if raft has stopped since.
func (a *answer) wait() error {
	select {
	case <-a.done:
		return a.err
	case <-a.down:
	}
	select {
	case <-a.done:
		return a.err
	default:
		return ErrClosed
	}
}

// within is wait with a context.
func (a *answer) within(ctx context.Context) error {
	select {
	case <-a.done:
	case <-a.down:
	case <-ctx.Done():
		return ctx.Err()
	}
	return a.wait()
}

func (n *Node) await(f hraft.Future) error { return n.answerTo(f, func() {}).wait() }

// MaxEntry is the size of the largest entry that can be proposed, in bytes. The log writes larger ones, but can't read entries of 64 MiB
// back, and is then lost. And the entries of one message between members, written at once, must total less than 4 GiB.
const MaxEntry = 32 << 20

// ErrTooLarge is returned to proposals above MaxEntry. They are not committed.
var ErrTooLarge = errors.New("too large for the log")

// Proposal is an entry on its way into the log.
type Proposal struct {
	*answer // nil where the entry was not accepted
	future  hraft.ApplyFuture
	refused error
}

// Propose appends an entry to the log. It blocks while the member is busy with others. Entries of one caller are committed
// in the order of its proposals.
func (n *Node) Propose(e Entry) Proposal {
	if len(e.Data) > MaxEntry {
		return Proposal{refused: fmt.Errorf("an entry of %d bytes, where %d are allowed: %w", len(e.Data), MaxEntry, ErrTooLarge)}
	}
	if !n.flying.begin() {
		return Proposal{refused: ErrClosed}
	}
	n.sources.keep(e)
	n.gate.RLock()
	f := n.raft.Apply(e.Data, 0)
	n.gate.RUnlock()
	return Proposal{answer: n.answerTo(f, func() {
		n.sources.drop(e)
		n.flying.end()
	}), future: f}
}

// Wait blocks until the entry is committed and applied here, and returns the FSM's result. It returns an error when it is certain that
// this member won't commit it, or when the member has stopped.
func (p Proposal) Wait() (any, error) {
	if p.answer == nil {
		return nil, p.refused
	}
	if err := p.wait(); err != nil {
		return nil, err
	}
	return p.future.Response(), nil
}

// landingPatience is how long a stopping member waits for proposals under way.
const landingPatience = 5 * time.Second

// flying counts proposals under way.
type flying struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// begin counts one more, and reports false if no more may begin.
func (f *flying) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.all.Add(1)
	}
	return !f.closed
}

func (f *flying) end() { f.all.Done() }

// land lets no more begin, and waits a while for those under way. Raft has to run meanwhile: it never answers what it has committed but not
// applied when it stops.
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

// sources holds the sources of proposals under way. Raft returns the very same bytes to the member that proposed an entry. They stay
// allocated while they are kept here, so their address identifies them.
type sources struct {
	mu sync.Mutex
	by map[*byte]any
}

func (s *sources) keep(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[*byte]any{}
	}
	s.by[&e.Data[0]] = e.Source
}

func (s *sources) drop(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, &e.Data[0])
}

// of returns the source of an entry's bytes, or nil if they were not proposed here.
func (s *sources) of(data []byte) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	return s.by[&data[0]]
}
