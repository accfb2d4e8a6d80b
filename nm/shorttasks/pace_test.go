package shorttasks

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// A node asks ahead for as many tasks as end within a round trip, and for none where tasks are long, or none has ended for long.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	of := func(trip, gap time.Duration) (p pace, now time.Duration) {
		for range 200 {
			now += gap
			p.answered(trip)
			p.freed(now)
		}
		return p, now
	}
	for _, x := range []struct {
		trip, gap, idle time.Duration
		want            int
	}{
		{ms, ms / 2, 0, 2}, {ms, 7 * ms, 0, 1}, {ms, 9 * ms, 0, 0}, {ms, ms, 9 * ms, 0}, {ms, time.Microsecond, 0, maxAhead}, {0, ms, 0, 0},
	} {
		p, now := of(x.trip, x.gap+x.gap/100) // so that rounding doesn't matter
		if got := p.ahead(now + x.idle); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
	var p pace
	if got := p.ahead(0); got != 0 {
		t.Errorf("of nothing known: %d", got)
	}
}

// askedAhead is a node whose one slot is asked for, and that has asked for another task ahead. The node's clock stands still.
func askedAhead(t *testing.T, run func(context.Context, *wire.Conn)) (l *lab, c *wire.Conn, first, second uint64) {
	l = newLab(t, 1)
	l.run = run
	l.freeze()
	c = l.scheduler("one")
	l.Node.mu.Lock()
	l.pace = pace{trip: time.Second, gap: time.Second, last: l.now()}
	l.Node.mu.Unlock()
	say(t, c, of(1, 3, 3))
	first = hear[*wire.Ask](t, c).ID
	return l, c, first, hear[*wire.Ask](t, c).ID
}

// holding is an executor that tells of the tasks that begin, and ends none. It gives back those that wait.
func holding(begun chan<- uint64) func(context.Context, *wire.Conn) {
	return func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		waits := map[uint64]bool{}
		begin := func(id uint64) {
			delete(waits, id)
			if begun != nil {
				begun <- id
			}
		}
		back := func(id uint64) {
			if waits[id] {
				delete(waits, id)
				_ = c.Send(&wire.Ended{ID: id, Why: wire.Canceled}) // if it fails, Receive does
			}
		}
		for m, err := c.Receive(); err == nil; m, err = c.Receive() {
			switch m := m.(type) {
			case *wire.Task:
				if waits[m.ID] = m.Ahead; !m.Ahead {
					begin(m.ID)
				}
			case *wire.Begin:
				begin(m.ID)
			case *wire.Recall:
				back(m.ID)
			case *wire.Cancel:
				back(m.ID)
			}
		}
	}
}

// A task that was asked for ahead goes to another node if its room doesn't come soon, or if it is cancelled.
func TestATaskAheadIsGivenBack(t *testing.T) {
	for _, how := range []string{"late", "canceled"} {
		l, c, first, second := askedAhead(t, holding(nil))
		say(t, c, &wire.Task{ID: first, Left: 2}, &wire.Task{ID: second, Left: 1})
		if _, used, _ := l.Use(); used.VCores != 1 {
			t.Errorf("%s: %v is used", how, used)
		}
		if how == "late" {
			say(t, c, of(2, 1, 1))
			hear[*wire.Verdict](t, c) // the tasks were taken before
			l.later(aheadLimit + time.Millisecond)
		} else {
			say(t, c, &wire.Cancel{ID: second})
		}
		if e := hear[*wire.Ended](t, c); e.ID != second || e.Why != wire.Canceled {
			t.Errorf("%s: %+v", how, e)
		}
		c.Close()
		l.empty()
	}
}

