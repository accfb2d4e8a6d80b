package rest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Requests that run out of patience at the same moment cut off one client between them. The next one goes only when what
// the first one held wasn't enough.
func TestRequestsThatWaitTogetherCutOffOneClientAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		var cut []string
		holders := map[string]*share{}
		for _, name := range []string{"first", "second"} {
			s := b.open(func() { cut = append(cut, name) })
			if err := s.take(t.Context(), 5); err != nil {
				t.Fatal(err)
			}
			holders[name] = s
			time.Sleep(time.Second)
		}
		served := 0
		for range 2 {
			waiter := b.open(func() { cut = append(cut, "a waiter") })
			go func() {
				if err := waiter.take(t.Context(), 5); err != nil {
					t.Error(err)
				}
				served++
			}()
		}
		time.Sleep(budgetGrace)
		synctest.Wait()
		if !slices.Equal(cut, []string{"first"}) {
			t.Errorf("at first cut off: %v", cut)
		}
		holders["first"].close()
		synctest.Wait()
		if !slices.Equal(cut, []string{"first", "second"}) || served != 1 {
			t.Errorf("cut off when the first had gone: %v, %d served", cut, served)
		}
		holders["second"].close()
		synctest.Wait()
		if len(cut) != 2 || served != 2 {
			t.Errorf("cut off in the end: %v, %d served", cut, served)
		}
	})
}
