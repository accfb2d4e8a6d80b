package suspend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/yarn/records"
)

var r = records.NewResource

func at(l Level, memory, vcores int64) Order { return Order{Level: l, Held: r(memory, vcores)} }

// The CPU goes before the memory and comes after it; what was paged out is read ahead; limits are those of the last order alone.
func TestStepsOfTheLadder(t *testing.T) {
	all := at(Running, 1024, 2)
	for name, c := range map[string]struct {
		orders []Order
		want   string // what the last order has it do
	}{
		"frozen":                     {[]Order{at(Frozen, 1024, 0)}, "freeze"},
		"frozen, running":            {[]Order{at(Frozen, 1024, 0), all}, "hold 1024/2, thaw"},
		"reclaimed":                  {[]Order{at(Reclaimed, 64, 0)}, "freeze, hold 1024/0 page, reclaim 256, reclaim 256, reclaim 24, hold 64/0 page"},
		"frozen, reclaimed":          {[]Order{at(Frozen, 1024, 0), at(Reclaimed, 500, 0)}, "hold 1024/0 page, reclaim 100, hold 500/0 page"},
		"reclaimed, running":         {[]Order{at(Reclaimed, 64, 0), all}, "hold 1024/2, page in, thaw"},
		"reclaimed, frozen":          {[]Order{at(Reclaimed, 64, 0), at(Frozen, 1024, 0)}, "hold 1024/0"},
		"reclaimed twice":            {[]Order{at(Reclaimed, 64, 0), at(Reclaimed, 64, 0)}, ""},
		"shrunk":                     {[]Order{at(Shrunk, 500, 1)}, "hold 1024/0 page, reclaim 100, hold 500/1 page"},
		"shrunk, the CPU only":       {[]Order{at(Shrunk, 1024, 1)}, "hold 1024/1"},
		"shrunk, shrunk more":        {[]Order{at(Shrunk, 500, 1), at(Shrunk, 400, 1)}, "hold 1024/0 page, reclaim 100, hold 400/1 page"},
		"shrunk, running":            {[]Order{at(Shrunk, 500, 1), all}, "hold 1024/1, page in, hold 1024/2"},
		"footprint":                  {[]Order{at(Footprint, 64, 0)}, "hold 1024/0 page, reclaim 256, reclaim 256, reclaim 24, hold 64/0 page"},
		"footprint, reclaimed":       {[]Order{at(Footprint, 64, 0), at(Reclaimed, 64, 0)}, "freeze, hold 1024/0 page, hold 64/0 page"},
		"reclaimed, shrunk":          {[]Order{at(Reclaimed, 64, 0), at(Shrunk, 500, 1)}, "hold 500/1 page, thaw, hold 1024/0 page, hold 500/1 page"},
		"reclaimed, shrunk, running": {[]Order{at(Reclaimed, 64, 0), at(Shrunk, 500, 1), all}, "hold 1024/1, page in, hold 1024/2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			l := NewLadder(f, &Node{})
			for _, o := range c.orders {
				f.did = nil
				if err := o.Check(f.size, true); err != nil {
					t.Fatal(err)
				}
				if err := l.Set(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				if s := l.State(); s.Have != o.Level || s.Holds != o.Held || s.Lags() || s.Reason != "" || f.frozen != o.Level.Still() {
					t.Errorf("after %v: %+v", o, s)
				}
				if f.held.MemoryMB() > o.Held.MemoryMB() || f.anon > o.Held.MemoryMB()<<20 {
					t.Errorf("after %v it may have %v and has %d MB", o, f.held, f.anon>>20)
				}
			}
			if got := strings.Join(f.did, ", "); got != c.want {
				t.Errorf("it did %s\nwant %s", got, c.want)
			}
		})
	}
}

