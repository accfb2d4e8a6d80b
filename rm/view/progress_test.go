package view

import (
	"testing"
	"time"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// An application that ended before anybody launched its ApplicationMaster was shown as done, launched at −1. Stock's has progress 0 and launch
// time 0; one that was launched and killed is at 100, and an unmanaged one was launched at −1.
func TestApplicationsThatEndedBeforeTheirLaunchHaveMadeNoProgress(t *testing.T) {
	s := ledger.New()
	type shown struct {
		progress float32
		launched int64
	}
	want := map[records.ApplicationID]shown{}
	add := func(n int32, state ledger.AppState, unmanaged bool, launched int64, progress shown, attempts ...ledger.AttemptState) {
		id := appID(n)
		a := &ledger.Application{ID: id, State: state, Context: pb.ApplicationSubmissionContext_builder{UnmanagedAm: &unmanaged}.Build(), SubmitTime: 100, LaunchTime: launched, FinishTime: 200}
		for i, at := range attempts {
			a.Attempts = append(a.Attempts, &ledger.Attempt{ID: records.AttemptID{App: id, Attempt: int32(i + 1)}, State: at, StartTime: 101, LaunchTime: launched})
		}
		s.Apps[id], want[id] = a, progress
	}
	add(1, ledger.AppFailed, false, 0, shown{}) // refused: it never had an attempt
	add(2, ledger.AppKilled, false, 0, shown{}, ledger.AttemptKilled)
	add(3, ledger.AppKilled, false, 150, shown{1, 150}, ledger.AttemptKilled)
	add(4, ledger.AppFinished, false, 150, shown{1, 150}, ledger.AttemptFinished)
	add(5, ledger.AppKilled, true, 150, shown{1, -1}, ledger.AttemptKilled)
	v := &Viewer{Source: fixed{s}, Now: time.Now}
	for id, x := range want {
		app, ok := v.App(id)
		if got := (shown{app.Progress, app.LaunchTime}); !ok || got != x {
			t.Errorf("%v (%v): %+v, want %+v", id, app.State, got, x)
		}
	}
}
