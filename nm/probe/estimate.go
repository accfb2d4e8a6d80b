package probe

import (
	"math/bits"
	"time"
)

// SetEstimate says that tasks of a job are expected to take another time than before; 0: nothing is known of them. It holds for probes and tasks that
// are here already, except for users' payments so far and past overtaking.
func (w *Worker) SetEstimate(h Handle, d time.Duration) {
	j := &w.jobs.rest[h]
	if d <= 0 {
		d = shortest
	}
	if d == j.Estimate {
		return
	}
	w.jobs.reestimate(h, d)
	if c, u := w.at(j.Priority, j.User); u >= 0 {
		if m := w.classes[c].users[u].more; m != nil {
			m.least = min(m.least, d)
		}
	}
}

// reestimate changes a job's estimate, and the sums that have it.
func (t *Jobs) reestimate(h Handle, d time.Duration) {
	before := t.hot[h].one()
	t.rest[h].Estimate, t.hot[h].estimate = d, d
	now := t.hot[h].one()
	if t.hot[h].remaining >= 0 {
		t.hot[h].remaining = float64(t.rest[h].Left) * float64(d)
	}
	c := t.tally
	if c == nil {
		return
	}
	if int(h) < len(c.waiting) && c.waiting[h] > 0 && t.hot[h].remaining >= 0 {
		c.waits[t.rest[h].Priority].exchange(c.waiting[h], &before, &now)
	}
	if int(h) < len(c.running) && c.running[h] > 0 {
		c.runs.exchange(c.running[h], &before, &now)
	}
}

// exchange has n tasks of a load be expected to take another time.
func (l *load) exchange(n int32, before, now *load) {
	k := uint64(n)
	l.sum = l.sum.minus(before.sum.times(k)).plus(now.sum.times(k))
	l.squares = l.squares.minus(before.squares.times(k)).plus(now.squares.times(k))
}

// times returns a sum of k equal ones.
func (a wide) times(k uint64) (s wide) {
	high, low := bits.Mul64(a.low, k)
	return wide{a.high*k + high, low}
}
