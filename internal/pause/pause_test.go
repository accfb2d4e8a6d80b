package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/pause"
)

func TestAPauseEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause.For(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(why) })
		began = time.Now()
		if err := pause.For(ctx, time.Minute); !errors.Is(err, why) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