// What was paged out is read when room waits for the container's return, which finds it in memory. It stays until the container goes on, also over a breath, or until no room
// waits any more.
func TestReadAhead(t *testing.T) {
	const down, warm = "hold 1024/0 page, reclaim 256, reclaim 256, reclaim 24, hold 64/0 page", "hold 1024/0 page, page in"
	await := func(room bool) func(*Ladder) error {
		return func(l *Ladder) error {
			l.Await(room, time.Now())
			return l.Settle(context.Background())
		}
	}
	set := func(o Order) func(*Ladder) error {
		return func(l *Ladder) error { return l.Set(context.Background(), o) }
	}
	for name, c := range map[string]struct {
		steps []func(*Ladder) error
		want  string // what is done after it was paged out
		holds int64
	}{
		"it goes on":           {[]func(*Ladder) error{await(true), set(Order{Held: r(1024, 2)})}, warm + ", hold 1024/2, thaw", 1024},
		"no room waits":        {[]func(*Ladder) error{await(true), await(false)}, warm + ", " + down, 64},
		"it is ordered again":  {[]func(*Ladder) error{await(true), set(at(Reclaimed, 64, 0))}, warm + ", " + down, 64},
		"it breathes":          {[]func(*Ladder) error{await(true), func(l *Ladder) error { return l.Breathe(context.Background(), 256<<20, nil) }}, warm + ", thaw, freeze", 1024},
		"it waits a long time": {[]func(*Ladder) error{await(true), await(true), func(l *Ladder) error { return l.Settle(context.Background()) }}, warm, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				l := NewLadder(f, &Node{})
				l.Await(true, time.Now()) // it runs
				if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
					t.Fatal(err)
				}
				f.did = nil
				for _, step := range c.steps {
					if err := step(l); err != nil {
						t.Fatal(err)
					}
				}
				if got := strings.Join(f.did, ", "); got != c.want {
					t.Errorf("it did %s\nwant %s", got, c.want)
				}
				if s := l.State(); s.Lags() || s.Ahead || s.Holds.MemoryMB() != c.holds || s.Warm != (c.holds == 1024 && s.Have.Still()) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// What was read ahead is taken again a minute after it was last said that room waits: the end of an earlier minute changes nothing.
func TestReadAheadExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLadder(newFake(), &Node{})
		if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
			t.Fatal(err)
		}
		at := func(after time.Duration, do func(), warm bool) {
			t.Helper()
			time.Sleep(after)
			do()
			if err := l.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := l.State(); s.Warm != warm || (s.Swapped == 0) != warm {
				t.Errorf("%+v", s)
			}
		}
		at(0, l.Expire, false)
		at(0, func() { l.Await(true, time.Now()) }, true)
		at(20*time.Second, func() { l.Await(false, time.Now()) }, false)
		at(20*time.Second, func() { l.Await(true, time.Now()) }, true)
		at(20*time.Second, l.Expire, true) // the first minute is over
		at(30*time.Second, func() { l.Await(true, time.Now()) }, true)
		at(10*time.Second, l.Expire, true) // the second one, and it was said again
		at(50*time.Second, l.Expire, false)

		// What was said may be heard of late, when the container's turn comes.
		said := time.Now()
		at(20*time.Second, func() { l.Await(true, said) }, true)
		at(40*time.Second, l.Expire, false)
		at(0, func() { l.Await(true, said) }, false)
	})
}

// A container that resumes waits a second for what was paged out, and runs. The rest is read while it does, unless it is stopped again.
func TestTheRestIsReadWhileItRuns(t *testing.T) {
	for name, last := range map[string]Order{"runs on": {}, "stopped again": at(Frozen, 1024, 0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				l := NewLadder(f, &Node{})
				if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
					t.Fatal(err)
				}
				f.did = nil
				f.before = func(did string) {
					if did == "page in" {
						time.Sleep(2 * aheadPatience)
					}
				}
				if err := l.Step(t.Context(), Order{Held: f.size}); err != nil {
					t.Fatal(err)
				}
				if s := l.State(); !s.Ahead || s.Have != Running || s.Lags() {
					t.Errorf("at first %+v", s)
				}
				f.before = nil
				want := "hold 1024/2, thaw, page in"
				if last.Level == Frozen {
					if err := l.Step(t.Context(), last); err != nil {
						t.Fatal(err)
					}
					want = "hold 1024/2, thaw, freeze"
				}
				if err := l.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(f.did, ", "); got != want || l.State().Ahead {
					t.Errorf("it did %s, want %s; %+v", got, want, l.State())
				}
			})
		})
	}
}

