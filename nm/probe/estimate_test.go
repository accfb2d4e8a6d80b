package probe_test

import (
	"testing"
	"time"

	"heddle/nm/probe"
)

// A long run of which nothing was known when it came may be overtaken as soon as it is known how long its tasks take.
func TestWorkOvertakesARunOfWhichNothingWasKnown(t *testing.T) {
	n := newNode(t, probe.Config{Ranking: probe.Shortest, Bound: 5, Counted: true}, 1).knows("run", 0, 1000).knows("short", 1, 3)
	for range 30 {
		n.add("run")
	}
	_, slot := n.next(probe.Task)
	if q := n.Quote(n.of["short"]); q.P50 > second {
		t.Errorf("nothing is known of the run, and the quote is %+v", q)
	}
	n.add("short", "short", "short")
	n.SetEstimate(n.of["run"], 10*second)
	if q := n.Quote(n.of["short"]); q.P50 < 100*second {
		t.Errorf("with 30 tasks of 10 s in front the quote is %+v", q)
	}
	n.Free(10*second, slot)
	n.want(n.order(4), "short", "short", "short", "run")
}

// A user pays for the time that a task had room, whatever was expected when it began and is by now.
func TestUsersPayForTimeWhateverIsExpected(t *testing.T) {
	n := newNode(t, probe.Config{}, 1).knows("a", 0, 99).knows("b", 0, 99, func(j *probe.Job) { j.User = 1 })
	for range 20 {
		n.add("a", "b")
	}
	now, had := time.Duration(0), map[string]time.Duration{}
	for range 20 {
		name, slot := n.next(probe.Task)
		n.SetEstimate(n.of["a"], 50*second)
		n.SetEstimate(n.of["b"], 0)
		now += 2 * second
		n.Free(2*second, slot)
		had[name] += 2 * second
	}
	if had["a"] != had["b"] {
		t.Errorf("users of one weight had %v in %v", had, now)
	}
}