// It starts as soon as the one before it has ended, and not before.
func TestATaskAheadStarts(t *testing.T) {
	given, end := make(chan uint64, 3), make(chan uint64)
	l, c, first, second := askedAhead(t, func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		go func() {
			for id := range end {
				_ = c.Send(&wire.Ended{ID: id}) // if it fails, Receive does
			}
		}()
		for m, err := c.Receive(); err == nil; m, err = c.Receive() {
			switch m := m.(type) {
			case *wire.Task:
				if !m.Ahead {
					given <- m.ID
				}
			case *wire.Begin:
				given <- m.ID
			}
		}
	})
	defer close(end)
	say(t, c, &wire.Task{ID: first, Left: 1}, &wire.Task{ID: second})
	if id := <-given; id != first {
		t.Errorf("%d starts", id)
	}
	say(t, c, of(2, 1, 1))
	hear[*wire.Verdict](t, c) // the second task was taken before
	if len(given) > 0 {
		t.Error("two run at once")
	}
	end <- first
	if e := hear[*wire.Ended](t, c); e.ID != first {
		t.Errorf("%+v", e)
	}
	if id := <-given; id != second {
		t.Errorf("%d starts", id)
	}
	end <- second
	if e := hear[*wire.Ended](t, c); e.ID != second || e.Why != wire.Ran {
		t.Errorf("%+v", e)
	}
	c.Close()
	l.empty()
}

// hearing is an executor that tells of all it hears, and ends nothing.
func hearing(heard chan<- wire.Message) func(context.Context, *wire.Conn) {
	return func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		for m, err := c.Receive(); err == nil; m, err = c.Receive() {
			heard <- m
		}
	}
}

// ending is an executor whose tasks end as the test says. It tells of all it hears.
func ending(heard chan<- wire.Message, ends <-chan *wire.Ended) func(context.Context, *wire.Conn) {
	return func(ctx context.Context, c *wire.Conn) {
		defer context.AfterFunc(ctx, c.Close)()
		go func() {
			for e := range ends {
				_ = c.Send(e) // if it fails, Receive does
			}
		}()
		for m, err := c.Receive(); err == nil; m, err = c.Receive() {
			heard <- m
		}
	}
}

// An executor has the task that gets the next room before there is room. If it begins in the place of another one, nobody asks the node. What was sent ahead is taken back
// when less is lent.
func TestATaskIsSentAhead(t *testing.T) {
	heard, ends := make(chan wire.Message, 9), make(chan *wire.Ended)
	defer close(ends)
	l, c, first, second := askedAhead(t, ending(heard, ends))
	say(t, c, &wire.Task{ID: first, Left: 3}, &wire.Task{ID: second, Left: 2})
	for _, id := range []uint64{first, second} {
		if m, ok := (<-heard).(*wire.Task); !ok || m.ID != id || m.Ahead != (id == second) {
			t.Fatalf("%+v, not %d", m, id)
		}
	}
	if n := l.Counts().Started; n != 1 {
		t.Errorf("%d have started", n)
	}
	ends <- &wire.Ended{ID: first, Began: second}
	if e := hear[*wire.Ended](t, c); e.ID != first || e.Why != wire.Ran || e.Began != 0 {
		t.Errorf("%+v", e)
	}
	third := hear[*wire.Ask](t, c).ID
	if _, used, _ := l.Use(); used.VCores != 1 || l.Counts().Started != 2 {
		t.Errorf("%v is used, %d have started", used, l.Counts().Started)
	}
	say(t, c, &wire.Task{ID: third, Left: 1})
	if m, ok := (<-heard).(*wire.Task); !ok || m.ID != third || !m.Ahead {
		t.Errorf("%+v", m)
	}
	l.Lend(probe.Amount{MemoryMB: 1})
	if m, ok := (<-heard).(*wire.Recall); !ok || m.ID != third {
		t.Errorf("%+v", m)
	}
	ends <- &wire.Ended{ID: third, Why: wire.Canceled}
	if e := hear[*wire.Ended](t, c); e.ID != third || e.Why != wire.Canceled {
		t.Errorf("%+v", e)
	}
	c.Close()
	l.empty()
}