// Memory that nobody waits for is taken in small pieces, with pauses as long as these take.
func TestMemoryThatNobodyWaitsFor(t *testing.T) {
	for awaited, want := range map[bool]struct {
		first string
		took  time.Duration
	}{
		true:  {"reclaim 256", 3 * 50 * time.Millisecond},
		false: {"reclaim 16", (34 + 33) * 50 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.before = func(did string) {
				if strings.HasPrefix(did, "reclaim") {
					time.Sleep(50 * time.Millisecond)
				}
			}
			l := NewLadder(f, &Node{Awaited: func() bool { return awaited }})
			begun := time.Now()
			if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took != want.took || !slices.Contains(f.did, want.first) || l.State().Lags() {
				t.Errorf("awaited %v: it took %v, and did %v", awaited, took, f.did)
			}
		})
	}
}

// What can't be paged out stays with the container: it keeps all of its memory, doesn't run into a limit, and another try goes on.
func TestMemoryThatCannotBeTaken(t *testing.T) {
	var why string
	for name, c := range map[string]struct {
		begin, pass func(f *fake)
		order       Order
		reason      string
		holds       int64 // MB; what stands still needs no more than it has
	}{
		"it is locked": {
			func(f *fake) { f.stuck = 500 << 20 }, func(f *fake) { f.stuck = 0 }, at(Reclaimed, 64, 0), "436 MB of its memory can't be paged out", 500,
		},
		"swap is full": {
			func(*fake) { why = "swap is full" }, func(*fake) { why = "" }, at(Shrunk, 64, 1), "swap is full", 1024,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			c.begin(f)
			l := NewLadder(f, &Node{Full: func() string { return why }})
			if err := l.Set(t.Context(), c.order); err != nil {
				t.Fatal(err)
			}
			s := l.State()
			if !s.Lags() || s.Reason != c.reason || s.Holds != r(c.holds, c.order.Held.VCores()) || f.held != r(1024, c.order.Held.VCores()) || s.Level != c.order.Level {
				t.Errorf("at first %+v, limited to %v", s, f.held)
			}
			c.pass(f)
			if err := l.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := l.State(); s.Lags() || s.Reason != "" || s.Holds != c.order.Held || f.held != c.order.Held {
				t.Errorf("at last %+v, limited to %v", s, f.held)
			}
		})
	}
}

// A container that stands still doesn't hold what it doesn't use, and holds less with every part that is paged out. One that runs might use more.
func TestMemoryIsLetGoOfBitByBit(t *testing.T) {
	for level, want := range map[Level][]int64{Reclaimed: {600, 344, 88}, Footprint: nil, Frozen: nil} {
		f := newFake()
		if err := NewLadder(f, &Node{}).Set(t.Context(), Order{Level: level}.Fill(nil, f.size)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.let, want) {
			t.Errorf("%v: it holds %v", level, f.let)
		}
	}
}

// A kill before any step has the ladder return at once. Whoever takes it up again brings it where it was to go.
func TestKilledAtEachStep(t *testing.T) {
	orders := []Order{at(Shrunk, 500, 1), at(Reclaimed, 64, 0), at(Shrunk, 500, 1), at(Frozen, 1024, 0), at(Running, 1024, 2)}
	steps := func(kill int) (did []string, err error) {
		f := newFake()
		l := NewLadder(f, &Node{})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		f.before = func(string) {
			if n++; n == kill {
				cancel()
			}
		}
		for _, o := range orders {
			if err = l.Set(ctx, o); err != nil {
				did = slices.Clone(f.did)
				f.before = nil
				if e := l.Set(context.Background(), o); e != nil || l.State().Lags() || f.frozen != o.Level.Still() {
					t.Errorf("killed before step %d, and set again: %v, %+v", kill, e, l.State())
				}
				return did, err
			}
		}
		return f.did, nil
	}
	all, err := steps(0)
	if err != nil || len(all) < 15 {
		t.Fatalf("%v, %v", all, err)
	}
	for kill := 1; kill <= len(all); kill++ {
		did, err := steps(kill)
		if !errors.Is(err, context.Canceled) || !slices.Equal(did, all[:kill-1]) {
			t.Errorf("killed before step %d it did %q, %v", kill, did, err)
		}
	}
}

