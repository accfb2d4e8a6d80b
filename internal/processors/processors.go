// Package processors lets a process that mostly waits use one processor at a time while that is enough for it.
//
// Go wakes a second thread whenever a goroutine may run and another processor is idle, as a second thing may come. In processes that pass messages on
// there is none: the thread looks for work, and sleeps again. That takes a third of their processor time, and the time of the programs beside them.
package processors

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Shares of one processor, measured over an interval.
const (
	interval = 100 * time.Millisecond
	// enough is up to where one processor does. Above it goroutines would wait for each other.
	enough = 0.7
	little = 0.35
	// calm is how many intervals with little to do make one processor enough again.
	calm = 10
)

// Spare makes this process use one processor while that is enough, and otherwise as many as it could use before, until ctx ends or stop is called.
// GOMAXPROCS takes precedence.
func Spare(ctx context.Context) (stop func()) {
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		spare(ctx, used, set)
		set(false)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// set lets Go use one processor, or as many as the machine and its limits allow.
func set(one bool) {
	if one {
		runtime.GOMAXPROCS(1)
	} else {
		runtime.SetDefaultGOMAXPROCS()
	}
}

func spare(ctx context.Context, used func() time.Duration, set func(one bool)) {
	t := time.NewTicker(interval)
	defer t.Stop()
	set(true)
	one, quiet := true, 0
	at, before := time.Now(), used()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, after := time.Now(), used()
		share := float64(after-before) / float64(max(now.Sub(at), 1))
		at, before = now, after
		if share >= little {
			quiet = 0
		} else {
			quiet++
		}
		if wanted := one && share < enough || quiet >= calm; wanted != one {
			one = wanted
			set(one)
		}
	}
}

// used returns the processor time of this process so far, without those that it has started.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
