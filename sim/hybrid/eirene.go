package hybrid

import (
	"fmt"
	"math/bits"
	"time"

	"heddle/am/sched"
	"heddle/nm/probe"
	"heddle/nm/staging"
	"heddle/sim"
)

// Eirene are the parameters of Eirene.
type Eirene struct {
	Staging    staging.Config // Capacity counts inputs
	Copy       time.Duration  // what a copy of a task's input takes
	Faster     float64        // part of its time that a task saves whose input is in memory
	CloneBelow time.Duration  // mean wait of short tasks below which they are cloned
	NoStaging  bool
	NoClones   bool
}

// EireneStudy returns Eirene as its authors measured it (table 4.5). They name neither the size of the RAM disk nor what a light load is: 64 inputs, and
// a mean wait of 10 s.
func EireneStudy() *Eirene {
	return &Eirene{
		Staging: staging.Config{Concurrent: 10, PerProbe: 2, Capacity: 64}, Copy: 6420 * time.Millisecond, Faster: .15, CloneBelow: 10 * time.Second,
	}
}

// setEirene prepares workers and schedulers.
func (c *cluster) setEirene() error {
	e := c.Eirene
	if e.Staging.Concurrent < 1 || e.Staging.PerProbe < 0 || e.Copy < 0 || !(e.Faster >= 0 && e.Faster < 1) {
		return fmt.Errorf("%d copies at a time of %v that save %g of a task: give one at least, and less than all", e.Staging.Concurrent, e.Copy, e.Faster)
	}
	if !e.NoClones {
		c.mode.sched.CloneBelow = e.CloneBelow
		c.node.Late = true
	}
	return nil
}

// table is what a worker knows of a job's tasks. It is asked for most of what a simulation does, so it has what its scheduler would say: none of these tasks waits
// again once it was launched.
type table struct {
	tasks int
	waits []uint64 // a bit for each
}

func newTable(tasks int) *table {
	t := &table{tasks, make([]uint64, (tasks+63)/64)}
	for i := range tasks {
		t.waits[i/64] |= 1 << (i % 64)
	}
	return t
}

func (t *table) Tasks() int            { return t.tasks }
func (t *table) Waits(task int32) bool { return t.waits[task/64]>>(task%64)&1 != 0 }
func (t *table) Size(int32) int64      { return 1 }

func (t *table) Next(task int32) int32 {
	word := t.waits[task/64] >> (task % 64) << (task % 64)
	for i := task / 64; ; word = t.waits[i] {
		if word != 0 {
			return i*64 + int32(bits.TrailingZeros64(word))
		}
		if i++; int(i) == len(t.waits) {
			return int32(t.tasks)
		}
	}
}

// launched notes that a task was.
func (t *table) launched(task int32) { t.waits[task/64] &^= 1 << (task % 64) }

// isStaged reports whether inputs of a job's tasks are staged.
func (c *cluster) isStaged(j *job) bool { return c.Eirene != nil && !c.Eirene.NoStaging && !j.long }

// probed has a worker stage inputs for a probe that has arrived.
func (c *cluster) probed(n, h int32) {
	j := &c.jobs[h]
	if !c.isStaged(j) {
		return
	}
	x := c.workers[n].staged(n)
	if x == nil {
		x = c.preloads.take(n, c.Eirene.Staging, c.rng)
		c.workers[n].preload = x
	}
	x.use++
	x.enter(&c.event).Probed(staging.Job(h), j.table)
	c.copy(x)
}

// copy begins the copies that a worker can make now.
func (c *cluster) copy(x *preload) {
	for {
		a, ok := x.Next()
		if !ok {
			break
		}
		if !a.Delete {
			c.metrics.eirene.Copies++
			c.agenda.seq++
			c.agenda.copying = c.now + sim.Time(c.Eirene.Copy)
			x.push(copying{at: c.agenda.copying, seq: c.agenda.seq, job: int32(a.Job), task: a.Task})
		}
	}
	if x.Waiting() && !x.waits {
		x.waits = true
		e := x.first()
		c.agenda.others.push(event{at: e.at, seq: e.seq, kind: copied, worker: x.of})
	}
}

