package mapreduce

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lose notes that a map task's output isn't there any more. It is made again if a reduce task may need it.
func (c *coordinator) lose(m, attempt int) {
	t := c.maps[m]
	if t.phase != done || t.attempt != attempt || c.count(c.reduces, done) == len(c.reduces) {
		return
	}
	c.log.WithField("task", t.id().String()).Warn("Its output is lost")
	t.phase, t.progress = waiting, 0
	c.events = append(c.events, mapOutput{Map: m, Attempt: attempt, Lost: true})
	c.counters.Add(jobGroup, lostMaps, 1)
	if t.worker != nil {
		delete(t.worker.outputs, m)
	}
	if t.lost++; t.lost > lostLimit {
		c.fail(fmt.Errorf("the output of map task %d was lost %d times", m, t.lost))
	}
}

// lostLimit is how often a map task's output may be lost.
const lostLimit = 20

// end ends the current attempt at a task without success.
func (c *coordinator) end(t *taskState, f Failure, counts bool) {
	if t.worker != nil {
		t.worker.task = nil
	}
	t.phase, t.worker, t.progress = waiting, nil, 0
	if !counts {
		return
	}
	if c.failures = append(c.failures, f); len(c.failures) > failuresKept {
		c.failures = c.failures[1:]
	}
	tries, counter := c.spec.MapTries, failedMaps
	if t.kind == reduceTask {
		tries, counter = c.spec.ReduceTries, failedReduces
	}
	c.counters.Add(jobGroup, counter, 1)
	c.log.Warnf("Failed: %v", f)
	if t.avoid == nil {
		t.avoid = map[string]bool{}
	}
	t.avoid[f.Host], t.failedAt = true, c.now()
	if t.failed++; t.failed >= tries {
		c.fail(fmt.Errorf("%s task %d failed %d times, at last %v", t.kind, t.index, t.failed, f))
	}
}

const failuresKept = 100

// unfetchable takes in that a reduce task can't get the output of a map task.
func (c *coordinator) unfetchable(_ context.Context, f *fetchFailure) (struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Map < 0 || f.Map >= len(c.maps) {
		return struct{}{}, fmt.Errorf("no map task %d", f.Map)
	}
	if !c.over {
		c.lose(f.Map, f.Attempt)
		c.change()
	}
	return struct{}{}, nil
}

// starving is how long a map task waits while only reduce tasks run, until one of those, which all wait for its output, goes.
const starving = 5 * time.Second

// relieve makes room for map tasks that have to be repeated, and lets workers look for tasks that have waited long enough.
func (c *coordinator) relieve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
	stuck := !c.over && c.count(c.maps, waiting) > 0 && c.free() == 0 && c.count(c.maps, running) == 0 && c.count(c.reduces, running) > 0
	switch {
	case !stuck:
		c.starved = time.Time{}
	case c.starved.IsZero():
		c.starved = c.now()
	case c.now().Sub(c.starved) >= starving:
		c.starved = time.Time{}
		for _, t := range slices.Backward(c.reduces) {
			if t.phase == running {
				c.log.WithField("task", t.id().String()).Info("Makes room for a map task")
				t.worker.abandon = true
				t.phase, t.worker, t.progress = waiting, nil, 0
				c.counters.Add(jobGroup, killedReduces, 1)
				c.change()
				return
			}
		}
	}
}
