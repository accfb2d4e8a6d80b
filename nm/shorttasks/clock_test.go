package shorttasks

import (
	"testing"
	"time"

	"heddle/yarn/wire"
)

// A node whose clock is an hour off takes the same probes, gives the same quotes, and counts the same waits as any other.
func TestAClockThatIsOff(t *testing.T) {
	type heard struct {
		first, second wire.Verdict
		counts        Counts
	}
	try := func(off time.Duration) (h heard) {
		l := newLabAt(t, 1, off)
		l.run = runAll
		l.freeze()
		c := l.scheduler("one")
		long := of(1, 1, 1)
		long.EstimateUS = 3_000_000
		say(t, c, long)
		h.first = *hear[*wire.Verdict](t, c)
		first := hear[*wire.Ask](t, c)
		say(t, c, of(2, 3, 3))
		h.second = *hear[*wire.Verdict](t, c)
		l.later(time.Second)
		say(t, c, &wire.Task{ID: first.ID})
		if e := hear[*wire.Ended](t, c); e.ID != first.ID || e.Why != wire.Ran {
			t.Errorf("%v off: %+v", off, e)
		}
		hear[*wire.Ask](t, c)
		h.counts = l.Counts()
		c.Close()
		l.empty()
		return h
	}
	want := try(0)
	if want.second.P95US == 0 || want.counts.Waited != time.Second {
		t.Errorf("%+v", want)
	}
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		if got := try(off); got != want {
			t.Errorf("%v off: %+v\notherwise: %+v", off, got, want)
		}
	}
}
