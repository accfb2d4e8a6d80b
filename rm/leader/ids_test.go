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

// Ids that nobody issued were taken, and so were those of applications that were forgotten: containers got the ids of others.
func TestIDsThatNobodyIssuedAreRefused(t *testing.T) {
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
		for name, id := range map[string]records.ApplicationID{
			"forgotten": forgotten, "of another cluster": {ClusterTimestamp: old.ClusterTimestamp - 1, ID: old.ID},
			"not yet issued": {ClusterTimestamp: old.ClusterTimestamp, ID: w.state().LastApplication + 1},
		} {
			if err := w.Submit("alice", submission(id, nil)); !refusal.Is(err, refusal.Refused) || w.app(id) != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
