package hybrid

import (
	"math"
	"math/bits"
	"time"

	"heddle/am/sched"
	"heddle/sim"
)

// central is the scheduler of long jobs. It knows the estimates of the tasks that it sent to each worker, and sends new ones where they
// will wait for the least time. It sees no short work.
type central struct {
	first  int        // the workers below are the short partition
	queued []sim.Time // sum of the estimates of tasks that were sent there and haven't ended, by worker
	began  []sim.Time // when the long task that runs there began, −1: none does
	runs   []sim.Time // its estimate
	closed []bool     // to new long work
	idle   []uint64   // a bit for each worker of which queued is 0

	blocks  []block
	words   []uint64  // a bit for each worker with long work
	copied  []uint64  // the words as they were passed on last; nil: they have changed since
	waits   []waiting // those that wait for the least time: one for each task is enough. Inverse while they are collected
	most    int
	targets []int32
	// For DLWL: what it knows of queued is that of the last heartbeat.
	seen    []sim.Time
	changed []int32 // workers of which queued has changed since
}

// waiting is how long a task would wait at a worker.
type waiting struct {
	time   sim.Time
	worker int32
}

func (a waiting) before(b waiting) bool {
	return a.time < b.time || a.time == b.time && a.worker < b.worker
}

func newCentral(workers, first int, p knowledge) *central {
	c := &central{
		first: first, queued: make([]sim.Time, workers), began: make([]sim.Time, workers), runs: make([]sim.Time, workers),
		closed: make([]bool, workers), words: make([]uint64, (workers+63)/64), idle: make([]uint64, (workers+63)/64),
		blocks: make([]block, (workers+side-1)/side),
	}
	for i := range c.began {
		c.began[i] = -1
		c.idle[i/64] |= 1 << (i % 64)
	}
	for i := range c.blocks {
		c.blocks[i].stale = true
	}
	if p == late {
		c.seen = make([]sim.Time, workers)
	}
	return c
}

// side is how many workers a block has.
const side = 16

// block is what is known of a number of workers together, so that those that none of a job's tasks can go to are passed over at once.
type block struct {
	stale bool
	ends  sim.Time // of the workers where a long task runs: the least that one waits for, plus the time
	waits sim.Time // of the others: the least that one waits for
}

// least returns what a task waits for at least at any worker of a block.
func (c *central) least(b int, now sim.Time) sim.Time {
	x := &c.blocks[b]
	if x.stale {
		c.look(b)
	}
	return min(max(0, x.ends-now), x.waits)
}

// look computes what is known of a block.
func (c *central) look(b int) {
	x := block{ends: math.MaxInt64, waits: math.MaxInt64}
	known := c.seen
	if known == nil {
		known = c.queued
	}
	for w := b * side; w < min((b+1)*side, len(known)); w++ {
		switch {
		case c.began[w] >= 0:
			x.ends = min(x.ends, known[w]+roundTrip+c.began[w])
		case known[w] > 0 || c.seen != nil: // else it is idle, and has no queue
			x.waits = min(x.waits, known[w])
		}
	}
	c.blocks[b] = x
}

// runsSince says that a long task of an estimate runs at a worker since a time; −1: none does.
func (c *central) runsSince(w int32, began, estimate sim.Time) {
	if c.began[w] != began || began >= 0 && c.runs[w] != estimate {
		c.began[w], c.runs[w] = began, estimate
		c.blocks[w/side].stale = true
	}
}

// beat records the heartbeats of all workers, for DLWL.
func (c *central) beat() {
	for _, w := range c.changed {
		if c.seen[w] != c.queued[w] {
			c.seen[w] = c.queued[w]
			c.blocks[w/side].stale = true
		}
	}
	c.changed = c.changed[:0]
}

// inverse comes before others that it came after.
func (a waiting) inverse() waiting { return waiting{-a.time, -a.worker} }

// begin forgets what was collected, and has so many workers collected.
func (c *central) begin(tasks int) {
	c.targets, c.waits, c.most = c.targets[:0], c.waits[:0], tasks
}

// limit returns a time that a worker with a higher number than all that were collected must wait for less than, to be among them.
func (c *central) limit() sim.Time {
	if len(c.waits) < c.most {
		return math.MaxInt64
	}
	return -c.waits[0].time
}

// below draws a number below n, as rand.Rand does: all are as likely, as what falls into an incomplete row is drawn again (Lemire, Fast Random Integer Generation in an
// Interval). There is a draw for each worker and job, and a generator behind an interface would take a third of the simulation.
func below(rng *pcg, n uint64) uint64 {
	for {
		if number, row := bits.Mul64(rng.Uint64(), n); row >= n || row >= -n%n {
			return number
		}
	}
}

// offer takes a worker in, in place of the one that waits for longest if there are enough.
func (c *central) offer(a waiting) {
	x := a.inverse()
	if len(c.waits) < c.most {
		c.waits = append(c.waits, x)
		for i := len(c.waits) - 1; i > 0; {
			p := (i - 1) / 2
			if !c.waits[i].before(c.waits[p]) {
				break
			}
			c.waits[i], c.waits[p] = c.waits[p], c.waits[i]
			i = p
		}
		return
	}
	if c.waits[0].before(x) {
		c.waits[0] = x
		c.sink(0)
	}
}

