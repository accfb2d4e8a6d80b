package awake

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since the machine started, with the time in which it slept.
func sinceBoot() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano()), err == nil
}
