// Package await lets tests wait until other goroutines or processes have done something.
package await

import (
	"testing"
	"time"
)

// patience bounds a wait. It is long because it only passes when a test fails, and machines that run tests are often
// overloaded.
const patience = 2 * time.Minute

// pause is the time between two calls of the condition. It is short because the condition may hold only briefly.
const pause = 2 * time.Millisecond

// Until returns when ok returns true. It fails the test after two minutes. what says what the test waits for.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	Value(t, what, func() (struct{}, bool) { return struct{}{}, ok() })
}

// Slowly is Until for whole jobs and for commands: it waits for five minutes, and calls ok every 200 ms.
func Slowly(t testing.TB, what string, ok func() bool) {
	t.Helper()
	value(t, what, 5*time.Minute, 200*time.Millisecond, func() (struct{}, bool) { return struct{}{}, ok() })
}

// Value is like Until, and returns the value that find found.
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
