package loop

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"heddle/rm/leader/pipeline"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// slowLog notes how many commands each batch has, and commits batches when the test says so.
type slowLog struct {
	fakeLog
	batches []int
	last    *ledgerpb.Batch
}

func (s *slowLog) propose(b *ledgerpb.Batch) func() error {
	s.batches, s.last = append(s.batches, len(b.GetCommands())), b
	return s.fakeLog.propose(b)
}

// lead runs a loop in the test's bubble until the test ends, and returns what Run did through over.
func lead(t *testing.T, s *slowLog, hooks Hooks) (l *Loop, over chan error) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	l = New(Config{State: ledger.New(), Propose: s.propose, Wall: time.Now, Log: logrus.NewEntry(log)})
	if hooks.Begin == nil {
		hooks.Begin = begin(l)
	}
	over = make(chan error, 1)
	go func() { over <- l.Run(t.Context(), complete(hooks)) }()
	return l, over
}

// A leadership that can't begin ends with the reason, and was never ready.
func TestLeadershipThatCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("a queue is gone")
		_, over := lead(t, &slowLog{fakeLog: fakeLog{make(chan error)}}, Hooks{
			Begin: func() error { return bad },
			Ready: func() { t.Error("is ready") },
		})
		if err := <-over; !errors.Is(err, bad) || !strings.HasPrefix(err.Error(), "take over: ") {
			t.Error(err)
		}
	})
}

// The leadership is ready when its first operation is committed, and once. AfterEach follows the first operation, too.
func TestReadyOnceTheBeginningIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready, each := 0, 0
		s := &slowLog{fakeLog: fakeLog{make(chan error)}}
		l, _ := lead(t, s, Hooks{Ready: func() { ready++ }, AfterEach: func() { each++ }})
		synctest.Wait()
		if ready != 0 || each != 1 {
			t.Errorf("ready %d times before the commit, after %d operations", ready, each)
		}
		s.fates <- nil
		synctest.Wait()
		go func() { _ = l.Do(issue(l)) }()
		s.fates <- nil
		synctest.Wait()
		if ready != 1 || each != 2 {
			t.Errorf("ready %d times, after %d operations", ready, each)
		}
	})
}

// Operations that wait already share a batch, up to a limit, so that none waits for very many.
func TestOperationsThatWaitShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowLog{fakeLog: fakeLog{make(chan error, 10)}}
		l, _ := lead(t, s, Hooks{})
		s.fates <- nil
		hold, done := make(chan struct{}), make(chan error, 1000)
		go func() { done <- l.Do(func() error { <-hold; return nil }) }()
		synctest.Wait()
		const others = 600
		for range others {
			go func() { done <- l.Do(issue(l)) }()
		}
		synctest.Wait()
		for range 5 {
			s.fates <- nil
		}
		close(hold)
		for range others + 1 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		sum, most := 0, 0
		for _, n := range s.batches[1:] { // behind that of the beginning
			sum, most = sum+n, max(most, n)
		}
		if sum != others || most != maxTogether {
			t.Errorf("%d commands in batches of %v", sum, s.batches)
		}
	})
}

// full is the second last operation that a loop runs while its log takes no more batches: it fills more than half a batch, which the
// operation after it closes, small as that may be.
func full(l *Loop, begun *int) func() error {
	return func() error {
		*begun++
		ctx := &pb.ApplicationSubmissionContext{}
		ctx.SetApplicationName(strings.Repeat("x", pipeline.MaxSize*2/3))
		app := ledger.AppRef(records.ApplicationID{ClusterTimestamp: 1, ID: 1})
		l.Enter(&ledgerpb.Command{ApplicationSubmitted: &ledgerpb.ApplicationSubmitted{App: app, User: "u", Queue: "q", Context: ctx}})
		return nil
	}
}

// While full batches wait for the log nothing more is begun, neither what waited together nor what comes. It goes on with a commit, and
// whoever wasn't served hears of the end.
func TestTheLogComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowLog{fakeLog: fakeLog{make(chan error)}}
		l, over := lead(t, s, Hooks{})
		s.fates <- nil
		answers := make(chan error, 10)
		do := func(f func() error) {
			go func() { answers <- l.Do(f) }()
			synctest.Wait()
		}
		for range pipeline.MaxInFlight {
			do(issue(l))
		}
		begun := 0
		hold := make(chan struct{})
		do(func() error { <-hold; return nil })
		small := func() error { begun++; return issue(l)() }
		do(full(l, &begun))
		do(small)
		do(small)
		close(hold)
		synctest.Wait()
		if begun != 2 {
			t.Errorf("%d operations were begun while a full batch waited", begun)
		}
		do(small)
		if begun != 2 {
			t.Errorf("%d operations were begun, one of which came later", begun)
		}
		s.fates <- nil
		synctest.Wait()
		if begun != 4 || len(answers) != 1 || <-answers != nil {
			t.Errorf("%d operations were begun after a commit, and %d are answered", begun, len(answers))
		}
		lost := errors.New("lost")
		s.fates <- lost
		close(s.fates) // of those that were under way nobody hears any more
		if err := <-over; !errors.Is(err, lost) {
			t.Error(err)
		}
		for range pipeline.MaxInFlight + 4 {
			if err := <-answers; !errors.Is(err, pipeline.ErrDeposed) {
				t.Errorf("answered %v", err)
			}
		}
		if begun != 4 {
			t.Errorf("%d operations were begun", begun)
		}
	})
}

