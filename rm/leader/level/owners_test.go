package level_test

import (
	"testing"
	"testing/synctest"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
)

// reports has the container's node report it.
func (w *world) reports(sub pb.ContainerSubState, first bool) {
	w.do(func() { w.Reported(w.State.Container(w.task), sub, first) })
	synctest.Wait()
}

const (
	paused = pb.ContainerSubState_CSS_PAUSED
	runs   = pb.ContainerSubState_CSS_RUNNING
)

// A shrunk container that its application freezes stays on record as shrunk: it is that when its application lets it go on. When it is given back
// first, its node has it stand still for its application alone, and that goes on record.
func TestShrunkContainersThatTheirApplicationFreezes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.decide(drive.Shrink, half)
		w.chosenBy = "root.b"
		w.reports(paused, false)
		w.expect(ledgerpb.Level_SHRUNK, half, 1)
		w.reports(runs, false)
		w.expect(ledgerpb.Level_SHRUNK, half, 1)
		w.reports(paused, false)
		w.chosenBy = ""
		w.decide(drive.Resume, claim)
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		if orders := w.sent(); orders[len(orders)-1].For != "root.b" || len(w.resumed()) > 0 {
			t.Errorf("the application's own wish is overridden: %+v", orders)
		}
		w.reports(paused, false)
		if w.expect(ledgerpb.Level_FROZEN, claim, 3); !w.stopped || w.State.Container(w.task).Suspension().Cause != (ledger.Cause{}) {
			t.Error("it doesn't stand still for its application")
		}
	})
}

// What an application has frozen, its node knows better than a new leader. People who resume it override its application.
func TestNodesKnowWhatApplicationsFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.reports(paused, false)
		w.expect(ledgerpb.Level_FROZEN, claim, 1)
		w.reports(runs, true)
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		if orders := w.sent(); len(orders) > 0 {
			t.Errorf("frozen again: %+v", orders)
		}
		w.reports(paused, false)
		w.returns = true
		if err := w.Levels.Resume(t.Context(), w.task); err != nil {
			t.Fatal(err)
		}
		if w.expect(ledgerpb.Level_RUNNING, claim, 4); len(w.resumed()) != 1 {
			t.Errorf("its application has it stand still: %+v", w.resumed())
		}
	})
}
