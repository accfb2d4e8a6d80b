package level_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// ends has the container end.
func (w *world) ends() {
	w.t.Helper()
	w.do(func() {
		w.Enter(&ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{{Container: ledger.ContainerRef(w.task)}}}})
	})
}

// report has the node's heartbeat say whether the container runs.
func (w *world) report(sub pb.ContainerSubState, first bool) {
	w.t.Helper()
	w.do(func() { w.Reported(w.State.Container(w.task), sub, first) })
}

// later lets time pass, and unanswered orders be sent again.
func (w *world) later(d time.Duration) {
	w.t.Helper()
	time.Sleep(d)
	w.do(func() { w.Tick(w.Now()) })
	synctest.Wait()
}

// Nothing is decided, charged or sent for a container that has ended.
func TestContainersThatHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.answers(errors.New("connection reset"))
		w.suspend(preempt.Quote{})
		w.ends()
		w.answers(nil)
		w.later(time.Minute)
		w.decide(drive.Resume, claim)
		w.held, w.used = claim, 0
		w.hear(level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_RECLAIMED, Held: half, Reason: "no"})
		w.do(func() {
			w.Levels.SetMemory(w.task, 5)
			w.Levels.SetMemory(records.ContainerID{}, 5)
			w.Failed([]level.Failed{{Container: w.task, Version: 1, Reason: "no"}})
		})
		if len(w.sent()) != 1 || w.held != claim || w.used != 0 || len(w.calls) > 0 {
			t.Errorf("sent %v; it holds %v and uses %d; %v", w.sent(), w.held, w.used, w.calls)
		}
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{}); !refusal.Is(err, refusal.NoSuchContainer) {
			t.Errorf("%v", err)
		}
	})
}

// How much a container uses that lives is passed on.
func TestMemoryIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		if w.do(func() { w.Levels.SetMemory(w.task, 5) }); w.used != 5 {
			t.Errorf("%d bytes", w.used)
		}
	})
}

// Until a node has answered an order, what its heartbeats say is of the time before. States that say neither that a container runs nor that it
// stands still mean nothing, and a node that can't suspend can't tell.
func TestReportsThatMeanNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.answers(errors.New("connection reset"))
		w.suspend(preempt.Quote{})
		w.report(pb.ContainerSubState_CSS_RUNNING, false)
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 1)
		w.answers(nil)
		w.later(5 * time.Second)
		w.report(pb.ContainerSubState_CSS_PAUSED, false)
		w.report(pb.ContainerSubState_CSS_DONE, false)
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 1)

		w = begin(t)
		w.report(pb.ContainerSubState_CSS_PAUSED, false)
		w.expect(ledgerpb.Level_RUNNING, claim, 0)
	})
}

// A node that has registered anew gets the order again if its container isn't where it should be, and in any case if it is shrunk: that a heartbeat
// doesn't show. One that does as it should is left alone.
func TestOrdersAfterRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.report(pb.ContainerSubState_CSS_RUNNING, true)
		w.later(time.Minute)
		if len(w.sent()) > 0 {
			t.Errorf("sent %v for a container that runs as it should", w.sent())
		}
		w.decide(drive.Shrink, half)
		w.report(pb.ContainerSubState_CSS_RUNNING, false)
		w.later(time.Minute)
		if len(w.sent()) != 1 {
			t.Errorf("sent %v, and the node had answered", w.sent())
		}
		w.report(pb.ContainerSubState_CSS_RUNNING, true)
		w.later(0)
		w.report(pb.ContainerSubState_CSS_PAUSED, true) // its application has it stand still, too
		w.later(0)
		w.decide(drive.Suspend, records.NewResource(64, 0))
		w.report(pb.ContainerSubState_CSS_RUNNING, true)
		w.later(0)
		w.report(pb.ContainerSubState_CSS_PAUSED, true)
		w.later(0)
		var got []ledgerpb.Level
		for _, o := range w.sent() {
			got = append(got, o.Level)
		}
		if want := []ledgerpb.Level{ledgerpb.Level_SHRUNK, ledgerpb.Level_SHRUNK, ledgerpb.Level_SHRUNK, ledgerpb.Level_RECLAIMED, ledgerpb.Level_RECLAIMED}; !slices.Equal(got, want) {
			t.Errorf("sent %v, not %v", got, want)
		}
		w.expect(ledgerpb.Level_RECLAIMED, records.NewResource(64, 0), 2)
	})
}

