package hybrid

import (
	"time"

	"heddle/nm/probe"
	"heddle/rm/scheduler/policy/partition"
	"heddle/sim"
)

// held is the long task of a worker, as far as Dice may suspend it.
type held struct {
	generation int32 // grows when a task begins, resumes or is suspended, so that older ends don't count
	invited    bool  // the worker was asked to suspend, and takes short probes for that
	pausing    bool  // it is being suspended
	is         bool  // it is suspended
	task       running
	ends       sim.Time // when it ends if it isn't suspended
	left       sim.Time // of its time, if it is
}

// runs notes that a long task runs until a time.
func (h *held) runs(r running, until sim.Time) {
	*h = held{generation: h.generation + 1, invited: h.invited, task: r, ends: until}
}

// resize ends a window of Dice: it closes workers to new long work, the same ones as long as waits last, so that they drain of what they run. And
// it asks others to suspend what they run.
func (c *cluster) resize() {
	plan := c.sizer.Next(time.Duration(c.now), c.Workers)
	clear(c.central.closed)
	for w := c.general; w < min(c.general+plan.Closed, c.Workers); w++ {
		c.central.closed[w] = true
	}
	c.metrics.windows++
	c.metrics.closed += plan.Closed
	for _, w := range c.invited {
		c.workers[w].held.invited = false
		c.central.show(w, true)
	}
	c.invited = c.invited[:0]
	for _, w := range partition.Draw(c.pool, plan.Requests, c.rng.IntN) {
		if c.node.AvoidLong {
			c.workers[w].held.invited = true
			c.central.show(w, false)
			c.invited = append(c.invited, w)
		}
		c.request(w)
	}
}

// accepts reports whether a worker accepts a short probe. In Eagle no short probe waits where long work is, so that a request to suspend that
// work would come to nothing. Therefore workers that are asked to do so take probes until the next window, unless they have suspended a task.
func (c *cluster) accepts(w *worker, h probe.Handle) bool {
	return w.queue.Offer(h) == probe.Accepted || w.held.invited && !w.held.is && !w.held.pausing
}

// request asks a worker to suspend the long task that runs there. It stops, and its slot is free after some time.
func (c *cluster) request(n int32) {
	w := &c.workers[n]
	if s, ok := w.queue.Suspendable(); !ok || w.held.pausing || w.held.is || int32(s) != w.held.task.slot || w.held.ends <= c.now {
		return
	}
	w.held.generation++
	w.held.pausing = true
	w.held.left = w.held.ends - c.now
	c.agenda.others.push(c.agenda.next(event{at: c.now + sim.Time(c.Dice.SuspendCost), kind: pausing, worker: n}))
}

// suspend frees the slot of a task that has stopped.
func (c *cluster) suspend(n int32) {
	w := &c.workers[n]
	w.held.pausing, w.held.is = false, true
	w.queue.Suspend(probe.Slot(w.held.task.slot))
	c.taken(-1)
	c.central.runsSince(n, -1, 0)
	c.metrics.suspensions++
	c.agenda.others.push(c.agenda.next(event{at: c.now + sim.Time(c.Dice.Timeout), kind: expired, worker: n}))
	c.start(n)
}

// resume resumes a suspended task, if its time is up and the slot is free. It reports whether it does.
func (c *cluster) resume(n int32) bool {
	w := &c.workers[n]
	if !w.held.is {
		return false
	}
	if _, ok := w.queue.Resume(); !ok {
		return false
	}
	c.taken(1)
	r, left := w.held.task, w.held.left
	done := c.jobs[r.job].durations[r.task] - min(left, c.jobs[r.job].durations[r.task])
	c.central.runsSince(n, c.now-done, c.jobs[r.job].estimate)
	c.endAt(c.now+sim.Time(c.Dice.ResumeCost)+left, n, r)
	return true
}
