package awake

import (
	"testing"
	"testing/synctest"
	"time"
)

// A machine that slept had lost no time: Go's monotonic clock stands still meanwhile.
func TestSleepOfTheMachineIsTimeThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, slept := time.Now(), time.Duration(0)
		now := elapsed(func() (time.Duration, bool) { return time.Hour + time.Since(begun) + slept, true })
		for _, x := range []struct{ runs, sleeps, want time.Duration }{
			{0, 0, 0},
			{time.Second, 0, time.Second},
			{time.Second, time.Minute, time.Minute + 2*time.Second},
			{sleepCheck, time.Hour, time.Hour + time.Minute + 2*time.Second + sleepCheck},
		} {
			time.Sleep(x.runs)
			slept += x.sleeps
			if got := now(); got != x.want {
				t.Errorf("%v have passed, want %v", got, x.want)
			}
		}
	})
}

func TestElapsedOfThisMachine(t *testing.T) {
	now := Elapsed()
	if a, b := now(), now(); a < 0 || b < a || b > time.Hour {
		t.Errorf("%v, then %v", a, b)
	}
}
