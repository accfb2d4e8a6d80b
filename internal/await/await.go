// Package await lets tests wait until other goroutines or processes have done something.
package await

import (
	"testing"
	"time"
)

// patience is how long something may take. It is long, as it only passes where a test fails: machines that run tests are
// often short of time.
const patience = 2 * time.Minute

// pause is the time between two looks. It is short, as what is waited for may not last.
const pause = 2 * time.Millisecond

// Until returns when ok says that something is so. It fails the test if it was in vain for two minutes.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	Value(t, what, func() (struct{}, bool) { return struct{}{}, ok() })
}

// Slowly is Until for what whole jobs bring about and commands are asked for: it waits for five minutes, and looks every 200 ms.
func Slowly(t testing.TB, what string, ok func() bool) {
	t.Helper()
	value(t, what, 5*time.Minute, 200*time.Millisecond, func() (struct{}, bool) { return struct{}{}, ok() })
}

// Value is like Until, and returns what was found.
func Value[T any](t testing.TB, what string, find func() (T, bool)) T {
	t.Helper()
	return value(t, what, patience, pause, find)
}

func value[T any](t testing.TB, what string, patience, pause time.Duration, find func() (T, bool)) T {
	t.Helper()
	out := time.NewTimer(patience)
	defer out.Stop()
	for {
		if v, ok := find(); ok {
			return v
		}
		select {
		case <-time.After(pause):
		case <-out.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
