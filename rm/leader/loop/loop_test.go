package loop

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/leader/pipeline"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
)

// fakeLog commits a batch when the test says what becomes of it.
type fakeLog struct{ fates chan error }

func (f *fakeLog) propose(*ledgerpb.Batch) func() error {
	return func() error { return <-f.fates }
}

// start runs a loop in the test's bubble, and waits until it is ready. stop returns what Run did.
func start(t *testing.T, f *fakeLog, hooks Hooks) (l *Loop, stop func() error) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	l = New(Config{State: ledger.New(), Propose: f.propose, Wall: time.Now, Log: logrus.NewEntry(log)})
	ready := make(chan struct{})
	hooks.Begin = begin(l)
	hooks.Ready = func() { close(ready) }
	hooks = complete(hooks)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, hooks) }()
	f.fates <- nil
	<-ready
	return l, func() error { cancel(); return <-done }
}

// begin enters the first command of a leadership.
func begin(l *Loop) func() error {
	return func() error {
		l.Enter(&ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1"}})
		return nil
	}
}

// complete has hooks that aren't given do nothing.
func complete(hooks Hooks) Hooks {
	for _, h := range []*func(){&hooks.Ready, &hooks.AfterEach, &hooks.Tick} {
		if *h == nil {
			*h = func() {}
		}
	}
	if hooks.NextWake == nil {
		hooks.NextWake = func() int64 { return 0 }
	}
	return hooks
}

func issue(l *Loop) func() error {
	return func() error {
		l.Enter(&ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}})
		return nil
	}
}

// A caller is answered when what its operation entered is committed, and one that entered nothing, but saw what was, as well.
func TestAnswersWaitForTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLog{make(chan error)}
		l, stop := start(t, f, Hooks{})
		wrote, read := make(chan error, 1), make(chan error, 1)
		go func() { wrote <- l.Do(issue(l)) }()
		synctest.Wait()
		go func() { read <- l.Do(func() error { return nil }) }()
		synctest.Wait()
		if len(wrote)+len(read) != 0 {
			t.Fatal("somebody was answered before the commit")
		}
		f.fates <- nil
		synctest.Wait()
		if len(wrote) != 1 || len(read) != 1 || <-wrote != nil || <-read != nil {
			t.Error("not everybody was answered after it")
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// When a batch is lost the loop ends, and everybody hears that the leader is deposed: also who comes later.
func TestLostBatchEndsTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeLog{make(chan error, 1)}
		l, stop := start(t, f, Hooks{})
		lost := errors.New("leadership lost")
		f.fates <- lost
		if err := l.Do(issue(l)); !errors.Is(err, pipeline.ErrDeposed) {
			t.Errorf("the operation: %v", err)
		}
		<-l.Ended()
		if err := l.Do(issue(l)); !errors.Is(err, pipeline.ErrDeposed) {
			t.Errorf("a later one: %v", err)
		}
		if err := stop(); !errors.Is(err, lost) {
			t.Errorf("the loop: %v", err)
		}
	})
}

// Ticks come once a second. AfterEach follows every operation, and comes alone when it is due.
func TestHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ticks, each int
		var due, woke int64
		f := &fakeLog{make(chan error, 10)}
		l, stop := start(t, f, Hooks{
			Tick: func() { ticks++ }, NextWake: func() int64 { return due },
			AfterEach: func() {
				if each++; due > 0 && time.Now().UnixMilli() >= due {
					woke, due = time.Now().UnixMilli(), 0
				}
			},
		})
		want := time.Now().Add(300 * time.Millisecond).UnixMilli()
		if err := l.Do(func() error { due = want; return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second + time.Millisecond)
		if err := l.Do(func() error {
			if ticks != 3 || woke != want {
				t.Errorf("%d ticks, woken %d ms late", ticks, woke-want)
			}
			if each != 6 { // begin, this test's first operation, three ticks and a wake
				t.Errorf("AfterEach was called %d times", each)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		_ = stop()
	})
}

// Run returns when what Go runs has ended, whose context ends with the leadership.
func TestBackgroundEndsWithTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := start(t, &fakeLog{make(chan error, 10)}, Hooks{})
		ended := false
		if err := l.Do(func() error {
			l.Go(func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended = true
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		_ = stop()
		if !ended {
			t.Error("Run returned before it")
		}
	})
}

// What goes through very many things lets the loop do something else in between.
func TestLongQuestionsDontHoldTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := start(t, &fakeLog{make(chan error, 10)}, Hooks{})
		var seen []int
		var between []*op
		err := l.InSlices(2*sliceSize, func(from, to int, more func() bool) int {
			if to-from > sliceSize {
				t.Errorf("%d at once", to-from)
			}
			o := newOp(func() error { return nil }) // answered before the next slice, which comes later
			between = append(between, o)
			l.ops <- o
			for i := from; i < to; i++ {
				seen = append(seen, i)
				if i < 10 {
					time.Sleep(sliceTime)
				}
				if !more() {
					return i + 1
				}
			}
			return to
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range between {
			<-o.done
		}
		if len(between) < 11 {
			t.Errorf("%d slices", len(between))
		}
		if len(seen) != 2*sliceSize || !slices.IsSorted(seen) {
			t.Errorf("%d were seen", len(seen))
		}
		_ = stop()
	})
}
