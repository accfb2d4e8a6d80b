package shorttasks

import (
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// asking is an ask of one of several schedulers.
type asking struct {
	who int
	id  uint64
}

// asks are what schedulers are asked, whoever it is.
func asks(all []*wire.Conn) <-chan asking {
	out := make(chan asking, 100)
	for i, c := range all {
		go func() {
			for {
				m, err := c.Receive()
				if err != nil {
					return
				}
				if ask, ok := m.(*wire.Ask); ok {
					out <- asking{i, ask.ID}
				}
			}
		}()
	}
	return out
}

// Priorities of users are strict, and so is what a scheduler puts its tasks back by. Within a priority users have slot time by their weights.
func TestWhoIsNext(t *testing.T) {
	l := newLab(t, 1)
	l.freeze() // so that all tasks take the same
	l.shares = map[string]Share{"ops": {Weight: 1, Priority: 5}, "anna": {Weight: 3}}
	l.run = runAll
	first := l.schedulerOf("first", "first")
	say(t, first, of(1, 1, 1))
	ask := hear[*wire.Ask](t, first) // the slot is taken until all have come
	var all []*wire.Conn
	for i, who := range []struct {
		user string
		nice uint64
	}{{"ben", 7}, {"ben", 0}, {"anna", 0}, {"ops", 0}} {
		c := l.schedulerOf(who.user, string(rune('a'+i)))
		p := of(1, 20, 1000)
		p.Nice = who.nice
		say(t, c, p)
		hear[*wire.Verdict](t, c)
		all = append(all, c)
	}
	turn := asks(all)
	say(t, first, &wire.NoTask{ID: ask.ID})
	served := func(n int) (counts [4]int) {
		for range n {
			x := <-turn
			counts[x.who]++
			say(t, all[x.who], &wire.Task{ID: x.id, Left: 100})
		}
		return counts
	}
	if got := served(10); got != [4]int{3: 10} {
		t.Errorf("the highest priority: %v", got)
	}
	next := func(leaves int) { // the one that was asked last has no task more
		x := <-turn
		if x.who != leaves {
			t.Fatalf("%d is asked instead of %d", x.who, leaves)
		}
		say(t, all[leaves], &wire.Drop{Job: 1}, &wire.NoTask{ID: x.id})
	}
	next(3)
	if got := served(41); got[2] < 29 || got[2] > 32 || got[0]+got[3] != 0 {
		t.Errorf("weights 1 and 3: %v", got)
	}
	say(t, all[1], &wire.Drop{Job: 1})
	say(t, all[2], &wire.Drop{Job: 1})
	got := served(10)
	if got[0] < 8 { // those asked before are answered first
		t.Errorf("who is nice, alone: %v", got)
	}
	for _, c := range append(all, first) {
		c.Close()
	}
	l.empty()
}

// A node counts its quotes that come true, and those that don't, when it asks for the first task of the job.
func TestQuotesAreCounted(t *testing.T) {
	l := newLab(t, 1)
	l.freeze()
	c := l.scheduler("one")
	say(t, c, of(1, 1, 1)) // at once
	if v := hear[*wire.Verdict](t, c); v.P50US != 0 || v.P95US != 0 {
		t.Errorf("%+v", v)
	}
	first := hear[*wire.Ask](t, c)
	say(t, c, of(2, 2, 2), of(3, 1, 1))
	if v := hear[*wire.Verdict](t, c); v.P50US == 0 || v.P95US <= v.P50US {
		t.Errorf("behind one of a millisecond: %+v", v)
	}
	hear[*wire.Verdict](t, c)
	l.later(time.Second)
	say(t, c, &wire.NoTask{ID: first.ID})
	if ask := hear[*wire.Ask](t, c); ask.Job == 1 {
		t.Errorf("%+v", ask)
	} else {
		say(t, c, &wire.NoTask{ID: ask.ID})
	}
	hear[*wire.Ask](t, c)
	if got := l.Counts(); got.Quotes != 3 || got.Broken != 2 {
		t.Errorf("%+v", got)
	}
	before := l.Counts()
	if got := l.Counts().Since(before); got != (Counts{}) {
		t.Errorf("%+v", got)
	}
	c.Close()
	l.empty()
}

// With early binding a node asks as soon as probes have come, says what it has to do, and has tasks share its vcore. They wait for memory alone, and are given back if they can't have it.
func TestEarlyProbesAskAtOnce(t *testing.T) {
	l := newLab(t, 1)
	l.Lend(probe.Amount{MemoryMB: 2, VCores: 1})
	c := l.scheduler("one")
	early := func(job, count uint64) []*wire.Ask {
		t.Helper()
		m := of(job, count, count)
		m.Early = true
		say(t, c, m)
		if v := hear[*wire.Verdict](t, c); v.Accepted != count || v.P95US != 0 {
			t.Errorf("%+v", v)
		}
		var asks []*wire.Ask
		for range count {
			asks = append(asks, hear[*wire.Ask](t, c))
		}
		return asks
	}
	for i := range 2 {
		a := early(uint64(i), 1)[0]
		if a.Bound != uint64(i) || a.VCores != 1 {
			t.Errorf("%+v", a)
		}
		say(t, c, &wire.Task{ID: a.ID, What: wire.Nothing})
		await.Until(t, "it runs", func() bool { return l.Counts().Started == int64(i+1) })
	}
	third := early(2, 1)[0]
	if third.Bound != 2 {
		t.Errorf("%+v", third)
	}
	say(t, c, &wire.Task{ID: third.ID, What: wire.Nothing}, &wire.NoTask{ID: 99})
	l.later(2 * sweepTime) // it was bound here, and isn't given back
	a := early(3, 1)[0]
	say(t, c, &wire.NoTask{ID: a.ID})
	if n := l.Counts().Started; n != 2 {
		t.Errorf("%d tasks of 1 MB run on 2 MB", n)
	}
	l.Lend(probe.Amount{})
	if e := hear[*wire.Ended](t, c); e.ID != third.ID || e.Why != wire.Canceled {
		t.Errorf("%+v, not %d", e, third.ID)
	}
	c.Close()
	l.empty()
}
