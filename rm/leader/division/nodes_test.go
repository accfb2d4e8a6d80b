package division

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/records"
)

func id(i int) records.NodeID { return records.NodeID{Host: "n", Port: int32(i)} }

// closedOf are the nodes of so many that take no long work. Nobody is closed to other work.
func closedOf(t *testing.T, d *Nodes, n int) (closed []records.NodeID) {
	t.Helper()
	for i := range n {
		w := d.Works(id(i))
		if w&scheduler.WorkOf(ShortWork) == 0 {
			t.Errorf("%v takes no short work", id(i))
		}
		if w&scheduler.WorkOf(LongWork) == 0 {
			closed = append(closed, id(i))
		}
	}
	return closed
}

// The short partition is as large as it should be whatever order nodes come in, and is the same for every leader. Callers are told of each node that moves.
func TestShortPartition(t *testing.T) {
	const n = 200
	s := Settings{Settings: partition.Eagle(time.Minute, 10)}
	up, down := NewNodes(s, 0), NewNodes(s, 0)
	told := map[records.NodeID]scheduler.Works{}
	hear := func(d *Nodes, changed []records.NodeID) {
		if len(changed) > 4 {
			t.Errorf("%d nodes move at once", len(changed))
		}
		for _, x := range changed {
			told[x] = d.Works(x)
		}
	}
	for i := range n {
		changed := up.Add(id(i))
		told[id(i)] = up.Works(id(i))
		hear(up, changed)
		down.Add(id(n - 1 - i))
		if got := len(closedOf(t, up, i+1)); got != (i+1)/10 {
			t.Fatalf("%d of %d nodes are the short partition", got, i+1)
		}
	}
	if a, b := closedOf(t, up, n), closedOf(t, down, n); !slices.Equal(a, b) {
		t.Errorf("two leaders differ: %v and %v", a, b)
	}
	for i := range n / 2 {
		hear(up, up.Remove(id(i)))
		delete(told, id(i))
	}
	if got := closedOf(t, up, n); len(got) != n/20 {
		t.Errorf("%d of %d nodes are left in the short partition", len(got), n/2)
	}
	for x, w := range told {
		if w != up.Works(x) {
			t.Errorf("nobody was told that %v is of another partition", x)
		}
	}
	off := NewNodes(Settings{Settings: partition.Eagle(0, 10)}, 0)
	for i := range n {
		off.Add(id(i))
	}
	if got := closedOf(t, off, n); len(got) > 0 {
		t.Errorf("without a cutoff, %v are closed", got)
	}
}

// Dice closes a part of the general partition for a window, by the mean wait (section 3.3.2), and opens it again.
func TestDiceClosesNodesForAWindow(t *testing.T) {
	const n = 100
	s := Settings{Settings: partition.Eagle(time.Minute, 2)}
	s.Dice = partition.Study(2)
	d := NewNodes(s, 0)
	for i := range n {
		d.Add(id(i))
	}
	first := func(int) int { return 0 }
	want := func(when string, closed, asked int) {
		t.Helper()
		told := map[Place]int{}
		for i := range n {
			p, ok := d.Place(id(i))
			if told[p]++; !ok {
				t.Errorf("%s, nobody knows what %v is for", when, id(i))
			}
		}
		if p := (Place{Short: true}); told[p] != 2 || told[Place{Closed: true}]+told[Place{Closed: true, Asked: true}] != closed-2 ||
			told[Place{Asked: true}]+told[Place{Closed: true, Asked: true}] != asked {
			t.Errorf("%s, nodes are said to be for %v", when, told)
		}
		if got := len(closedOf(t, d, n)); got != closed {
			t.Errorf("%s, %d nodes are closed to long work, not %d", when, got, closed)
		}
	}
	d.Waited(2000*time.Second, 4) // 500 s each: half of the 8 % more
	d.Waited(0, 0)
	if d.Tick(59*time.Second, first) != nil {
		t.Error("the window ends early")
	}
	want("in the first window", 2, 0)
	if changed := d.Tick(60*time.Second, first); len(changed) != 4 {
		t.Errorf("%v change", changed)
	}
	want("in the second one", 6, 1)
	for x := range d.asked { // it is closed as well
		d.Remove(x)
		d.Add(x) // it has registered again
		break
	}
	want("when one comes again", 6, 0)
	if changed := d.Tick(120*time.Second, first); len(changed) != 4 {
		t.Errorf("%v change", changed)
	}
	want("after one without waits", 2, 0)
	d.Waiting = func() (int64, time.Duration) { return 3, 1500 * time.Second }
	d.Tick(180*time.Second, first)
	want("after one in which nothing has started, and tasks wait", 6, 1)
	d.Waited(600*time.Second, 3)
	d.Waiting = func() (int64, time.Duration) { return 1, 1400 * time.Second }
	d.Tick(240*time.Second, first)
	want("of four tasks, of which one waits still", 6, 1)
	d.Waiting = func() (int64, time.Duration) { return 0, 0 }
	d.Tick(300*time.Second, first)
	want("after one without tasks", 2, 0)
}

// Long tasks last for many windows, so a node drains of them only if each window closes it: while the wait is the same, so are the closed nodes, and
// another leader closes them as well. Each window drew other ones before, and none ever drained. Nodes that come and go move others at the edge only.
func TestDiceClosesTheSameNodesWhileWaitsLast(t *testing.T) {
	const n = 200
	s := Settings{Settings: partition.Eagle(time.Minute, 2)}
	s.Dice = partition.Study(2)
	one, other := NewNodes(s, 0), NewNodes(s, 0)
	for i := range n {
		one.Add(id(i))
		other.Add(id(n - 1 - i))
	}
	random := rand.New(rand.NewPCG(1, 2)).IntN
	end := func(d *Nodes, window int, wait time.Duration) []records.NodeID {
		d.Waited(wait, 1)
		d.Tick(time.Duration(window)*time.Minute, random)
		return closedOf(t, d, n)
	}
	first := end(one, 1, 500*time.Second)
	if len(first) != 4+8 {
		t.Fatalf("%v are closed", first)
	}
	if second := end(one, 2, 500*time.Second); !slices.Equal(second, first) {
		t.Errorf("the second window closes %v, the first one %v", second, first)
	}
	if theirs := end(other, 1, 500*time.Second); !slices.Equal(theirs, first) {
		t.Errorf("another leader closes %v, the first one %v", theirs, first)
	}
	told := map[records.NodeID]scheduler.Works{}
	for i := range n {
		told[id(i)] = one.Works(id(i))
	}
	hear := func(changed []records.NodeID) {
		if len(changed) > 7 { // with the one that has come or gone
			t.Errorf("%d nodes move at once", len(changed))
		}
		for _, x := range changed {
			told[x] = one.Works(x)
		}
	}
	for i := range n / 2 {
		hear(one.Remove(id(i)))
		delete(told, id(i))
	}
	for i := range n / 4 {
		hear(one.Add(id(i)))
		told[id(i)] = one.Works(id(i))
	}
	for x, w := range told {
		if w != one.Works(x) {
			t.Errorf("nobody was told that %v is closed or open", x)
		}
	}
	fewer := end(one, 3, 250*time.Second)
	for _, x := range fewer {
		if told[x] == scheduler.AllWork {
			t.Errorf("a shorter wait closes %v, which was open", x)
		}
	}
}
