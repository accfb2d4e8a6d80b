package shorttasks

import (
	"testing"

	"heddle/nm/probe"
	"heddle/yarn/wire"
)

// A node with long tasks rejects the probes that ask for that, of both bindings, and takes others. Those that wait already stay.
func TestProbesAreRejectedForLongTasks(t *testing.T) {
	l := newLab(t, 1)
	s := l.scheduler("s")
	job := uint64(0)
	probes := func(avoid, early bool) *wire.Verdict {
		job++
		p := of(job, 2, 2)
		p.Avoid, p.Early = avoid, early
		say(t, s, p)
		return hear[*wire.Verdict](t, s)
	}
	for _, early := range []bool{false, true} {
		if v := probes(true, early); v.Accepted != 2 || v.Long {
			t.Errorf("early binding: %v: where no long task runs: %+v", early, v)
		}
		_, _, before := l.Use()
		avoided := l.Counts().Avoided
		l.SetLong(true)
		if v := probes(true, early); v.Rejected != 2 || v.Accepted != 0 || !v.Long || v.Reason != probe.HasLong.String() {
			t.Errorf("early binding: %v: where a long task runs: %+v", early, v)
		}
		if _, _, waiting := l.Use(); waiting != before || l.Counts().Avoided != avoided+2 {
			t.Errorf("early binding: %v: %d probes wait, not %d, and %d were rejected", early, waiting, before, l.Counts().Avoided)
		}
		if v := probes(false, early); v.Accepted != 2 || v.Long {
			t.Errorf("early binding: %v: where that is known: %+v", early, v)
		}
		l.SetLong(false)
	}
}
