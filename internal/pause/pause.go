// Package pause waits for a duration, or until a context ends.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends first, it returns the cause of that at once.
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