// place returns the workers of a job's tasks, from a number on. It stops at the first ones that are free of long work, if there are enough.
// Else those count as if they had one of the tasks, and the queue is filled lowest first.
func (c *central) place(now sim.Time, from, tasks int, estimate sim.Time) []int32 {
	c.begin(tasks)
	if c.free(from, tasks); len(c.targets) == tasks {
		return c.targets
	}
	for b := from / side; b < len(c.blocks); b++ {
		if c.least(b, now) >= c.limit() {
			continue
		}
		for w := max(from, b*side); w < min((b+1)*side, len(c.queued)); w++ {
			if c.closed[w] || c.queued[w] == 0 {
				continue
			}
			wait := c.queued[w]
			if c.began[w] >= 0 {
				wait += roundTrip - min(now-c.began[w], c.runs[w])
			}
			c.offer(waiting{wait, int32(w)})
		}
	}
	for _, w := range c.targets {
		c.offer(waiting{estimate, w})
	}
	return c.fill(tasks, estimate)
}

// free collects the first workers that are free of long work, from a number on.
func (c *central) free(from, tasks int) {
	for i := from / 64; i < len(c.idle); i++ {
		word := c.idle[i]
		if i == from/64 {
			word &= math.MaxUint64 << (from % 64)
		}
		for ; word != 0; word &= word - 1 {
			w := i*64 + bits.TrailingZeros64(word)
			if c.closed[w] {
				continue
			}
			if c.targets = append(c.targets, int32(w)); len(c.targets) == tasks {
				return
			}
		}
	}
}

// placeLate is place by what the last heartbeat said, with noise of so much. Where no noise makes a worker one of those that wait for the
// least time, its draw is left out.
func (c *central) placeLate(now sim.Time, from, tasks int, estimate, noise sim.Time, rng *pcg) []int32 {
	c.begin(tasks)
	steps := uint64(noise/sim.Time(time.Second)) + 1
	limit, drawn := c.limit(), from
	for b := from / side; b < len(c.blocks) && limit > 0; b++ {
		if c.least(b, now) >= limit {
			continue
		}
		first, end := max(from, b*side), min((b+1)*side, len(c.seen))
		rng.skip(uint32(first - drawn))
		drawn = end
		for w := first; w < end; w++ {
			wait := c.seen[w]
			if c.began[w] >= 0 {
				wait = max(0, wait+roundTrip-min(now-c.began[w], c.runs[w]))
			}
			wait += sim.Time(below(rng, steps)) * sim.Time(time.Second)
			if wait < limit {
				c.offer(waiting{wait, int32(w)})
				limit = c.limit()
			}
		}
	}
	rng.skip(uint32(len(c.seen) - drawn))
	return c.fill(tasks, estimate)
}

// fill adds targets until there is one for each task: always the worker with the shortest wait, which gets longer by that.
func (c *central) fill(tasks int, estimate sim.Time) []int32 {
	for i := range c.waits {
		c.waits[i] = c.waits[i].inverse()
	}
	for i := len(c.waits)/2 - 1; i >= 0; i-- {
		c.sink(i)
	}
	if len(c.waits) == 0 {
		return c.targets
	}
	for len(c.targets) < tasks {
		// The first takes tasks until it is behind the second.
		second := waiting{time: 1 << 62}
		for i := 1; i < min(3, len(c.waits)); i++ {
			if c.waits[i].before(second) {
				second = c.waits[i]
			}
		}
		first := &c.waits[0]
		for first.time <= second.time && len(c.targets) < tasks {
			c.targets = append(c.targets, first.worker)
			first.time += estimate
		}
		c.sink(0)
	}
	return c.targets
}

func (c *central) sink(i int) {
	x := c.waits[i]
	for {
		k := 2*i + 1
		if k >= len(c.waits) {
			break
		}
		if k+1 < len(c.waits) && c.waits[k+1].before(c.waits[k]) {
			k++
		}
		if !c.waits[k].before(x) {
			break
		}
		c.waits[i] = c.waits[k]
		i = k
	}
	c.waits[i] = x
}

// sent notes that tasks go to workers.
func (c *central) sent(workers []int32, estimate sim.Time) {
	for _, w := range workers {
		c.queue(w, estimate)
		c.words[w/64] |= 1 << (w % 64)
	}
	c.copied = nil
}

// queue adds an estimate to what a worker has queued.
func (c *central) queue(w int32, estimate sim.Time) {
	c.queued[w] += estimate
	if bit := uint64(1) << (w % 64); c.queued[w] == 0 {
		c.idle[w/64] |= bit
	} else {
		c.idle[w/64] &^= bit
	}
	if c.seen != nil {
		c.changed = append(c.changed, w)
	} else {
		c.blocks[w/side].stale = true
	}
}

// done notes that a task has ended at a worker.
func (c *central) done(w int32, estimate sim.Time) {
	if c.queue(w, -estimate); c.queued[w] == 0 {
		c.words[w/64] &^= 1 << (w % 64)
		c.copied = nil
	}
}

// show hides the long work of a worker from the bitmap, or shows it again.
func (c *central) show(w int32, is bool) {
	if is && c.queued[w] > 0 {
		c.words[w/64] |= 1 << (w % 64)
	} else {
		c.words[w/64] &^= 1 << (w % 64)
	}
	c.copied = nil
}

// bitmap returns the workers with long work, as known at a time.
func (c *central) bitmap(at sim.Time) sched.Bitmap {
	if c.copied == nil {
		c.copied = append([]uint64(nil), c.words...)
	}
	return sched.Bitmap{Words: c.copied, At: time.Duration(at)}
}