// copied ends a copy for which another one waits.
func (c *cluster) copied(e *event) {
	x := c.workers[e.worker].preload.enter(&c.event)
	x.waits = false
	x.made()
	c.copy(x)
	c.preloads.rest(x, &c.event)
}

// asking returns what a worker says when it asks for a task.
func (c *cluster) asking(n int32, h probe.Handle) sched.Asking {
	a := sched.Asking{Node: sched.Node(n)}
	if c.Eirene == nil || c.jobs[h].long {
		return a
	}
	w := &c.workers[n]
	if x := c.workers[n].staged(n); x != nil {
		c.inMemory = x.enter(&c.event).Staged(staging.Job(h), c.inMemory[:0])
		a.Staged = c.inMemory
	}
	if wait, _ := c.sched.Left(c.jobs[h].id); wait == 0 && !c.Eirene.NoClones { // else it gets no clone anyway
		if a.Others = w.queue.Others(); w.held.is {
			a.Others++ // a suspended task waits
		}
	}
	return a
}

// duration returns how long a task takes that starts on a worker. A clone takes as long as one of the job's tasks, drawn by chance.
func (c *cluster) duration(n int32, r running) sim.Time {
	j := &c.jobs[r.job]
	d := j.durations[r.task]
	if r.clone {
		c.metrics.eirene.Clones++
		d = j.durations[c.rng.IntN(len(j.durations))]
	}
	if x := c.workers[n].staged(n); x != nil && c.isStaged(j) {
		if x.enter(&c.event).Took(staging.Job(r.job), r.task, j.table) {
			c.metrics.eirene.Hits++
			d -= sim.Time(c.Eirene.Faster * float64(d))
		}
		c.copy(x)
	}
	return d
}

// release says that a probe of a job has left a worker.
func (c *cluster) release(n, h int32) {
	if x := c.workers[n].staged(n); x != nil {
		x.enter(&c.event).Released(staging.Job(h))
		c.preloads.rest(x, &c.event)
	}
}

// released does so for the probes that a worker has dropped by itself.
func (c *cluster) released(n int32) {
	if c.Eirene == nil {
		return // no worker asks
	}
	for _, h := range c.workers[n].queue.Dropped() {
		c.release(n, int32(h))
	}
}

// vacate says that a task has ended at a worker, or was stopped. Its probe has left, unless it sticks.
func (c *cluster) vacate(n int32, r running) {
	if c.Eirene == nil || c.jobs[r.job].long {
		return
	}
	x := c.workers[n].staged(n)
	if x == nil {
		return
	}
	x.enter(&c.event).Ended(staging.Job(r.job), r.task)
	if r.clone || !c.node.Sticky {
		c.release(n, r.job)
	}
}

// stop ends an attempt that another one has overtaken. The message takes its time.
func (c *cluster) stop(n, h, task int32) {
	w := &c.workers[n]
	if w.runs.job != h || w.runs.task != task {
		return
	}
	c.agenda.oneWay.push(c.agenda.next(event{at: c.now + oneWay, kind: refused, worker: n, slot: w.runs.slot}))
	c.vacate(n, w.runs)
	w.generation++
	w.runs = running{job: -1}
}

// makeRoom ends a clone that is in the way of a waiting probe.
func (c *cluster) makeRoom(n int32) {
	if c.Eirene == nil || c.Eirene.NoClones {
		return
	}
	w := &c.workers[n]
	s, ok := w.queue.Crowding()
	c.released(n)
	if !ok || !w.runs.clone {
		return
	}
	c.sched.Failed(c.jobs[w.runs.job].id, w.runs.task, sched.Node(n))
	c.vacate(n, w.runs)
	w.generation++
	w.runs = running{job: -1}
	c.free(n, s)
}
