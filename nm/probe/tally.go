package probe

import "math/bits"

// tally has sums over what waits and runs at the one worker of some Jobs (Config.Counted), so that quotes, counts and limits look at no probe one by
// one: the senders of probes decide how many there are.
type tally struct {
	waits   map[int32]*load // probes that wait and whose jobs have waiting tasks, by priority
	all     int             // of all priorities
	runs    load            // asks and tasks that have a slot, without clones, suspended ones and what shares the processors
	waiting []int32         // probes that wait, by job
	running []int32         // what runs counts, by job
	users   map[int32]int   // probes of a user, and asks for which there is no room yet
	revived []Handle        // jobs that have waiting tasks again, since recall looked last
}

// load is some tasks that are expected to run.
type load struct {
	count   int
	sum     wide // of their estimates, in ns
	squares wide // of their squares
}

func (l *load) add(n int, e *load) {
	for ; n > 0; n-- {
		l.count, l.sum, l.squares = l.count+e.count, l.sum.plus(e.sum), l.squares.plus(e.squares)
	}
	for ; n < 0; n++ {
		l.count, l.sum, l.squares = l.count-e.count, l.sum.minus(e.sum), l.squares.minus(e.squares)
	}
}

// maxSummed bounds an estimate in sums, in ns: two years. So the squares of 2^16 such probes have room in 128 bits.
const maxSummed = 1 << 56

// one returns the load of one task of a job.
func (x *hot) one() load {
	ns := uint64(min(max(x.estimate, 0), maxSummed))
	high, low := bits.Mul64(ns, ns)
	return load{1, wide{low: ns}, wide{high, low}}
}

// wide is a sum that loses nothing: what a huge estimate adds is gone when it is taken off again.
type wide struct{ high, low uint64 }

func (a wide) plus(b wide) (s wide) {
	var carry uint64
	s.low, carry = bits.Add64(a.low, b.low, 0)
	s.high, _ = bits.Add64(a.high, b.high, carry)
	return s
}

func (a wide) minus(b wide) (s wide) {
	var borrow uint64
	s.low, borrow = bits.Sub64(a.low, b.low, 0)
	s.high, _ = bits.Sub64(a.high, b.high, borrow)
	return s
}

func (a wide) float() float64 { return float64(a.high)*(1<<64) + float64(a.low) }

// wait counts probes of a job that begin to wait, or wait no more.
func (t *Jobs) wait(h Handle, n int) {
	c := t.tally
	if c == nil {
		return
	}
	for len(c.waiting) <= int(h) {
		c.waiting = append(c.waiting, 0)
	}
	c.waiting[h] += int32(n)
	if t.hot[h].remaining >= 0 {
		c.count(t, h, n)
	}
}

// recount counts the probes of a job which from now on has waiting tasks, or has none any more.
func (t *Jobs) recount(h Handle, sign int) {
	if c := t.tally; c != nil && int(h) < len(c.waiting) && c.waiting[h] > 0 {
		c.count(t, h, sign*int(c.waiting[h]))
		if sign > 0 {
			c.revived = append(c.revived, h)
		}
	}
}

func (c *tally) count(t *Jobs, h Handle, n int) {
	l := c.waits[t.rest[h].Priority]
	if l == nil {
		l = &load{}
		c.waits[t.rest[h].Priority] = l
	}
	one := t.hot[h].one()
	l.add(n, &one)
	if c.all += n; l.count == 0 && len(c.waits) > few { // else it is soon needed again
		delete(c.waits, t.rest[h].Priority)
	}
}

// run counts an ask or task of a job that takes a slot, or leaves it.
func (t *Jobs) run(h Handle, n int) {
	if c := t.tally; c != nil && !t.rest[h].Early {
		for len(c.running) <= int(h) {
			c.running = append(c.running, 0)
		}
		c.running[h] += int32(n)
		one := t.hot[h].one()
		c.runs.add(n, &one)
	}
}

// WaitingOf returns how many probes of a job wait, if the job has waiting tasks. It needs Config.Counted.
func (t *Jobs) WaitingOf(h Handle) int {
	if c := t.tally; int(h) < len(c.waiting) && t.hot[h].remaining >= 0 {
		return int(c.waiting[h])
	}
	return 0
}

// owns counts probes and roomless asks of a user.
func (t *Jobs) owns(user int32, n int) {
	c := t.tally
	if c == nil {
		return
	}
	if c.users[user] += n; c.users[user] == 0 {
		delete(c.users, user)
	}
}

// front returns the probes that wait and come first for one of a priority that arrives now: those of its own priority and of higher ones.
func (w *Worker) front(priority int32) (l load) {
	if c := w.jobs.tally; c != nil {
		for p, x := range c.waits {
			if p >= priority {
				l.add(1, x)
			}
		}
		return l
	}
	w.recall()
	for c := range w.classes {
		if w.classes[c].priority < priority {
			break
		}
		for u := range w.classes[c].users {
			for _, e := range w.classes[c].users[u].all() {
				if x := &w.jobs.hot[e.job]; !e.held && x.remaining >= 0 {
					one := x.one()
					l.add(1+int(e.more), &one)
				}
			}
		}
	}
	return l
}

// busy returns the asks and tasks that have a slot, without clones and what shares the processors.
func (w *Worker) busy() (l load) {
	if w.jobs.tally != nil {
		return w.jobs.tally.runs
	}
	for i := range w.slots.runs {
		if r := &w.slots.runs[i]; (r.phase == asked || r.phase == running) && !w.jobs.rest[r.job].Early {
			one := w.jobs.hot[r.job].one()
			l.add(1, &one)
		}
	}
	return l
}
