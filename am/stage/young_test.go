package stage

import (
	"testing"
	"time"
)

// watcher is a Speculator that needs 5 s to judge a task, and notes how many containers there are for copies.
type watcher struct{ copies int }

func (*watcher) Ended(Stage, int, time.Duration)              {}
func (w *watcher) Round(r *Round) []Copy                      { w.copies = r.Copies; return nil }
func (*watcher) Worth(Copy, time.Duration, Running, int) bool { return true }
func (*watcher) Detects() time.Duration                       { return 5 * time.Second }

// A task is too young to judge while it waits, and for as long as its Speculator needs after it has begun.
func TestYoungTasks(t *testing.T) {
	w := &watcher{}
	s := tell(t, Job{Maps: 4, Starter: afterMaps{}, Speculator: w})
	expect := func(when string, want int) {
		t.Helper()
		if f := s.m.Facts(); f.Young != want || f.Detection != 5*time.Second {
			t.Errorf("%s: %d tasks are young, want %d; it takes %v", when, f.Young, want, f.Detection)
		}
	}
	expect("nothing runs", 4)
	s.run("n")
	s.run("n")
	expect("two run", 4)
	s.now += 4 * time.Second
	s.step(Tick{})
	expect("two have run for 4 s", 4)
	s.now += time.Second
	s.step(Tick{})
	expect("two have run for 5 s", 2)
	if f := tell(t, Job{Maps: 4, Starter: afterMaps{}}).m.Facts(); f.Young != 0 || f.Detection != 0 {
		t.Errorf("without a Speculator %d tasks are young", f.Young)
	}
}

// A Speculator hears of the containers that the ResourceManager has for copies.
func TestContainersForCopies(t *testing.T) {
	w := &watcher{}
	s := tell(t, Job{Maps: 4, Starter: afterMaps{}, Speculator: w})
	for _, c := range []struct {
		hints Hints
		want  int
	}{{Hints{}, 0}, {Hints{Divides: true, Copies: 3}, 3}, {Hints{Copies: 3}, 0}} {
		s.step(Hinted{Hints: c.hints})
		if s.step(Tick{}); w.copies != c.want {
			t.Errorf("%+v: %d containers for copies", c.hints, w.copies)
		}
	}
}