// Only an executor whose tasks get the next room has them ahead: those of another scheduler would begin before one that waits for longer.
func TestNoTaskIsSentAheadOfOthers(t *testing.T) {
	heard := make(chan wire.Message, 9)
	l, c, first, second := askedAhead(t, hearing(heard))
	l.Node.mu.Lock()
	l.pace.trip *= 3                                   // three are asked for ahead
	l.shares = map[string]Share{"ben": {Priority: -1}} // who comes last
	l.Node.mu.Unlock()
	other := l.schedulerOf("ben", "two")
	say(t, other, of(1, 1, 1))
	third, ask := hear[*wire.Ask](t, c).ID, hear[*wire.Ask](t, other).ID
	say(t, other, &wire.Task{ID: ask}, &wire.Probe{Job: 9, Count: 1, Left: 1, MemoryMB: 99, VCores: 1})
	for v := hear[*wire.Verdict](t, other); v.Job != 9; v = hear[*wire.Verdict](t, other) { // the task was taken before
	}
	say(t, c, &wire.Task{ID: first, Left: 2}, &wire.Task{ID: second, Left: 1})
	for _, id := range []uint64{first, second} {
		if m, ok := (<-heard).(*wire.Task); !ok || m.ID != id {
			t.Errorf("%+v, not %d", m, id)
		}
	}
	handed := func() (ids []uint64) {
		l.Node.mu.Lock()
		defer l.Node.mu.Unlock()
		for _, slot := range l.worker.Ahead() {
			if r := l.runs[slot]; r.handed {
				ids = append(ids, r.id)
			}
		}
		return ids
	}
	if got := handed(); !slices.Equal(got, []uint64{second}) {
		t.Errorf("%d were sent ahead", got)
	}
	say(t, c, &wire.Task{ID: third})
	if m, ok := (<-heard).(*wire.Task); !ok || m.ID != third || !m.Ahead {
		t.Errorf("%+v, not %d", m, third)
	}
	if got := handed(); !slices.Equal(got, []uint64{second, third}) {
		t.Errorf("%d were sent ahead", got)
	}
	c.Close()
	other.Close()
	l.empty()
}

// A task that was sent ahead runs elsewhere if the executor hangs, which gives nothing back. Whether the executor begins that task when it goes on or not, nobody hears of it again, and
// the executor gets no other one ahead until it has told.
func TestATaskAheadOfAHungExecutor(t *testing.T) {
	for _, begins := range []bool{true, false} {
		heard, ends := make(chan wire.Message, 9), make(chan *wire.Ended)
		l, c, first, second := askedAhead(t, ending(heard, ends))
		expect := func(want wire.Message) {
			t.Helper()
			if m := <-heard; !reflect.DeepEqual(m, want) {
				t.Fatalf("%+v, not %+v", m, want)
			}
		}
		say(t, c, &wire.Task{ID: first, Left: 2}, &wire.Task{ID: second, Left: 1})
		expect(&wire.Task{ID: first, Left: 2})
		expect(&wire.Task{ID: second, Left: 1, Ahead: true})
		l.later(aheadLimit + time.Millisecond)
		l.look()
		expect(&wire.Recall{ID: second})
		l.later(recallLimit + time.Millisecond)
		l.look()
		if e := hear[*wire.Ended](t, c); e.ID != second || e.Why != wire.Canceled {
			t.Fatalf("%+v", e)
		}
		third := hear[*wire.Ask](t, c).ID
		say(t, c, &wire.Task{ID: third})
		say(t, c, of(50, 1, 1))
		for v := hear[*wire.Verdict](t, c); v.Job != 50; v = hear[*wire.Verdict](t, c) { // the task was taken before
		}
		if begins {
			ends <- &wire.Ended{ID: first, Began: second}
			expect(&wire.Cancel{ID: second})
			expect(&wire.Task{ID: third})
			ends <- &wire.Ended{ID: second}
		} else {
			ends <- &wire.Ended{ID: second, Why: wire.Canceled}
			expect(&wire.Task{ID: third, Ahead: true})
			ends <- &wire.Ended{ID: first, Began: third}
		}
		ends <- &wire.Ended{ID: third}
		for _, id := range []uint64{first, third} {
			if e := hear[*wire.Ended](t, c); e.ID != id || e.Why != wire.Ran {
				t.Errorf("begins %t: %+v, not the end of %d", begins, e, id)
			}
		}
		close(ends)
		c.Close()
		l.empty()
	}
}

// A task that was sent ahead runs elsewhere if the executor dies: it may have begun.
func TestATaskAheadEndsWithTheExecutor(t *testing.T) {
	l, c, first, second := askedAhead(t, func(ctx context.Context, c *wire.Conn) {
		for range 2 {
			_, _ = c.Receive() // it ends in any case
		}
	})
	say(t, c, &wire.Task{ID: first, Left: 2}, &wire.Task{ID: second, Left: 1})
	for range 2 {
		e := hear[*wire.Ended](t, c)
		if want := map[uint64]uint64{first: wire.Gone, second: wire.Canceled}[e.ID]; e.Why != want {
			t.Errorf("%+v", e)
		}
	}
	c.Close()
	l.empty()
}

