package loop

import (
	"context"
	"time"

	"heddle/rm/ledger/ledgerpb"
)

// Operations is what the parts of a leader have of its loop, beside their ledger and the scheduler. The leader's core has it (a Loop and a
// pipeline.Pipeline), and looptest.Loop in tests. Do, Go and InSlices may be called from anywhere, the others in operations alone.
type Operations interface {
	// Now returns the loop's time, for durations: it forgives a standstill of the process.
	Now() time.Time
	// Date returns the loop's time, for dates that others see or set.
	Date() time.Time
	// Time returns the date of the batch that Enter adds to, in ms since the epoch.
	Time() int64

	// Do runs an operation, and returns once everything that was entered by its end is committed.
	Do(run func() error) error
	// Go runs f beside the operations, in a context that ends with the leadership.
	Go(f func(ctx context.Context))
	// InSlices runs f in as many operations as it needs for n things, so that others come in between.
	InSlices(n int, f func(from, to int, more func() bool) (next int)) error

	// Enter applies a command to the working copy of the ledger, and adds it to the batch.
	Enter(c *ledgerpb.Command)
	// AfterCommit has f called once everything entered so far is committed, and never if that never happens.
	AfterCommit(f func())
}
