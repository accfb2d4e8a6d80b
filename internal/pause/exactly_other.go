//go:build !linux

package pause

import (
	"context"
	"time"
)

// Exactly waits for d, or until ctx ends.
func Exactly(ctx context.Context, d time.Duration) error { return For(ctx, d) }
