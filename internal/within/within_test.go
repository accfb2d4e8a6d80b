package within

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		end := make(chan struct{})
		wg.Go(func() { <-end })
		began := time.Now()
		if Wait(&wg, time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("waited %v for what doesn't end", time.Since(began))
		}
		close(end)
		if !Wait(&wg, time.Minute) || time.Since(began) != time.Minute {
			t.Error("all have ended")
		}
	})
}
