package raft

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// answer is what raft says to something that was asked of it, once it does.
type answer struct {
	err  error
	done chan struct{} // closed when err is known
	down <-chan struct{}
}

// answerTo follows what was asked of raft, and calls then when it is answered.
func (n *Node) answerTo(f hraft.Future, then func()) *answer {
	a := &answer{done: make(chan struct{}), down: n.down}
	go func() {
		defer then()
		a.err = translate(f.Error())
		close(a.done)
	}()
	return a
}

// wait waits for the answer, which never comes for what raft had accepted and not begun when it stopped. One that has come counts
// also when raft has stopped since.
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

// within is wait for those who have no time.
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

// MaxEntry is the size of the largest entry that can be proposed, in bytes. The log writes larger ones, but doesn't read those of 64 MiB
// back, which is the end of it; and the entries of one message between members, which it writes at once, must come to less than 4 GiB.
const MaxEntry = 32 << 20

// ErrTooLarge is returned to proposals above MaxEntry. They don't come into effect.
var ErrTooLarge = errors.New("too large for the log")

// Proposal is an entry on its way into the log.
type Proposal struct {
	*answer // nil where the entry was not accepted
	future  hraft.ApplyFuture
	refused error
}

// Propose appends an entry to the log; it blocks while the member is busy with others. Entries of one caller are committed
// in the order in which it proposed them.
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

// Wait blocks until the entry is committed and applied here and returns the FSM's result, or until that is known not to
// happen through this member, or it has stopped.
func (p Proposal) Wait() (any, error) {
	if p.answer == nil {
		return nil, p.refused
	}
	if err := p.wait(); err != nil {
		return nil, err
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

// sources are those of the proposals under way. Raft gives the member that proposed an entry the very bytes back, so that these,
// being kept here, name it.
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

// of is nil for bytes that were not proposed here.
func (s *sources) of(data []byte) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	return s.by[&data[0]]
}
