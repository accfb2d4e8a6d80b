package hybrid

import (
	"fmt"
	"math"
	"time"

	"heddle/am/sched"
	"heddle/nm/probe"
	"heddle/sim"
)

// setEarly prepares workers and schedulers for early binding with processor sharing: memory is no limit, and a worker's one processor is shared by all tasks there.
func (c *cluster) setEarly() error {
	switch {
	case c.mode.all:
		return fmt.Errorf("in mode %s a central scheduler places all jobs, and no probe is bound: early binding changes nothing", c.Mode)
	case c.Dice != nil || c.Eirene != nil:
		return fmt.Errorf("early binding goes with neither Dice nor Eirene: no short task waits at a node, which they are about")
	}
	c.mode.sched.Early = time.Duration(roundTrip)
	c.mode.sched.Sticky, c.node.Sticky = false, false
	c.mode.steals = never
	c.shares = make([]sharing, c.Workers)
	return nil
}

// sharing is the tasks of a worker, of which each gets as much of the processor as the others.
type sharing struct {
	served float64  // ns that a task has had which is there since the beginning
	at     sim.Time // when that was so
	tasks  heap     // by how much every task there will have had when this one ends
}

// advance counts what the tasks have had until now.
func (s *sharing) advance(now sim.Time) {
	if n := s.tasks.len(); n > 0 {
		s.served += float64(now-s.at) / float64(n)
	}
	s.at = now
}

// share runs a task beside the others of a worker.
func (c *cluster) share(n int32, r running, work sim.Time) {
	s := &c.shares[n]
	if s.advance(c.now); s.tasks.len() == 0 {
		s.served = 0 // small numbers are exact
		c.taken(1)
	}
	s.tasks.push(c.agenda.next(event{at: sim.Time(s.served) + work, kind: ended, worker: n, slot: r.slot, job: r.job, task: r.task}))
	c.schedule(n)
}

// schedule has the task of a worker end that will be first.
func (c *cluster) schedule(n int32) {
	w := &c.workers[n]
	w.generation++
	if s := &c.shares[n]; s.tasks.len() > 0 {
		first := *s.tasks.first()
		left := (float64(first.at) - s.served) * float64(s.tasks.len())
		first.at, first.generation = c.now+sim.Time(math.Ceil(max(0, left))), w.generation
		c.agenda.others.push(c.agenda.next(first))
	}
}

// shareEnds takes a task out that ends now.
func (c *cluster) shareEnds(n int32) {
	s := &c.shares[n]
	s.advance(c.now)
	s.tasks.pop()
	if s.tasks.len() == 0 {
		c.taken(-1)
	}
	c.schedule(n)
}

// claim has a worker bid for a task of a job whose probe has arrived.
func (c *cluster) claim(n, h int32) {
	w := &c.workers[n]
	ask, load := w.queue.Claim(time.Duration(c.now), probe.Handle(h))
	c.agenda.oneWay.push(c.agenda.next(event{at: c.now + oneWay, kind: bids, worker: n, job: h, slot: int32(ask.Slot), task: int32(load.Bound)}))
}

// bid takes a worker's bid to the scheduler, and sends answers if these were all.
func (c *cluster) bid(e *event) {
	a := sched.Asking{Node: sched.Node(e.worker), Load: float64(e.task), Step: 1}
	for _, g := range c.sched.Bid(time.Duration(c.now), c.jobs[e.job].id, a, uint64(e.slot)) {
		task := int32(-1)
		if g.Answer.Kind == sched.Task {
			task = g.Answer.Task
		}
		c.agenda.oneWay.push(c.agenda.next(event{at: c.now + oneWay, kind: bound, worker: int32(g.Node), job: e.job, slot: int32(g.Ticket), task: task}))
	}
}

// bind makes a worker run the task that it got for its bid, if any.
func (c *cluster) bind(e *event) {
	w := &c.workers[e.worker]
	if e.task < 0 {
		w.queue.Bind(probe.Slot(e.slot), probe.None)
		w.queue.Free(time.Duration(c.now), probe.Slot(e.slot))
		return
	}
	w.queue.Bind(probe.Slot(e.slot), probe.Task)
	j := &c.jobs[e.job]
	c.begun(j)
	c.share(e.worker, running{job: e.job, task: e.task, slot: e.slot}, j.durations[e.task])
}