// Somebody is told that a container stands still once that is on record, and that it goes on once its node says so.
func TestWhoIsToldOfSuspensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		var told []bool
		w.Tell = func(c *ledger.Container, suspended bool) {
			if was := len(told)%2 == 1; suspended != was { // it may be told again
				told = append(told, suspended)
			}
		}
		expect := func(want ...bool) {
			t.Helper()
			w.do(func() {
				if !slices.Equal(told, want) {
					t.Errorf("told %v, not %v", told, want)
				}
			})
		}
		w.decide(drive.Shrink, half)
		expect()
		w.decide(drive.Suspend, records.NewResource(64, 0))
		expect(true)
		w.answers(errors.New("connection reset"))
		w.decide(drive.Resume, claim)
		expect(true)
		w.answers(nil)
		w.later(5 * time.Second)
		expect(true, false)
		// By its ApplicationMaster.
		w.report(pb.ContainerSubState_CSS_PAUSED, false)
		expect(true, false, true)
		w.returns = true
		w.report(pb.ContainerSubState_CSS_RUNNING, false)
		expect(true, false, true, false)
		// What its node can't do is taken back, and that is told as well.
		w.answers(refusal.New(refusal.Refused, "no"))
		w.decide(drive.Suspend, records.NewResource(64, 0))
		expect(true, false, true, false, true, false)
	})
}

// A container that its node can't have go on stands still on record.
func TestReturnsThatANodeRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{User: "ann"}); err != nil {
			t.Fatal(err)
		}
		w.answers(refusal.New(refusal.Refused, "its memory is gone"))
		w.returns = true
		w.refused(w.Levels.Resume(t.Context(), w.task), "its memory is gone")
		w.expect(ledgerpb.Level_RECLAIMED, claim, 3)
	})
}

// slow are nodes that answer when the test says so.
type slow struct {
	*world
	answer chan struct{}
}

func (s slow) Order(ctx context.Context, n records.NodeID, o level.Order) error {
	<-s.answer
	return s.world.Order(ctx, n, o)
}

// An order that is under way isn't sent a second time.
func TestOrdersUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		s := slow{w, make(chan struct{})}
		w.Levels.Nodes = func() level.Nodes { return s }
		done := make(chan error)
		go func() { done <- w.Levels.Suspend(t.Context(), w.task, level.Wish{}) }()
		synctest.Wait()
		w.later(9 * time.Second)
		close(s.answer)
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.later(time.Minute)
		if len(w.sent()) != 1 {
			t.Errorf("sent %v", w.sent())
		}
	})
}

// Step by step a container is shrunk until it has what every container is left.
func TestShrinkingStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		for i, mb := range []int64{724, 424, 124, 64} {
			if err := w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_SHRUNK}); err != nil {
				t.Fatal(err)
			}
			w.expect(ledgerpb.Level_SHRUNK, records.NewResource(mb, 1), int32(i+1))
		}
		w.refused(w.Levels.Suspend(t.Context(), w.task, level.Wish{Level: ledgerpb.Level_SHRUNK}), "can't be shrunk by nothing")
	})
}

// The last decisions are remembered, the latest first.
func TestManyAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		for i := range 300 {
			w.suspend(preempt.Quote{Suspend: preempt.Price{Moved: int64(i)}})
			w.decide(drive.Resume, claim)
		}
		list := w.Accounts()
		if len(list) != 256 || list[0].Quote.Suspend.Moved != 299 || list[255].Quote.Suspend.Moved != 44 {
			t.Errorf("%d accounts from %v to %v", len(list), list[0].Quote, list[len(list)-1].Quote)
		}
		if sums := w.Totals(); sums.Suspensions != 300 || sums.Resumes != 300 {
			t.Errorf("%+v", sums)
		}
	})
}

// While its order is under way a container isn't charged by what its node said before, and only for memory that can't be taken.
func TestWhatIsntCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		least := records.NewResource(64, 0)
		r := level.Report{Version: 1, Wanted: pb.ContainerLevel_LEVEL_RECLAIMED, Level: pb.ContainerLevel_LEVEL_FROZEN, Held: records.NewResource(1000, 0), Reason: "swap is full"}
		w.answers(errors.New("connection reset"))
		w.suspend(preempt.Quote{})
		w.hear(r)
		w.expect(ledgerpb.Level_RECLAIMED, least, 1)
		w.answers(nil)
		w.later(5 * time.Second)
		r.Reason = "" // it is on the way
		w.hear(r)
		w.expect(ledgerpb.Level_RECLAIMED, least, 1)
		r.Reason, r.Held = "it says more than there is", claim.Times(2)
		w.hear(r)
		w.expect(ledgerpb.Level_RECLAIMED, least, 1)
		r.Level = r.Wanted
		w.hear(r)
		if a, _ := w.only(); a.Out != -1 {
			t.Errorf("its resources aren't there, and it counts as measured: %+v", a)
		}
	})
}
