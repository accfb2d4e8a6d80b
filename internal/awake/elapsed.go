package awake

import (
	"sync"
	"time"
)

// sleepCheck is how often Elapsed looks whether the machine has slept: each look is a system call.
const sleepCheck = 100 * time.Millisecond

// Elapsed returns a clock that shows the time since any moment, never goes back, and also counts the time in which the machine sleeps, as far as the system
// knows it. (Go's own monotonic time is suspended meanwhile.) The function may be called from any goroutine.
func Elapsed() func() time.Duration { return elapsed(sinceBoot) }

func elapsed(boot func() (time.Duration, bool)) func() time.Duration {
	var mu sync.Mutex
	begun := time.Now()
	first, known := boot()
	var slept, next time.Duration
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		ran := time.Since(begun)
		if known && ran >= next {
			next = ran + sleepCheck
			if now, ok := boot(); ok {
				slept = max(slept, now-first-ran)
			}
		}
		return ran + slept
	}
}
