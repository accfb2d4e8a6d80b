package pause_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"heddle/internal/pause"
)

// It doesn't end early, and ends at once with its context, before and while it waits.
func TestExactly(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 1, time.Millisecond} {
		began := time.Now()
		if err := pause.Exactly(t.Context(), d); err != nil || time.Since(began) < d {
			t.Errorf("%v after %v of %v", err, time.Since(began), d)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(time.Millisecond, func() { cancel(why) })
	for range 2 {
		if err := pause.Exactly(ctx, time.Hour); !errors.Is(err, why) {
			t.Error(err)
		}
	}
}
