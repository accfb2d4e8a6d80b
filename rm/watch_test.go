package rm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A file is read at the next look after it has rested, once; one that is wrong is tried again, told of once, and leaves what was
// there in force until it is mended.
func TestChangedFilesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var mu sync.Mutex // what follows is both sides'
		changed := begin.Add(-time.Hour)
		var reads, told []int
		var wrong error
		change := func(at time.Time, err error) {
			mu.Lock()
			defer mu.Unlock()
			changed, wrong = at, err
		}
		second := func() int { return int(time.Since(begin) / time.Second) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			watchFile(ctx, fairFileInterval, func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return changed
			}, func() error {
				mu.Lock()
				defer mu.Unlock()
				reads = append(reads, second())
				return wrong
			}, func(error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, second())
			})
		}()
		until := func(seconds int) {
			time.Sleep(time.Until(begin.Add(time.Duration(seconds)*time.Second + time.Millisecond)))
			synctest.Wait()
		}
		expect := func(what string, got *[]int, want ...int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(*got, want) {
				t.Fatalf("%s at %v, want %v", what, *got, want)
			}
		}
		until(12)
		expect("read", &reads)
		change(time.Now(), nil) // 12: rests when it is looked at next
		until(17)
		change(time.Now(), nil) // 17: somebody is still at it at 20
		until(29)
		expect("read", &reads)
		until(51)
		expect("read", &reads, 30)
		change(time.Now(), errors.New("two queues of one name")) // 51
		until(71)
		expect("read", &reads, 30, 60, 70)
		expect("told", &told, 60)
		change(time.Time{}, nil) // the file is away
		until(91)
		expect("read", &reads, 30, 60, 70)
		change(time.Now(), nil) // 91: mended
		until(121)
		expect("read", &reads, 30, 60, 70, 100)
		expect("told", &told, 60)
		cancel()
		<-done
	})
}
