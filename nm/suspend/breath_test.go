package suspend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A breath lasts as long as a container has something to do, and no longer than a second. After it the container holds what it held.
func TestLengthOfABreath(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(f *fake)
		stop  time.Duration // 0: never
		want  time.Duration
	}{
		"nothing to do":    {func(*fake) {}, 0, shortestBreath},
		"always busy":      {func(f *fake) { f.cpu = func() time.Duration { return time.Since(f.thawed) } }, 0, longestBreath},
		"busy for a while": {func(f *fake) { f.cpu = func() time.Duration { return min(300*time.Millisecond, time.Since(f.thawed)) } }, 0, 400 * time.Millisecond},
		"it waits for its memory": {func(f *fake) {
			f.pagesBack = func(since time.Duration) int64 {
				if since < 500*time.Millisecond {
					return 8 << 20
				}
				return 0
			}
		}, 0, 550 * time.Millisecond},
		"somebody wants it back": {func(f *fake) { f.cpu = func() time.Duration { return time.Since(f.thawed) } }, 70 * time.Millisecond, 70 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				l := NewLadder(f, &Node{})
				if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
					t.Fatal(err)
				}
				before := l.State()
				time.Sleep(time.Minute)
				c.begin(f)
				f.did = nil
				begun, stop := time.Now(), make(chan struct{})
				if c.stop > 0 {
					time.AfterFunc(c.stop, func() { close(stop) })
				}
				if err := l.Breathe(t.Context(), 256<<20, stop); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took != c.want {
					t.Errorf("it took %v", took)
				}
				if first := strings.Join(f.did[:3], ", "); first != "hold 320/2 page, thaw, freeze" {
					t.Errorf("it did %s", first)
				}
				s := l.State()
				if s.Have != Reclaimed || s.Lags() || s.Since != before.Since || s.LastBreath != begun || f.held != r(64, 0) || !f.frozen {
					t.Errorf("after it: %+v, limited to %v, frozen %v", s, f.held, f.frozen)
				}
			})
		})
	}
}

// Nobody breathes who runs, and one that only stands still has all of its memory anyway.
func TestBreathsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		l := NewLadder(f, &Node{})
		if err := l.Breathe(t.Context(), 1<<20, nil); err != nil || len(f.did) > 0 {
			t.Errorf("running: %v, %q", err, f.did)
		}
		if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
			t.Fatal(err)
		}
		f.did = nil
		if err := l.Breathe(t.Context(), 1<<20, nil); err != nil || !slices.Equal(f.did, []string{"thaw", "freeze"}) {
			t.Errorf("frozen: %v, %q", err, f.did)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		begun := time.Now()
		if err := l.Breathe(ctx, 1<<20, nil); !errors.Is(err, context.Canceled) || time.Since(begun) != 10*time.Millisecond {
			t.Errorf("killed: %v after %v", err, time.Since(begun))
		}
	})
}

// Containers breathe one after the other, each at its period. Where there is no time for all, all get their share of it.
func TestBreathsOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaths(7)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Run(ctx)
		}()
		var at atomic.Int32
		count := make(map[string]int)
		var last []time.Duration
		begun := time.Now()
		breathe := func(name string) func(context.Context, int64) {
			return func(_ context.Context, allowance int64) {
				if at.Add(1) > 1 || allowance != 7 {
					t.Error("two breathe at once, or have another allowance")
				}
				time.Sleep(time.Second)
				at.Add(-1)
				count[name]++
				if name == "a" {
					last = append(last, time.Since(begun)-time.Second)
				}
			}
		}
		b.Set("a", 45*time.Second, breathe("a"))
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if !slices.Equal(last, []time.Duration{45 * time.Second, 90 * time.Second}) {
			t.Errorf("alone it breathed at %v", last)
		}
		b.Set("a", 0, nil)
		clear(count)
		names := strings.Split("bcdefghijk", "")
		for _, name := range names {
			b.Set(name, 5*time.Second, breathe(name))
		}
		time.Sleep(105*time.Second + 500*time.Millisecond)
		synctest.Wait()
		cancel()
		<-done
		for _, name := range names {
			if count[name] < 9 || count[name] > 11 {
				t.Errorf("of 10 that take a second, and want one of 5 s, %s breathed %d times in 100 s", name, count[name])
			}
		}
		if count["a"] > 0 {
			t.Error("one that has gone still breathes")
		}
	})
}
