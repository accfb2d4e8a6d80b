// Package within limits the wait for calls that can't be interrupted, such as those to a disk that doesn't answer.
package within

import (
	"context"
	"sync"
	"time"
)

// Do returns the results of f, or the error of ctx if that ends first. Then f continues in the background, and the
// caller must not touch what f uses.
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

// Wait reports whether all of a group have ended within the time. It doesn't stop those that haven't.
func Wait(wg *sync.WaitGroup, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	_, err := Do(ctx, func() (struct{}, error) {
		wg.Wait()
		return struct{}{}, nil
	})
	return err == nil
}
