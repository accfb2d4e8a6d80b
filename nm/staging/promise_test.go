package staging_test

import (
	"testing"
	"time"

	"heddle/nm/staging"
)

// A copy comes after those that wait or are made, so many at a time, if there is room for all of them.
func TestSoon(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 2, PerProbe: 5, Capacity: 6}, 1)
	if took, room := n.Soon(1, time.Second); took != time.Second || !room {
		t.Errorf("on an idle node %v, %t", took, room)
	}
	n.Probed(1, tableOf(1, 1, 1, 1, 1))
	n.step() // two are made, and three wait
	if took, room := n.Soon(1, time.Second); took != 3*time.Second || !room {
		t.Errorf("behind five %v, %t", took, room)
	}
	if _, room := n.Soon(2, time.Second); room {
		t.Error("there is room for seven bytes")
	}
}

// Broken promises have more copies made at a time, twice as many at most. Each window counts its own.
func TestBrokenPromisesSizeStaging(t *testing.T) {
	for _, c := range []struct{ kept, broken, want int }{{0, 0, 2}, {20, 0, 2}, {19, 1, 2}, {0, 19, 2}, {0, 20, 4}, {19, 21, 3}} {
		n := newNode(t, staging.Config{Concurrent: 2, PerProbe: 9, Capacity: 100}, 1)
		var p staging.Promises
		if !p.Size(time.Second, n.Manager) {
			t.Error("no window begins")
		}
		for range c.kept {
			p.Due(true)
		}
		for range c.broken {
			p.Due(false)
		}
		if p.Size(61*time.Second-1, n.Manager) || !p.Size(61*time.Second, n.Manager) {
			t.Error("a window doesn't last a minute")
		}
		n.Probed(1, tableOf(1, 1, 1, 1, 1, 1, 1, 1, 1))
		if n.step(); len(n.copies) != c.want {
			t.Errorf("%d kept and %d broken promises: %d copies at a time, not %d", c.kept, c.broken, len(n.copies), c.want)
		}
		if p.Made != int64(c.kept+c.broken) || p.Broken != int64(c.broken) {
			t.Errorf("%+v", p)
		}
		for i := range 40 {
			p.Due(i%2 > 0)
		}
		p.Size(4*time.Minute, n.Manager)
		n.finish(true)
		if len(n.copies) != 2 {
			t.Errorf("after a window with half of 40 promises broken %d copies are made at a time", len(n.copies))
		}
	}
}

// A request whose input is staged in another way by now, or isn't wanted any more, is ahead of nothing.
func TestSoonPassesRequestsThatAreOver(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, Capacity: 5, Named: true}, 1)
	tab := tableOf(1, 1, 1)
	n.Probed(1, tab)
	n.Probed(2, tab)
	want := func(job staging.Job, task int32, fast bool) {
		n.Wanted(job, task, fast)
		n.step()
	}
	want(1, 0, false) // is copied
	want(1, 1, false)
	want(1, 2, false)
	want(2, 0, false)
	if took, room := n.Soon(1, time.Second); took != 5*time.Second || !room {
		t.Errorf("behind four %v, %t", took, room)
	}
	n.Released(2)
	n.Ended(1, 1)
	n.Ended(1, 2)
	want(1, 2, true) // is copied, too
	if took, room := n.Soon(3, time.Second); took != 2*time.Second || !room {
		t.Errorf("behind a copy %v, %t", took, room)
	}
	if _, room := n.Soon(4, time.Second); room {
		t.Error("there is room for six bytes")
	}
}
