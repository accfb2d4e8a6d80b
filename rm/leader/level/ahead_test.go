package level_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/rm/leader/level"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// The node of a container that is paged out hears when room waits for its return, and when it does so no more. An answer that doesn't come changes nothing.
func TestNodesHearThatRoomWaits(t *testing.T) {
	almost, little := records.NewResource(1023, 2), records.NewResource(64, 0)
	for name, c := range map[string]struct {
		features []string
		want     []bool
	}{
		"paged out":                {all, []bool{true, false, true}},
		"it can't be paged out":    {[]string{level.FeatureSuspend, level.FeatureLevels}, nil},
		"its node knows no levels": {[]string{level.FeatureSuspend}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := begin(t, c.features...)
				w.decide(drive.Suspend, little)
				w.answers(errors.New("no connection"))
				w.decide(drive.Charge, almost)
				w.decide(drive.Charge, little)
				w.decide(drive.Charge, almost)
				w.answers(nil)
				w.decide(drive.Resume, claim)
				if !slices.Equal(w.ahead, c.want) {
					t.Errorf("it was told %v", w.ahead)
				}
			})
		})
	}
}

// A container that preemption lets go on has its room, and nobody else would have it go on: its node is told again when it refuses.
func TestAReturnIsOrderedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, all...)
		w.decide(drive.Suspend, records.NewResource(64, 0))
		w.answers(refusal.New(refusal.Refused, "something else was asked for"))
		w.decide(drive.Resume, claim)
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
		w.answers(nil)
		before := len(w.sent())
		w.later(6 * time.Second)
		if sent := w.sent(); len(sent) != before+1 || sent[before].Level != ledgerpb.Level_RUNNING || sent[before].Version != 2 {
			t.Errorf("%+v", sent[before:])
		}
		w.later(6 * time.Second)
		if len(w.sent()) != before+1 {
			t.Error("it is told again after it has answered")
		}
		w.expect(ledgerpb.Level_RUNNING, claim, 2)
	})
}
