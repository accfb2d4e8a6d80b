// Package within limits the wait for calls that can't be interrupted, such as those to a disk that doesn't answer.
package within

import (
	"context"
	"sync"
	"time"
)

// Do returns what f does, or the error of ctx when that ends before. Then f goes on beside the caller, which must not
// touch what f works with.
func Do[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// Wait reports whether all of a group have ended in that time. If not, it leaves them alone.
func Wait(wg *sync.WaitGroup, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	_, err := Do(ctx, func() (struct{}, error) {
		wg.Wait()
		return struct{}{}, nil
	})
	return err == nil
}
