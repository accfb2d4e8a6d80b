package hybrid

import (
	"math/rand/v2"
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

	words   []uint64 // a bit for each worker with long work
	copied  []uint64 // the words as they were passed on last; nil: they have changed since
	waits   []waiting
	targets []int32
	// For DLWL: what it knows of queued is that of the last heartbeat.
	seen []sim.Time
}

// waiting is how long a task would wait at a worker.
type waiting struct {
	time   sim.Time
	worker int32
}

func (a waiting) before(b waiting) bool {
	return a.time < b.time || a.time == b.time && a.worker < b.worker
}

func newCentral(workers, first int) *central {
	c := &central{
		first: first, queued: make([]sim.Time, workers), began: make([]sim.Time, workers), runs: make([]sim.Time, workers),
		closed: make([]bool, workers), words: make([]uint64, (workers+63)/64),
	}
	for i := range c.began {
		c.began[i] = -1
	}
	return c
}

// place returns the workers of a job's tasks, from a number on. It stops at the first ones that are free of long work, if there are enough.
// Else those count as if they had one of the tasks, and the queue is filled lowest first.
func (c *central) place(now sim.Time, from, tasks int, estimate sim.Time) []int32 {
	c.targets, c.waits = c.targets[:0], c.waits[:0]
	for w := from; w < len(c.queued); w++ {
		if c.closed[w] {
			continue
		}
		if c.queued[w] == 0 {
			if c.targets = append(c.targets, int32(w)); len(c.targets) == tasks {
				return c.targets
			}
			continue
		}
		wait := c.queued[w]
		if c.began[w] >= 0 {
			wait += roundTrip - min(now-c.began[w], c.runs[w])
		}
		c.waits = append(c.waits, waiting{wait, int32(w)})
	}
	for _, w := range c.targets {
		c.waits = append(c.waits, waiting{estimate, w})
	}
	return c.fill(tasks, estimate)
}

// placeLate is place by what the last heartbeat said, with noise of so much.
func (c *central) placeLate(now sim.Time, from, tasks int, estimate, noise sim.Time, rng *rand.Rand) []int32 {
	c.targets, c.waits = c.targets[:0], c.waits[:0]
	for w := from; w < len(c.seen); w++ {
		wait := c.seen[w]
		if c.began[w] >= 0 {
			wait = max(0, wait+roundTrip-min(now-c.began[w], c.runs[w]))
		}
		wait += sim.Time(rng.IntN(int(noise/sim.Time(time.Second))+1)) * sim.Time(time.Second)
		c.waits = append(c.waits, waiting{wait, int32(w)})
	}
	return c.fill(tasks, estimate)
}

// fill adds targets until there is one for each task: always the worker with the shortest wait, which gets longer by that.
func (c *central) fill(tasks int, estimate sim.Time) []int32 {
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
		c.queued[w] += estimate
		c.words[w/64] |= 1 << (w % 64)
	}
	c.copied = nil
}

// done notes that a task has ended at a worker.
func (c *central) done(w int32, estimate sim.Time) {
	if c.queued[w] -= estimate; c.queued[w] == 0 {
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

// bitmap is the workers with long work, as known at a time.
func (c *central) bitmap(at sim.Time) sched.Bitmap {
	if c.copied == nil {
		c.copied = append([]uint64(nil), c.words...)
	}
	return sched.Bitmap{Words: c.copied, At: time.Duration(at)}
}
