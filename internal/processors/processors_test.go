package processors

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A process that has much to do gets all processors at once, and has one again when it has had little to do for a while.
func TestOneProcessorWhileItIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spent atomic.Int64
		var got []bool
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			spare(ctx, func() time.Duration { return time.Duration(spent.Load()) }, func(one bool) { got = append(got, one) })
		}()
		work := func(share float64, intervals int, want ...bool) {
			t.Helper()
			for range intervals {
				spent.Add(int64(share * float64(interval)))
				time.Sleep(interval)
				synctest.Wait()
			}
			if !slices.Equal(got, want) {
				t.Errorf("after %d intervals with a share of %g: %v, want %v", intervals, share, got, want)
			}
			got = nil
		}
		synctest.Wait()
		work(0.6, 3*calm, true)
		work(0.8, 1, false)
		work(1.7, calm)
		work(0.5, 3*calm)
		work(0.2, calm-1)
		work(0.5, 1)
		work(0.2, calm-1)
		work(0.2, 1, true)
		cancel()
		<-ended
	})
}

func TestUsedGrows(t *testing.T) {
	before := used()
	for used() == before {
	}
	if used() < before {
		t.Error("it shrinks")
	}
}
