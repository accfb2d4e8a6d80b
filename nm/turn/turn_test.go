package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"heddle/nm/turn"
)

// A part of a turn that yields ends when somebody waits who is urgent enough, also if that one came before it.
func TestYield(t *testing.T) {
	for _, to := range []turn.Urgency{turn.Breath, turn.Change, turn.Command} {
		for _, waits := range []turn.Urgency{turn.Chore, turn.Breath, turn.Change, turn.Command} {
			synctest.Test(t, func(t *testing.T) {
				q := turn.New()
				if q.Blocks(waits) {
					t.Error("it is nobody's turn")
				}
				if err := q.Take(t.Context(), turn.Command); err != nil {
					t.Fatal(err)
				}
				if !q.Blocks(waits) {
					t.Error("nothing gives way yet")
				}
				part, done := q.Yield(t.Context(), to)
				if q.Blocks(waits) != (waits < to) {
					t.Errorf("what gives way to %d blocks %d: %v", to, waits, q.Blocks(waits))
				}
				next := make(chan error)
				go func() { next <- q.Take(t.Context(), waits) }()
				synctest.Wait()
				if ended := part.Err() != nil; ended != (waits >= to) {
					t.Errorf("what gives way to %d has ended for %d: %v", to, waits, ended)
				}
				done()
				late, done := q.Yield(t.Context(), to)
				if ended := late.Err() != nil; ended != (waits >= to) {
					t.Errorf("what gives way to %d has ended for %d, who waited before: %v", to, waits, ended)
				}
				done()
				q.Leave()
				if err := <-next; err != nil {
					t.Error(err)
				}
				q.Leave()
			})
		}
	}
}

// Who waits no more has nothing give way.
func TestTakeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := turn.New()
		if err := q.Take(t.Context(), turn.Command); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		next := make(chan error)
		go func() { next <- q.Take(ctx, turn.Command) }()
		synctest.Wait()
		cancel()
		if err := <-next; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		part, done := q.Yield(t.Context(), turn.Breath)
		if part.Err() != nil {
			t.Error("it gives way")
		}
		done()
	})
}

// A turn ends with either context, and is counted.
func TestBegin(t *testing.T) {
	for _, life := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := turn.New()
			one, cancelOne := context.WithCancel(t.Context())
			other, cancelOther := context.WithCancel(t.Context())
			defer cancelOne()
			both, leave, err := q.Begin(one, other, turn.Change)
			if err != nil || both.Err() != nil {
				t.Fatal(err, both.Err())
			}
			late := make(chan error)
			go func() {
				_, _, err := q.Begin(one, other, turn.Command)
				late <- err
			}()
			synctest.Wait()
			if life {
				cancelOther()
			} else {
				cancelOne()
			}
			synctest.Wait()
			if err := <-late; !errors.Is(err, context.Canceled) || both.Err() == nil {
				t.Errorf("%v, %v", err, both.Err())
			}
			leave()
			cancelOther()
			if q.Blocks(turn.Command) || q.Taken(turn.Change) != 1 || q.Taken(turn.Command) != 0 {
				t.Errorf("%d changes, %d commands", q.Taken(turn.Change), q.Taken(turn.Command))
			}
		})
	}
}
