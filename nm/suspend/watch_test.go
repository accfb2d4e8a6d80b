package suspend

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A vigil ends when there is nothing to look at, and begins again with what stands still later, also if that comes during its last look.
func TestVigilsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v Vigil
		ctx, cancel := context.WithCancel(t.Context())
		var looks, runs, left atomic.Int64
		left.Store(3)
		var begin func()
		var during atomic.Bool
		begin = func() {
			v.Begin(ctx, func(f func()) {
				runs.Add(1)
				go func() {
					f()
					runs.Add(-1)
				}()
			}, func() bool {
				looks.Add(1)
				left.Add(-1)
				if during.Swap(false) {
					begin()
				}
				return left.Load() > 0
			})
		}
		expect := func(after time.Duration, wantLooks, wantRuns int64) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if looks.Load() != wantLooks || runs.Load() != wantRuns {
				t.Errorf("%d looks, %d under way; want %d and %d", looks.Load(), runs.Load(), wantLooks, wantRuns)
			}
		}
		begin()
		begin()
		expect(VigilPause-1, 0, 1)
		expect(1, 1, 1)
		expect(10*VigilPause, 3, 0)
		begin()
		during.Store(true)
		expect(10*VigilPause, 5, 0) // the look that finds nothing, and one more
		left.Store(100)
		begin()
		expect(VigilPause, 6, 1)
		cancel()
		expect(10*VigilPause, 6, 0)
	})
}

// What somebody has done to a container that stands still past the NodeManager is found, and undone as far as that can be.
func TestDoneToPastTheNodeManager(t *testing.T) {
	for name, c := range map[string]struct {
		order Order
		past  func(f *fake)
		found []string
		did   []string
		holds int64 // MB, when it is found
	}{
		"nothing":           {at(Reclaimed, 64, 0), func(*fake) {}, nil, nil, 64},
		"it runs":           {at(Running, 1024, 2), func(*fake) {}, nil, nil, 1024},
		"thawed":            {at(Frozen, 1024, 0), func(f *fake) { f.frozen = false }, []string{foundThawed}, []string{"freeze"}, 1024},
		"swap removed":      {at(Reclaimed, 64, 0), func(f *fake) { f.anon, f.swapped = 600<<20, 0 }, []string{foundGrown}, nil, 600},
		"a few pages more":  {at(Reclaimed, 64, 0), func(f *fake) { f.anon += 3 << 20 }, nil, nil, 64},
		"more than it has":  {at(Reclaimed, 64, 0), func(f *fake) { f.anon = 2 << 30 }, []string{foundGrown}, nil, 1024},
		"thawed and it ran": {at(Reclaimed, 64, 0), func(f *fake) { f.frozen, f.anon = false, 300<<20 }, []string{foundThawed, foundGrown}, []string{"freeze"}, 300},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			l := NewLadder(f, &Node{})
			if err := l.Set(t.Context(), c.order); err != nil {
				t.Fatal(err)
			}
			c.past(f)
			f.did, f.let = nil, nil
			found, err := l.Watch(t.Context())
			if grown := slices.Contains(found, foundGrown); grown && !slices.Equal(f.let, []int64{c.holds}) || !grown && len(f.let) > 0 {
				t.Errorf("the node's room hears of %v", f.let)
			}
			if s := l.State(); err != nil || !slices.Equal(found, c.found) || !slices.Equal(f.did, c.did) || s.Holds.MemoryMB() != c.holds || s.Lags() != (c.holds != c.order.Held.MemoryMB()) {
				t.Errorf("found %q, %v; did %q; it is %+v", found, err, f.did, s)
			}
			if err := l.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := l.State(); s.Lags() || s.Reason != "" || f.frozen != c.order.Level.Still() {
				t.Errorf("at last %+v, frozen %v", s, f.frozen)
			}
		})
	}
}
