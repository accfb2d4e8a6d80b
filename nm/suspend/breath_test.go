package suspend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// A container that has more than a breath would give it, as its memory can't be paged out, breathes with that. Where the limit can't be changed for another
// reason, it doesn't breathe.
func TestBreathsOfOneThatHasMore(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{{syscall.EBUSY, "hold 64/2 page, thaw, freeze"}, {syscall.EIO, "hold 64/2 page"}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			l := NewLadder(f, &Node{})
			if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
				t.Fatal(err)
			}
			f.did, f.denies = nil, fmt.Errorf("limit group: %w", c.err)
			err := l.Breathe(t.Context(), 0, nil)
			if breathed := !l.State().LastBreath.IsZero(); breathed != (c.err == syscall.EBUSY) || breathed != (err == nil) {
				t.Errorf("%v: it breathed: %v, %v", c.err, breathed, err)
			}
			if first := strings.Join(f.did[:min(len(f.did), 3)], ", "); first != c.want {
				t.Errorf("%v: it did %s", c.err, first)
			}
		})
	}
}

// Where the node says how long breaths are, that is so, whatever the container does and says.
func TestBreathsOfAFixedLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.cpu = func() time.Duration { return time.Since(f.thawed) }
		l := NewLadder(f, &Node{BreathLength: 300 * time.Millisecond})
		if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		for _, want := range []time.Duration{300 * time.Millisecond, 70 * time.Millisecond} {
			begun := time.Now()
			if err := l.Breathe(t.Context(), 0, stop); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took != want {
				t.Errorf("it took %v, want %v", took, want)
			}
			time.AfterFunc(70*time.Millisecond, func() { close(stop) })
		}
		if s := l.State(); s.Again || s.Have != Reclaimed || !f.frozen {
			t.Errorf("%+v, frozen %v", s, f.frozen)
		}
	})
}

// A breath lasts until each connection that was in use when the container was stopped has said something and heard the answer, whatever else the
// container does; one that isn't used any more is waited for twice.
func TestABreathWaitsForHeartbeats(t *testing.T) {
	const never = -1
	busy := func(f *fake) { f.cpu = func() time.Duration { return time.Since(f.thawed) } }
	for name, c := range map[string]struct {
		peers []peer
		begin func(*fake)
		old   time.Duration // since the connections were used when the container is stopped
		want  []time.Duration
	}{
		"a heartbeat and its answer":                   {[]peer{{says: 80 * time.Millisecond, hears: 120 * time.Millisecond}}, busy, 0, []time.Duration{150 * time.Millisecond, 150 * time.Millisecond}},
		"nobody answers":                               {[]peer{{says: 80 * time.Millisecond, hears: never}}, busy, 0, []time.Duration{250 * time.Millisecond}},
		"the slower of two":                            {[]peer{{says: 10 * time.Millisecond, hears: 20 * time.Millisecond}, {says: 610 * time.Millisecond, hears: 620 * time.Millisecond}}, busy, 0, []time.Duration{650 * time.Millisecond}},
		"it takes longer than a second":                {[]peer{{says: 1510 * time.Millisecond, hears: 1510 * time.Millisecond}}, busy, 0, []time.Duration{1550 * time.Millisecond}},
		"it says nothing more, and works":              {[]peer{{says: never, hears: never}}, busy, 0, []time.Duration{extendedBreath, extendedBreath, extendedBreath, longestBreath, longestBreath}},
		"it says nothing more, and is idle":            {[]peer{{says: never, hears: never}}, nil, 0, []time.Duration{longestBreath, longestBreath, longestBreath, shortestBreath}},
		"it waits for a disk":                          {[]peer{{says: 2 * time.Second, hears: 2 * time.Second}}, func(f *fake) { f.working = func() bool { return true } }, 0, []time.Duration{2 * time.Second}},
		"no connections, and it waits for a processor": {[]peer{}, func(f *fake) { f.working = func() bool { return time.Since(f.thawed) < 400*time.Millisecond } }, 0, []time.Duration{450 * time.Millisecond}},
		"not in use":                                   {[]peer{{says: never, hears: never}}, nil, 16 * time.Second, []time.Duration{shortestBreath}},
		"still in use":                                 {[]peer{{says: 10 * time.Millisecond, hears: 10 * time.Millisecond}}, busy, 14 * time.Second, []time.Duration{look}},
		"it doesn't read":                              {[]peer{{says: 10 * time.Millisecond, hears: 10 * time.Millisecond, unread: 7}}, nil, 0, []time.Duration{longestBreath}},
		"it was closed":                                {[]peer{{says: never, hears: never, closes: true}}, busy, 0, []time.Duration{look, longestBreath}},
		"one of two is closed":                         {[]peer{{says: never, hears: never, closes: true}, {says: 210 * time.Millisecond, hears: 210 * time.Millisecond}}, busy, 0, []time.Duration{250 * time.Millisecond}},
		"no connections":                               {[]peer{}, busy, 0, []time.Duration{longestBreath}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.talks = []*peer{}
				for _, p := range c.peers {
					p.saidAt = time.Now()
					f.talks = append(f.talks, &p)
				}
				time.Sleep(c.old)
				var node Node
				l := NewLadder(f, &node)
				if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
					t.Fatal(err)
				}
				if c.begin != nil {
					c.begin(f)
				}
				var got []time.Duration
				for range c.want {
					time.Sleep(45 * time.Second)
					if err := l.Breathe(t.Context(), 0, nil); err != nil {
						t.Fatal(err)
					}
					got = append(got, l.State().Breathed)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("breaths of %v, want %v", got, c.want)
				}
				if n, _ := node.Totals.Breath.Get(); n != int64(len(c.want)) {
					t.Errorf("%d breaths are counted", n)
				}
			})
		})
	}
}

