package leader

import (
	"testing"

	"heddle/rm/leader/refusal"
	"heddle/yarn/records"
)

// After a change of leaders another user took an id that was issued before, and its owner's submission was answered with success.
func TestIDsOfOthersAreRefusedAfterAChangeOfLeaders(t *testing.T) {
	run(t, func(w *world) {
		w.raise()
		ids := make([]records.ApplicationID, 2)
		for i := range ids {
			id, _, err := w.NewApplication("bob")
			if err != nil {
				t.Fatal(err)
			}
			ids[i] = id
		}
		for _, id := range ids {
			if err := w.Submit("mallory", submission(id, nil)); !refusal.Is(err, refusal.AccessDenied) || w.app(id) != nil {
				t.Errorf("taken: %v", err)
			}
			for range 2 { // clients repeat it when they don't hear the answer
				if err := w.Submit("bob", submission(id, nil)); err != nil {
					t.Error(err)
				}
			}
			if err := w.Submit("mallory", submission(id, nil)); !refusal.Is(err, refusal.AccessDenied) {
				t.Errorf("success for an application of another user: %v", err)
			}
			if got := w.app(id).User; got != "bob" {
				t.Errorf("it is of %s", got)
			}
			w.depose()
			w.lead()
			w.Settings.MaySubmit = func(string, string) bool { return false }
			if err := w.Submit("bob", submission(id, nil)); err != nil {
				t.Errorf("repeated after a change of leaders, and of the queue's lists: %v", err)
			}
			w.Settings.MaySubmit = nil
		}
		w.same()
	})
}

// Ids of applications that were forgotten were taken again: containers got the ids of others. Ids that nobody issued are admitted as in YARN,
// and issued to nobody else.
func TestIDsOfForgottenApplicationsAreRefused(t *testing.T) {
	run(t, func(w *world) {
		w.raise()
		old := w.submit(nil)
		for range w.Settings.MaxCompleted + 1 {
			id := w.submit(nil)
			if err := w.Kill(id, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Kill(old, ""); err != nil {
			t.Fatal(err)
		}
		forgotten := records.ApplicationID{ClusterTimestamp: old.ClusterTimestamp, ID: old.ID + 1}
		if w.app(forgotten) != nil {
			t.Fatal("it isn't forgotten")
		}
		if err := w.Submit("alice", submission(forgotten, nil)); !refusal.Is(err, refusal.Refused) || w.app(forgotten) != nil {
			t.Errorf("a forgotten id: %v", err)
		}
		next := records.ApplicationID{ClusterTimestamp: old.ClusterTimestamp, ID: w.state().LastApplication + 1}
		for _, id := range []records.ApplicationID{{ClusterTimestamp: old.ClusterTimestamp - 1, ID: old.ID}, next} {
			if err := w.Submit("alice", submission(id, nil)); err != nil || w.app(id) == nil {
				t.Errorf("%v, which nobody issued: %v", id, err)
			}
		}
		if id, _, err := w.NewApplication("bob"); err != nil || id.ID != next.ID+1 {
			t.Errorf("%v is issued after %v was taken: %v", id, next, err)
		}
	})
}
