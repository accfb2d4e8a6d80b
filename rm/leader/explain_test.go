package leader

import (
	"testing"

	"heddle/yarn/records"
)

// All applications of a listing are explained, those that have ended and those that are named twice as well.
func TestExplainManyApplications(t *testing.T) {
	run(t, func(w *world) {
		var ids []records.ApplicationID
		for range 5 {
			ids = append(ids, w.submit(nil))
		}
		if err := w.Kill(ids[2], ""); err != nil {
			t.Fatal(err)
		}
		got, err := w.Explain(append(ids, ids[0])...)
		if err != nil || len(got) != 4 || len(got[ids[1]]) != 1 || len(got[ids[2]]) != 0 || len(got[ids[0]]) != 2 {
			t.Errorf("%v, %v", got, err)
		}
	})
}
