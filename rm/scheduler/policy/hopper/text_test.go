package hopper_test

import (
	"fmt"
	"strings"
	"testing"
)

// figure is the example of figures 2.1 to 2.3, in ms.
func figure() (a, b *job) {
	a, b = newJob("A", 0, 8000, 3000, 3000, 3000), newJob("B", 0, 6000, 6000, 3000, 3000, 1000, 1000)
	for i := range a.tasks {
		a.tasks[i].copy = 2000
	}
	for i := range b.tasks {
		b.tasks[i].copy = min(b.tasks[i].original, 2000)
	}
	for _, j := range []*job{a, b} {
		j.seen, j.reports = 1000, true
	}
	return a, b
}

// With β = 1.6 A's virtual size is 5. Its fifth slot is kept until A1 is seen to be slow. The text has 3 and 6.
func TestFigure23(t *testing.T) {
	a, b := figure()
	w := newWorld(t, 6, map[string]string{"root.a.ordering-policy.hopper.epsilon": "1", "root.a.ordering-policy.hopper.beta": "1.6"}, a, b)
	w.watch = func(now int64) {
		if now != 0 {
			return
		}
		if got := w.driver.StandingOf(b.handle); !strings.Contains(got, "virtual size 7.5: 6 tasks, β 1.6, α 1; 0 slots kept for copies, and 1 for those of others") {
			t.Errorf("B is told %q", got)
		}
		if got := w.driver.StandingOf(a.handle); !strings.Contains(got, "virtual size 5.0: 4 tasks, β 1.6, α 1; 1 slots kept for copies") {
			t.Errorf("A is told %q", got)
		}
	}
	w.run(20_000)
	if a.ended != 3000 || b.ended != 6000 {
		t.Errorf("A and B end at %d and %d, want 3000 and 6000", a.ended, b.ended)
	}
	if got, want := fmt.Sprint(w.log), "[0A1 0A2 0A3 0A4 0B1 1A1+ 3B1+ 3B2 3B3 3B4 3B5 4B2+ 5B6]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// If A's ApplicationMaster doesn't say that it makes copies, its fifth slot goes to another at once: B2 has it for 6 s, and A ends at 5.
func TestSlotsThatNobodyKeepsAreLent(t *testing.T) {
	a, b := figure()
	a.reports = false
	w := newWorld(t, 6, map[string]string{"root.a.ordering-policy.hopper.epsilon": "1", "root.a.ordering-policy.hopper.beta": "1.6"}, a, b)
	w.run(20_000)
	if !strings.HasPrefix(fmt.Sprint(w.log), "[0A1 0A2 0A3 0A4 0B1 0B2 ") || a.ended != 5000 {
		t.Errorf("A ends at %d: %v", a.ended, w.log)
	}
}
