// Package failures tells which failed attempts count against an application. It is pure.
package failures

import (
	"fmt"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Limits words the limits of attempts as Hadoop does.
func Limits(app *ledger.Application, global int32) string {
	var words string
	if validity := app.Context.GetAttemptFailuresValidityInterval(); validity > 0 {
		words = fmt.Sprintf(" in previous %d milliseconds", validity)
	}
	if global != app.MaxAttempts {
		words += fmt.Sprintf(" (global limit =%d; local limit is =%d)", global, app.MaxAttempts)
	}
	return words
}

// Count counts the failed attempts that count at a time, in ms since 1970: not excused, and not before the validity interval.
func Count(app *ledger.Application, now int64) int32 {
	validity := app.Context.GetAttemptFailuresValidityInterval()
	var n int32
	for _, a := range app.Attempts {
		if a.State != ledger.AttemptFailed || a.Excused {
			continue
		}
		if validity > 0 && now-a.FinishTime > validity {
			continue
		}
		n++
	}
	return n
}

// Excused reports whether an exit status is not the application's fault (Hadoop:
// RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry).
func Excused(exit int32) bool {
	switch exit {
	case records.ExitPreempted, records.ExitAborted, records.ExitDisksFailed, records.ExitKilledByResourceManager:
		return true
	}
	return false
}
