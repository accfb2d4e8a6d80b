// Package pause waits for a duration, or until a context ends.
package pause

import (
	"context"
	"time"
)

// For waits for d. It returns early, with the cause of ctx's end, if that comes first.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
