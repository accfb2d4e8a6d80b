package leader

import (
	"slices"
	"testing"
	"time"

	"heddle/yarn/records"
)

// What goes through very many things lets the loop do something else in between.
func TestLongQuestionsDontHoldTheLoop(t *testing.T) {
	run(t, func(w *world) {
		var seen []int
		var between []chan error
		err := w.inSlices(2*sliceSize, func(l *turn, from, to int, again func() bool) int {
			if to-from > sliceSize {
				t.Errorf("%d at once", to-from)
			}
			between = append(between, make(chan error, 1)) // answered before the next slice, which comes later
			w.ops <- &op{run: func(*turn) error { return nil }, done: between[len(between)-1]}
			for i := from; i < to; i++ {
				seen = append(seen, i)
				if i < 10 {
					time.Sleep(sliceTime)
				}
				if !again() {
					return i + 1
				}
			}
			return to
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, done := range between {
			<-done
		}
		if len(between) < 11 {
			t.Errorf("%d slices", len(between))
		}
		if len(seen) != 2*sliceSize || !slices.IsSorted(seen) {
			t.Errorf("%d were seen", len(seen))
		}
	})
}

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