// What others have sent to a suspended container is read in its next breath, whatever else that waits for; what isn't read then is waited for
// again when more has come.
func TestABreathReadsWhatHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.cpu = func() time.Duration { return time.Since(f.thawed) }
		leader := &peer{says: 10 * time.Millisecond, hears: 20 * time.Millisecond, saidAt: time.Now()}
		task := &peer{says: -1, hears: -1, saidAt: time.Now().Add(-time.Hour), reads: 730 * time.Millisecond}
		f.talks = []*peer{leader, task}
		l := NewLadder(f, &Node{})
		if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		breathe := func(unheard bool) {
			t.Helper()
			time.Sleep(45 * time.Second)
			if err := l.Breathe(t.Context(), 0, nil); err != nil {
				t.Fatal(err)
			}
			s := l.State()
			if got = append(got, s.Breathed); s.Again != unheard {
				t.Errorf("breath %d: unheard %v", len(got), s.Again)
			}
		}
		comes := func() { task.unread, task.heard = 5, task.heard+5 }
		breathe(false)
		comes()
		breathe(false)
		breathe(false)
		task.reads = 0
		comes()
		breathe(true)
		breathe(false)
		comes()
		breathe(true)
		if want := []time.Duration{look, 750 * time.Millisecond, look, extendedBreath, look, extendedBreath}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// A breath that has waited in vain says so, as long as another one will wait for the same connection. One that was cut short doesn't.
func TestUnheardHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		p := &peer{says: -1, hears: -1, saidAt: time.Now()}
		f.talks = []*peer{p}
		l := NewLadder(f, &Node{})
		if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
			t.Fatal(err)
		}
		var got []bool
		breathe := func(stop <-chan struct{}) {
			t.Helper()
			time.Sleep(45 * time.Second)
			if err := l.Breathe(t.Context(), 0, stop); err != nil {
				t.Fatal(err)
			}
			got = append(got, l.State().Again)
		}
		breathe(nil)
		cut := make(chan struct{})
		close(cut)
		breathe(cut)
		breathe(nil)
		p.says = 0
		breathe(nil)
		p.says = -1
		for range patient + 1 {
			breathe(nil)
		}
		if want := []bool{true, false, true, false, true, true, false, false}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// Who has waited in vain breathes again soon, but never later than at its period.
func TestBreathsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaths(0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Run(ctx)
		}()
		begun := time.Now()
		var slow, quick []int
		b.Set("slow", 45*time.Second, func(context.Context, int64) {
			if slow = append(slow, int(time.Since(begun).Seconds())); len(slow) == 1 {
				b.Again("slow")
				b.Again("nobody")
			}
		})
		b.Set("quick", 7*time.Second, func(context.Context, int64) {
			if quick = append(quick, int(time.Since(begun).Seconds())); len(quick) == 1 {
				b.Again("quick")
			}
		})
		time.Sleep(101 * time.Second)
		cancel()
		<-done
		if !slices.Equal(slow, []int{45, 55, 100}) || !slices.Equal(quick[:3], []int{7, 14, 21}) {
			t.Errorf("%v, %v", slow, quick)
		}
	})
}