func TestOrdersThatMakeNoSense(t *testing.T) {
	size := r(1024, 2)
	for name, c := range map[string]struct {
		order   Order
		reclaim bool
		want    string
	}{
		"good":                       {at(Reclaimed, 64, 0), true, ""},
		"good without swap":          {at(Frozen, 1024, 0), false, ""},
		"an unknown level":           {at(7, 1024, 2), true, "level 7 is not one of running, shrunk, footprint, frozen, reclaimed"},
		"more than it has":           {at(Shrunk, 2048, 2), true, "can't hold <memory:2048, vCores:2>: it was granted <memory:1024, vCores:2>"},
		"less than nothing":          {at(Shrunk, 1024, -1), true, "can't hold"},
		"running with less":          {at(Running, 512, 2), true, "less is level shrunk"},
		"below the footprint":        {at(Reclaimed, 10, 0), true, "the least that a suspended container keeps are 64 MB"},
		"memory back without swap":   {at(Reclaimed, 64, 0), false, "this node can't take memory back"},
		"frozen without its memory":  {at(Frozen, 64, 0), true, "a container that is frozen keeps its memory"},
		"breaths that go backwards":  {Order{Level: Frozen, Held: size, BreathEvery: -1}, true, "breathe"},
		"a small container is whole": {Order{Level: Reclaimed, Held: size}, true, ""},
	} {
		err := c.order.Check(size, c.reclaim)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := at(Reclaimed, 32, 0).Check(r(32, 1), true); err != nil {
		t.Errorf("a container smaller than the footprint: %v", err)
	}
}

// Where an order leaves open what is held, it is what the level leaves.
func TestWhatALevelLeaves(t *testing.T) {
	some := r(100, 1)
	for level, want := range map[Level]records.Resource{Running: r(1024, 2), Shrunk: r(1024, 2), Footprint: r(64, 0), Frozen: r(1024, 0), Reclaimed: r(64, 0)} {
		if got := (Order{Level: level}).Fill(nil, r(1024, 2)); got.Held != want {
			t.Errorf("%v holds %v", level, got.Held)
		}
		if got := (Order{Level: level}).Fill(&some, r(1024, 2)); got.Held != some {
			t.Errorf("%v holds %v, not %v", level, got.Held, some)
		}
		if back, err := ParseLevel(level.String()); err != nil || back != level || level.PB().String() != "LEVEL_"+strings.ToUpper(level.String()) {
			t.Errorf("%v: %v, %v, %v", level, back, err, level.PB())
		}
	}
	if _, err := ParseLevel("asleep"); err == nil || !strings.Contains(err.Error(), "running, shrunk, footprint, frozen, reclaimed") {
		t.Error(err)
	}
}

// Another size changes what a container holds only where nothing was taken from it.
func TestResizeOfWhatIsShrunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		l := NewLadder(f, &Node{})
		if err := l.Set(t.Context(), at(Reclaimed, 64, 0)); err != nil {
			t.Fatal(err)
		}
		for _, size := range []records.Resource{r(2048, 4), r(50, 1)} {
			before := f.size
			f.size = size
			l.Resize(before, size)
			want := r(min(64, size.MemoryMB()), 0)
			if s := l.State(); s.Held != want || s.Holds != want {
				t.Errorf("of %v it is to hold %v, and holds %v", size, s.Held, s.Holds)
			}
		}
		l.Reset()
		if s := l.State(); s.Have != Running || s.Holds != r(50, 1) || s.Lags() {
			t.Errorf("after all it is %+v", s)
		}
		l.Resize(r(50, 1), r(60, 1))
		if s := l.State(); s.Holds != r(60, 1) {
			t.Errorf("running it holds %v", s.Holds)
		}
	})
}

// Nobody knows whether a container stands still that could not be resumed: it is frozen anew.
func TestFrozenAgainAfterAFailedResume(t *testing.T) {
	f := newFake()
	l := NewLadder(f, &Node{})
	if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.before = func(what string) {
		if what == "thaw" {
			cancel()
		}
	}
	if err := l.Set(ctx, at(Running, 1024, 2)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	f.did = nil
	if err := l.Set(t.Context(), at(Frozen, 1024, 0)); err != nil || !slices.Equal(f.did, []string{"freeze"}) {
		t.Errorf("it did %q, %v", f.did, err)
	}
}
