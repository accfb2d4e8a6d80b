package rm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sirupsen/logrus"

	"heddle/internal/awake"
	"heddle/internal/invariants"
	"heddle/rm/feed"
	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/raft"
	"heddle/rm/timelineservice"
)

// replica is the committed ledger: raft applies its entries to it, and everything that is shown comes from it.
//
// It stops at the first entry or snapshot that this version doesn't know, or that shows that the members' ledgers differ. Skipping it
// would change this ledger, with which this member might lead one day. The entry is neither applied nor in a snapshot, so a newer
// version finds it again.
type replica struct {
	log  *logrus.Entry
	halt func(error) // called once, when it stops

	times loop.Chronicle // of what is applied
	feed  *feed.Feed     // of what it changes
	// follower publishes what this member, as the leader, changes; nil: nothing is published. It is set before the first entry.
	follower *timelineservice.Follower

	mu     sync.RWMutex
	state  *ledger.State
	halted error // why it stopped
}

func newReplica(log *logrus.Entry, halt func(error), f *feed.Feed) *replica {
	return &replica{log: log, halt: halt, feed: f, state: ledger.New(), times: loop.Chronicle{Elapsed: awake.Elapsed()}}
}

// Apply implements raft.FSM. Its result is nil or an error.
func (r *replica) Apply(e raft.Entry) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted != nil {
		return r.halted
	}
	b, err := batchOf(e)
	if err != nil {
		return r.stop("read an entry of the log", err)
	}
	err = r.apply(b, e.Source != nil)
	var newer *ledger.NewerError
	var diverged *ledger.DivergedError
	switch {
	case err == nil:
		r.times.Note(b.GetTime())
		r.feed.Add(e.Index, feed.Of(b, r.state))
		if invariants.Checked {
			r.mustHold(b)
		}
		return nil
	case errors.As(err, &newer), errors.As(err, &diverged):
		return r.stop("apply an entry of the log", err)
	}
	r.log.WithError(err).Error("an entry of the log can't be applied")
	return fmt.Errorf("apply a batch to the ledger: %w", err)
}

// apply applies a batch, and publishes what it changes if it is this member's own.
func (r *replica) apply(b *ledgerpb.Batch, own bool) error {
	if r.follower == nil || !own {
		return r.state.Apply(b)
	}
	change := r.follower.Before(b, r.state)
	err := r.state.Apply(b)
	if err == nil {
		r.follower.After(change, r.state)
	}
	return err
}

// mustHold panics if something is wrong with the ledger after a batch. It is called with the lock held.
func (r *replica) mustHold(b *ledgerpb.Batch) {
	if err := errors.Join(r.state.Check(), r.state.CheckGrants(b)); err != nil {
		panic(fmt.Sprintf("ledger: after %v: %v", b, err))
	}
}

// stop is called with the lock held.
func (r *replica) stop(doing string, err error) error {
	r.halted = fmt.Errorf("%s: %w", doing, err)
	r.log.WithError(r.halted).Error("this ResourceManager can't follow the others any more, and stops")
	r.halt(r.halted)
	return r.halted
}

// Halted returns why the replica stopped, nil if it hasn't.
func (r *replica) Halted() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.halted
}

// batchOf returns the batch of an entry: it knows this member's own proposals, and decodes those of others.
func batchOf(e raft.Entry) (*ledgerpb.Batch, error) {
	if b, ok := e.Source.(*ledgerpb.Batch); ok {
		return b, nil
	}
	return ledger.Decode(e.Data)
}

// Snapshot implements raft.FSM.
func (r *replica) Snapshot() (func(io.Writer) error, error) {
	if err := r.Halted(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Freeze().WriteSnapshot, nil
}

// Restore implements raft.FSM.
func (r *replica) Restore(in io.Reader) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted != nil {
		return r.halted // an older snapshot wouldn't do
	}
	state, err := ledger.ReadSnapshot(in)
	var newer *ledger.NewerError
	switch {
	case err == nil:
		r.state = state
		r.feed.Jump()
	case errors.As(err, &newer):
		return r.stop("read a snapshot", err)
	}
	return err
}

// Read calls f with the committed ledger, which f must neither change nor keep.
func (r *replica) Read(f func(*ledger.State)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	f(r.state)
}

// Clone returns a copy of the committed ledger.
func (r *replica) Clone() *ledger.State {
	r.mu.Lock() // the ledger notes what it shares
	defer r.mu.Unlock()
	return r.state.Clone()
}

// image returns the committed ledger as a snapshot; equal states give equal bytes.
func (r *replica) image() []byte {
	var b bytes.Buffer
	if err := r.Clone().WriteSnapshot(&b); err != nil {
		return nil
	}
	return b.Bytes()
}
