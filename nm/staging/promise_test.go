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

// Broken promises have more copies made at a time, twice as many at most. A window without them has as many made as before.
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
		if p.Size(30*time.Second, n.Manager) || !p.Size(2*time.Minute, n.Manager) {
			t.Error("a window lasts no minute, or more than two")
		}
		n.Probed(1, tableOf(1, 1, 1, 1, 1, 1, 1, 1, 1))
		if n.step(); len(n.copies) != c.want {
			t.Errorf("%d kept and %d broken promises: %d copies at a time, not %d", c.kept, c.broken, len(n.copies), c.want)
		}
		if p.Made != int64(c.kept+c.broken) || p.Broken != int64(c.broken) {
			t.Errorf("%+v", p)
		}
		p.Size(4*time.Minute, n.Manager)
		n.finish(true)
		if len(n.copies) != 2 {
			t.Errorf("after a window without promises %d copies are made at a time", len(n.copies))
		}
	}
}
