// Package looptest has a stand-in for a leader's loop, for tests of the packages that a leader is made of. Its pipeline is the real
// one, over an empty ledger, but without a goroutine, a log or a member to commit to: a test says when what was entered is committed.
// Clocks are time.Now, so that in a bubble of testing/synctest time is virtual.
package looptest

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/pipeline"
	"heddle/rm/ledger"
)

// Loop stands in for a loop.Loop. Do, Operate, Commit and Go are safe for concurrent use; the Pipeline's methods are for operations.
type Loop struct {
	*pipeline.Pipeline
	State *ledger.State // the working copy

	t  testing.TB
	mu sync.Mutex
}

// New makes a loop with an empty ledger. The test fails if the ledger refuses a command.
func New(t testing.TB) *Loop {
	l := &Loop{State: ledger.New(), t: t}
	l.Pipeline = pipeline.New(l.State, func() int64 { return l.Now().UnixMilli() }, func(command proto.Message, err error) {
		t.Errorf("the ledger refuses %v: %v", command, err)
	})
	return l
}

// Now returns the time of the test.
func (l *Loop) Now() time.Time { return time.Now() }

// Date is Now.
func (l *Loop) Date() time.Time { return time.Now() }

// Do runs an operation, and commits what was entered so far.
func (l *Loop) Do(run func() error) error {
	err := l.Operate(run)
	l.Commit()
	return err
}

// Operate runs an operation whose commands stay uncommitted until Commit.
func (l *Loop) Operate(run func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return run()
}

// InSlices goes through n things as a loop.Loop does, but stops after each of them.
func (l *Loop) InSlices(n int, f func(from, to int, more func() bool) (next int)) error {
	for at := 0; at < n; {
		_ = l.Do(func() error {
			at = f(at, n, func() bool { return false })
			return nil
		})
	}
	return nil
}

// Commit commits what was entered so far.
func (l *Loop) Commit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for b := l.Next(); b != nil; b = l.Next() {
		if err := l.Settle(b); err != nil {
			l.t.Error(err)
		}
	}
}

// Go runs f beside the operations, in a context that ends with the test.
func (l *Loop) Go(f func(ctx context.Context)) { go f(l.t.Context()) }