// An operation's own error is its answer.
func TestOperationsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowLog{fakeLog: fakeLog{make(chan error, 10)}}
		l, _ := lead(t, s, Hooks{})
		s.fates <- nil
		bad := errors.New("bad")
		if err := l.Do(func() error { return bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
	})
}

// AfterEach comes when it is due by the loop's clock: also when that goes slower than time passes, when the date is put off or was over
// already, and not without a date.
func TestDatesFollowTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var due int64
		var woke []time.Duration
		ahead := time.Duration(0)
		log := logrus.New()
		log.SetOutput(io.Discard)
		begun := time.Now()
		s := &slowLog{fakeLog: fakeLog{make(chan error, 10)}}
		l := New(Config{
			State: ledger.New(), Propose: s.propose, Log: logrus.NewEntry(log), Wall: func() time.Time { return time.Now().Add(ahead) },
		})
		extra := 0 // calls of AfterEach without a tick
		hooks := complete(Hooks{
			Begin: begin(l), NextWake: func() int64 { return due }, Tick: func() { extra-- },
			AfterEach: func() {
				if extra++; due > 0 && l.Now().UnixMilli() >= due {
					woke, due = append(woke, time.Since(begun)), 0
				}
			},
		})
		go func() { _ = l.Run(t.Context(), hooks) }()
		s.fates <- nil
		wakeIn := func(d time.Duration) {
			if err := l.Do(func() error { due = l.Now().Add(d).UnixMilli(); return nil }); err != nil {
				t.Error(err)
			}
		}
		expect := func(want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(woke, want) {
				t.Errorf("woke after %v, want %v", woke, want)
			}
			woke, begun, extra = nil, time.Now(), 0
		}
		const ms = time.Millisecond
		wakeIn(300 * ms)
		time.Sleep(200 * ms)
		wakeIn(400 * ms)
		time.Sleep(700 * ms)
		expect(600 * ms)
		wakeIn(-100 * ms)
		time.Sleep(ms)
		expect(0)
		wakeIn(5 * time.Second)
		time.Sleep(10 * ms)
		wakeIn(100 * ms)
		time.Sleep(8 * time.Second)
		expect(110 * ms)
		wakeIn(100 * ms)
		if err := l.Do(func() error { due = 0; return nil }); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if extra != 2 { // after the two operations
			t.Errorf("AfterEach came %d times without need", extra-2)
		}
		expect()
		if err := l.Do(func() error { ahead = -time.Hour; return nil }); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		expect()
		wakeIn(900 * ms)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(woke) != 1 || woke[0] < 990*ms || woke[0] > 1010*ms { // a tenth slower
			t.Errorf("woke after %v", woke)
		}
	})
}

// A question about many things is given up when the leadership ends.
func TestQuestionsEndWithTheLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowLog{fakeLog: fakeLog{make(chan error, 10)}}
		l, over := lead(t, s, Hooks{})
		s.fates <- nil
		count := 0
		err := l.InSlices(10*sliceSize, func(from, to int, _ func() bool) int {
			if count++; count == 2 {
				_ = issue(l)()
				s.fates <- errors.New("lost")
			}
			if from != (count-1)*sliceSize || to != from+sliceSize {
				t.Errorf("slice %d is from %d to %d", count, from, to)
			}
			return to
		})
		if !errors.Is(err, pipeline.ErrDeposed) || count != 2 {
			t.Errorf("%v, after %d slices", err, count)
		}
		<-over
		if err := l.InSlices(0, nil); err != nil {
			t.Errorf("about nothing: %v", err)
		}
	})
}

// Batches bear the loop's time, and what the ledger refuses is on record and reaches no batch.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, hook := logtest.NewNullLogger()
		s := &slowLog{fakeLog: fakeLog{make(chan error, 10)}}
		l := New(Config{State: ledger.New(), Propose: s.propose, Log: logrus.NewEntry(log), Wall: time.Now})
		go func() { _ = l.Run(t.Context(), complete(Hooks{Begin: begin(l)})) }()
		s.fates <- nil
		time.Sleep(1500 * time.Millisecond)
		s.fates <- nil
		want := time.Now().UnixMilli()
		if err := l.Do(func() error {
			l.Enter(&ledgerpb.Command{NodeForgotten: &ledgerpb.NodeForgotten{}})
			return issue(l)()
		}); err != nil {
			t.Error(err)
		}
		if s.last.GetTime() != want || len(s.last.GetCommands()) != 1 || s.last.GetCommands()[0].ApplicationIdIssued == nil {
			t.Errorf("%d commands are of %d, not %d", len(s.last.GetCommands()), s.last.GetTime(), want)
		}
		if e := hook.LastEntry(); e == nil || e.Level != logrus.ErrorLevel || !strings.Contains(e.Message, "refuses a command") || e.Data["command"] == nil {
			t.Errorf("logged: %+v", e)
		}
	})
}

// What runs beside the loop hears of the end when a batch is lost as well.
func TestBackgroundHearsOfALostBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowLog{fakeLog: fakeLog{make(chan error, 10)}}
		l, over := lead(t, s, Hooks{})
		s.fates <- nil
		ended := false
		s.fates <- errors.New("lost")
		if err := l.Do(func() error {
			l.Go(func(ctx context.Context) { <-ctx.Done(); ended = true })
			return issue(l)()
		}); !errors.Is(err, pipeline.ErrDeposed) {
			t.Error(err)
		}
		if <-over; !ended {
			t.Error("Run returned before it")
		}
	})
}