// A container that has only begun to work breathes for longer while nobody else waits, even after it has sent something, and again soon: unless it
// has nothing to do, or was cut short.
func TestBreathsOfOneThatBegins(t *testing.T) {
	works := func(long time.Duration) func(f *fake) func() time.Duration {
		return func(f *fake) func() time.Duration {
			return func() time.Duration { return min(long, time.Since(f.thawed)) }
		}
	}
	const said = 80 * time.Millisecond
	for name, c := range map[string]struct {
		used  time.Duration
		cpu   func(f *fake) func() time.Duration
		talks bool
		due   time.Duration // others wait from then on; 0: never
		stop  time.Duration // 0: never
		want  time.Duration
		again bool
	}{
		"it starts":                        {0, works(time.Minute), false, 0, 0, extendedBreath, true},
		"it starts, and others come":       {0, works(time.Minute), false, 3 * time.Second, 0, 3 * time.Second, true},
		"it starts, and others have come":  {0, works(time.Minute), false, look, 0, longestBreath, true},
		"it talks while it starts":         {0, works(time.Minute), true, 0, 0, extendedBreath, true},
		"it talks, and others have come":   {0, works(time.Minute), true, look, 0, longestBreath, true},
		"it is done with its start":        {0, works(2 * time.Second), false, 0, 0, 2*time.Second + 2*look, false},
		"it waits for others to let it go": {0, works(0), false, 0, 0, shortestBreath, false},
		"somebody wants it back":           {0, works(time.Minute), false, 0, 2 * time.Second, 2 * time.Second, false},
		"it has begun within the breath":   {beginning - 2*time.Second, works(time.Minute), false, 0, 0, 2 * time.Second, false},
		"it had begun before":              {beginning, works(time.Minute), false, 0, 0, longestBreath, false},
		"it had begun before, and talks":   {beginning, works(time.Minute), true, 0, 0, 2 * look, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.used, f.cpu = c.used, c.cpu(f)
				if c.talks {
					f.talks = []*peer{{says: said, hears: said, saidAt: time.Now()}}
				}
				l := NewLadder(f, &Node{Due: func() bool { return c.due > 0 && time.Since(f.thawed) >= c.due }})
				if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(45 * time.Second)
				stop := make(chan struct{})
				if c.stop > 0 {
					time.AfterFunc(c.stop, func() { close(stop) })
				}
				if err := l.Breathe(t.Context(), 0, stop); err != nil {
					t.Fatal(err)
				}
				if s := l.State(); s.Breathed != c.want || s.Again != c.again {
					t.Errorf("it breathed for %v, and again soon: %v", s.Breathed, s.Again)
				}
			})
		})
	}
}

// Containers that begin leave the others their period, however many they are.
func TestBeginnersLeaveOthersTheirBreaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaths(0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Run(ctx)
		}()
		const beginners = 20
		alone := 0
		for _, name := range strings.Split("abcdefghijklmnopqrst", "")[:beginners] {
			b.Set(name, 45*time.Second, func(ctx context.Context, _ int64) {
				f := newFake()
				f.used, f.cpu = 0, func() time.Duration { return time.Since(f.thawed) }
				l := NewLadder(f, &Node{Due: b.Due})
				if err := l.Set(ctx, at(Frozen, 1024, 0)); err != nil {
					return
				}
				if err := l.Breathe(ctx, 0, nil); err != nil {
					return
				}
				if s := l.State(); s.Again {
					b.Again(name)
					alone++
				}
			})
		}
		begun := time.Now()
		var longest, last time.Duration
		b.Set("executor", 45*time.Second, func(context.Context, int64) {
			longest, last = max(longest, time.Since(begun)-last), time.Since(begun)
		})
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		// It waits for each of them once at most.
		if longest > 45*time.Second+beginners*(longestBreath+look) || last == 0 {
			t.Errorf("it once had no breath for %v", longest)
		}
		if alone < 10*beginners {
			t.Errorf("those that begin have breathed %d times in ten minutes", alone)
		}
	})
}

// Who was resumed and is suspended again has other connections.
func TestConnectionsOfALaterSuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.talks = []*peer{{says: -1, hears: -1, saidAt: time.Now()}}
		l := NewLadder(f, &Node{})
		for _, want := range []time.Duration{longestBreath, shortestBreath} {
			if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(45 * time.Second)
			if err := l.Breathe(t.Context(), 0, nil); err != nil {
				t.Fatal(err)
			}
			if got := l.State().Breathed; got != want {
				t.Errorf("a breath of %v, want %v", got, want)
			}
			if err := l.Set(t.Context(), at(Running, 1024, 2)); err != nil {
				t.Fatal(err)
			}
		}
	})
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
		b := NewBreaths(7, nil)
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

// Breaths that are so slow that all of them together would take too long overlap, where the machine has memory for that.
func TestSlowBreathsOfMany(t *testing.T) {
	const many, slow, every, allowance = 27, 5 * time.Second, 45 * time.Second, 7
	for memory, want := range map[int64]struct {
		most int32
		last time.Duration // the longest time between two breaths
	}{
		0: {1, many * slow}, 2 * allowance: {2, 75 * time.Second}, 100 * allowance: {atOnce, 60 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBreaths(allowance, func(bytes int64) bool { return bytes <= memory })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				b.Run(ctx)
			}()
			var at, most atomic.Int32
			var mu sync.Mutex
			last, longest := make(map[int]time.Time), time.Duration(0)
			for i := range many {
				b.Set(fmt.Sprint(i), every, func(ctx context.Context, _ int64) {
					most.Store(max(most.Load(), at.Add(1)))
					mu.Lock()
					if before, ok := last[i]; ok {
						longest = max(longest, time.Since(before))
					}
					last[i] = time.Now()
					mu.Unlock()
					select {
					case <-time.After(slow):
					case <-ctx.Done():
					}
					at.Add(-1)
				})
			}
			time.Sleep(10 * time.Minute)
			cancel()
			<-done
			if n := at.Load(); n != 0 {
				t.Errorf("%d still breathe at the end", n)
			}
			if len(last) != many || most.Load() != want.most || longest > want.last || want.most == 1 && longest != want.last {
				t.Errorf("with memory for %d bytes %d have breathed, %d at once, and each again after %v", memory, len(last), most.Load(), longest)
			}
		})
	}
}