// A task that waits at the node stays when the executor dies, which never had it: it runs in the next one. The task of the executor is given back.
func TestATaskAheadOutlivesTheExecutor(t *testing.T) {
	heard := make(chan wire.Message, 9)
	l, c, first, second := askedAhead(t, func(ctx context.Context, c *wire.Conn) {
		if m, err := c.Receive(); err == nil {
			heard <- m
		}
	})
	say(t, c, &wire.Probe{Job: 2, Count: 1, Left: 1, MemoryMB: 1, VCores: 2}) // tasks of several sizes are not sent ahead
	say(t, c, &wire.Task{ID: second, Left: 1}, &wire.Task{ID: first})
	if e := hear[*wire.Ended](t, c); e.ID != first || e.Why != wire.Gone {
		t.Errorf("%+v", e)
	}
	for _, id := range []uint64{first, second} {
		if m, ok := (<-heard).(*wire.Task); !ok || m.ID != id {
			t.Errorf("%+v starts, not %d", m, id)
		}
	}
	if e := hear[*wire.Ended](t, c); e.ID != second || e.Why != wire.Gone {
		t.Errorf("%+v", e)
	}
	c.Close()
	l.empty()
}

// When a task ahead is given back because it is large, one behind it starts that has room.
func TestATaskBehindALargeOneStarts(t *testing.T) {
	heard := make(chan wire.Message, 9)
	l := newLab(t, 2)
	l.run = hearing(heard)
	l.freeze()
	c := l.scheduler("one")
	l.Node.mu.Lock()
	l.pace = pace{trip: 2 * time.Second, gap: time.Second, last: l.now()}
	l.Node.mu.Unlock()
	large := of(2, 1, 1)
	large.MemoryMB = 2
	var ids []uint64
	for _, p := range []*wire.Probe{of(1, 1, 1), large, of(3, 1, 1)} {
		say(t, c, p)
		id := hear[*wire.Ask](t, c).ID
		say(t, c, &wire.Task{ID: id})
		ids = append(ids, id)
		say(t, c, &wire.Drop{Job: 99}, &wire.Probe{Job: 50, Count: 1, Left: 1, MemoryMB: 99, VCores: 1})
		for v := hear[*wire.Verdict](t, c); v.Job != 50; v = hear[*wire.Verdict](t, c) { // the task was taken before
		}
		l.later(aheadLimit * 2 / 5)
	}
	l.later(aheadLimit * 2 / 5)
	if e := hear[*wire.Ended](t, c); e.ID != ids[1] || e.Why != wire.Canceled {
		t.Errorf("%+v", e)
	}
	for _, id := range []uint64{ids[0], ids[2]} {
		if m, ok := (<-heard).(*wire.Task); !ok || m.ID != id {
			t.Errorf("%+v starts, not %d", m, id)
		}
	}
	c.Close()
	l.empty()
}

// An executor is told once that a task is cancelled, and of no task that it doesn't have: a scheduler could fill the node's memory.
func TestATaskIsCanceledOnce(t *testing.T) {
	heard := make(chan wire.Message, 9)
	l := newLab(t, 2)
	l.run = hearing(heard)
	c := l.scheduler("one")
	say(t, c, of(1, 2, 2))
	first, second := hear[*wire.Ask](t, c).ID, hear[*wire.Ask](t, c).ID
	say(t, c, &wire.Task{ID: first, Left: 1})
	if m, ok := (<-heard).(*wire.Task); !ok || m.ID != first {
		t.Fatalf("%+v", m)
	}
	say(t, c, &wire.Cancel{ID: 99}, &wire.Cancel{ID: second}, &wire.Cancel{ID: first}, &wire.Cancel{ID: first}, &wire.Task{ID: second})
	if m, ok := (<-heard).(*wire.Cancel); !ok || m.ID != first {
		t.Errorf("%+v", m)
	}
	if m, ok := (<-heard).(*wire.Task); !ok || m.ID != second {
		t.Errorf("%+v", m)
	}
	c.Close()
	l.empty()
}
