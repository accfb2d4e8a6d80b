package suspend

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A container that runs with little, needs more, and has nothing that could be paged out gets what it was granted: else it would wait for
// good. When there is room for its pages again, they are taken.
func TestWhoNeedsMemoryAndCannotPageIsRelieved(t *testing.T) {
	f := newFake()
	full := ""
	l := NewLadder(f, &Node{Full: func() string { return full }})
	if err := l.Set(t.Context(), at(Shrunk, 512, 1)); err != nil {
		t.Fatal(err)
	}
	f.anon = 300 << 20
	expect := func(what string, holds int64, reason string) {
		t.Helper()
		if err := l.Relieve(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := l.State()
		if s.Holds.MemoryMB() != holds || s.Holds.VCores() != 1 || s.Have != Shrunk || !strings.Contains(s.Reason, reason) || s.Lags() != (reason != "") {
			t.Errorf("%s: %+v", what, s)
		}
		if f.held.MemoryMB() != holds {
			t.Errorf("%s: its limit is %d MB", what, f.held.MemoryMB())
		}
	}
	full = "swap is full"
	expect("with room below its limit", 512, "")
	full, f.anon = "", 512<<20
	expect("while it can page", 512, "")
	full = "swap is full"
	expect("at its limit", 1024, "swap is full")
	f.anon = 700 << 20
	if err := l.Settle(t.Context()); err != nil || f.held.MemoryMB() != 1024 {
		t.Errorf("with swap full still: %v, its limit is %d MB", err, f.held.MemoryMB())
	}
	full = ""
	if err := l.Settle(t.Context()); err != nil || f.held.MemoryMB() != 512 || l.State().Lags() {
		t.Errorf("afterwards: %v, its limit is %d MB, %+v", err, f.held.MemoryMB(), l.State())
	}
}

// The state says how long the last change took to its end, and the node how often and how long each step was taken, and what was moved.
func TestWhatStepsTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, node := newFake(), &Node{}
		l := NewLadder(f, node)
		f.before = func(what string) {
			switch {
			case what == "freeze":
				time.Sleep(10 * time.Millisecond)
			case strings.HasPrefix(what, "reclaim"):
				time.Sleep(100 * time.Millisecond)
			case what == "page in":
				time.Sleep(300 * time.Millisecond)
			}
		}
		o := at(Reclaimed, 88, 0)
		if err := l.Step(t.Context(), o); err != nil || l.State().Took != 0 {
			t.Errorf("%v: it took %v before its memory was taken", err, l.State().Took)
		}
		time.Sleep(time.Second)
		if err := l.Settle(t.Context()); err != nil || l.State().Took != 1210*time.Millisecond {
			t.Errorf("%v: it took %v", err, l.State().Took)
		}
		time.Sleep(time.Minute)
		if err := l.Set(t.Context(), at(Running, 1024, 2)); err != nil || l.State().Took != 300*time.Millisecond {
			t.Errorf("%v: it took %v", err, l.State().Took)
		}
		for name, x := range map[string]struct {
			step *Step
			took time.Duration
		}{
			"stop": {&node.Totals.Stop, 10 * time.Millisecond}, "shrink": {&node.Totals.Shrink, 200 * time.Millisecond}, "resume": {&node.Totals.Resume, 300 * time.Millisecond},
		} {
			if n, took := x.step.Get(); n != 1 || took != x.took {
				t.Errorf("%s: %d in %v", name, n, took)
			}
		}
		if out, in := node.Totals.Out.Load(), node.Totals.In.Load(); out != 512<<20 || in != 512<<20 {
			t.Errorf("%d MB out, %d MB in", out>>20, in>>20)
		}
		if d := node.Totals.StoodStill(); d != time.Minute+1200*time.Millisecond+300*time.Millisecond {
			t.Errorf("it stood still for %v", d)
		}
	})
}
