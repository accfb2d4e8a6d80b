package mapreduce

import (
	"context"
	"slices"
	"time"
)

// longPoll is how long a worker waits for an answer.
const longPoll = 10 * time.Second

// wait releases the lock until something changes; it reports false when it's time to answer.
func (c *coordinator) wait(ctx context.Context, deadline <-chan time.Time) bool {
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return true
	case <-deadline:
	case <-ctx.Done():
	}
	return false
}

// next gives a worker something to do.
func (c *coordinator) next(ctx context.Context, r *nextRequest) (nextResponse, error) {
	deadline := time.NewTimer(longPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return nextResponse{}, errGone
	}
	w.url = r.URL
	if !w.heard {
		w.heard = true
		c.useless = 0
	}
	if w.abandon {
		w.task, w.abandon = nil, false
	}
	for {
		if c.workers[r.Worker] != w {
			return nextResponse{}, errGone
		}
		if w.task != nil {
			return nextResponse{Task: c.assignment(w.task)}, nil // the answer was lost
		}
		if t := c.pick(w); t != nil && ctx.Err() == nil {
			t.phase, t.worker, t.progress = running, w, 0
			t.attempt = t.begun
			t.begun++
			w.task = t
			c.launched(t, w)
			c.change()
			return nextResponse{Task: c.assignment(t)}, nil
		}
		if c.over || c.dispensable(w) {
			delete(c.workers, r.Worker)
			c.change()
			return nextResponse{Exit: true}, nil
		}
		if !c.wait(ctx, deadline.C) {
			return nextResponse{}, nil
		}
	}
}

func (c *coordinator) launched(t *taskState, w *workerState) {
	if t.kind == reduceTask {
		c.counters.Add(jobGroup, launchedReduces, 1)
		return
	}
	c.counters.Add(jobGroup, launchedMaps, 1)
	switch hosts := c.splits[t.index].Hosts; {
	case slices.Contains(hosts, w.host):
		c.counters.Add(jobGroup, localMaps, 1)
	case len(hosts) > 0:
		c.counters.Add(jobGroup, otherMaps, 1)
	}
}

func (c *coordinator) assignment(t *taskState) *assignment {
	a := &assignment{ID: t.id()}
	if t.kind == mapTask {
		a.Split = &c.splits[t.index]
	}
	if t.kind == reduceTask || len(c.reduces) == 0 {
		a.Output = c.output + "/" + a.ID.name(c.app)
	}
	return a
}

// elsewhere is how long a task that has failed on a host waits for a worker on another one, where there are such: what is
// missing on a node, or broken, is so the next time as well.
const elsewhere = 3 * time.Second

// may reports whether a worker may have a task that waits.
func (c *coordinator) may(w *workerState, t *taskState) bool {
	if !t.avoid[w.host] || c.now().Sub(t.failedAt) >= elsewhere {
		return true
	}
	for _, other := range c.workers {
		if !t.avoid[other.host] {
			return false
		}
	}
	return true
}

// pick returns a task for a worker: a map whose input is on its host, another one, or a reduce.
func (c *coordinator) pick(w *workerState) *taskState {
	if c.over {
		return nil
	}
	var best *taskState
	rank := func(t *taskState) int {
		hosts := c.splits[t.index].Hosts
		switch {
		case slices.Contains(hosts, w.host):
			return 2
		case len(hosts) == 0:
			return 1
		}
		return 0
	}
	for _, t := range c.maps {
		if t.phase == waiting && (best == nil || rank(t) > rank(best)) && c.may(w, t) {
			if best = t; rank(t) == 2 {
				break
			}
		}
	}
	if best != nil || !c.reducing() || !c.fits(w, c.spec.ReduceSize) {
		return best
	}
	for _, t := range c.reduces {
		if t.phase == waiting && c.may(w, t) {
			return t
		}
	}
	return nil
}

// dispensable reports whether a worker without a task can go: nothing waits, and nobody needs what it has.
func (c *coordinator) dispensable(w *workerState) bool {
	return len(w.outputs) == 0 && c.count(c.maps, waiting) == 0 &&
		(c.count(c.reduces, waiting) == 0 || !c.fits(w, c.spec.ReduceSize))
}

// almost is the progress of a task that isn't done: its command may work on when it has read everything.
const almost = 0.95

// progress takes in how a task gets on.
func (c *coordinator) progress(_ context.Context, r *progressReport) (progressResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return progressResponse{}, errGone
	}
	if w.abandon || w.task == nil || w.task.id() != r.ID || c.over {
		return progressResponse{Abandon: true}, nil
	}
	if p := min(r.Progress, almost); w.task.progress != p {
		w.task.progress = p
		c.publish()
	}
	return progressResponse{}, nil
}

// finished takes in that a task is done, or has failed.
func (c *coordinator) finished(_ context.Context, r *doneReport) (struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return struct{}{}, errGone
	}
	t := w.task
	if t == nil || w.abandon || t.id() != r.ID || c.over {
		return struct{}{}, nil
	}
	if r.Error != "" {
		c.end(t, Failure{Task: t.id().String(), Host: w.host, Error: r.Error, Stderr: r.Stderr}, true)
		c.change()
		return struct{}{}, nil
	}
	w.task = nil
	t.phase, t.progress, t.counters, t.part = done, 1, r.Counters, r.Output
	if t.kind == mapTask && len(c.reduces) > 0 {
		w.outputs[t.index] = t.attempt
		c.events = append(c.events, mapOutput{Map: t.index, Attempt: t.attempt, URL: w.url})
	}
	c.change()
	return struct{}{}, nil
}

// whereabouts tells where the outputs of map tasks are.
func (c *coordinator) whereabouts(ctx context.Context, r *outputsRequest) (outputsResponse, error) {
	deadline := time.NewTimer(longPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for r.From >= len(c.events) && !c.over && c.wait(ctx, deadline.C) {
	}
	if c.over && c.err != nil {
		return outputsResponse{}, errGone
	}
	from := max(0, min(r.From, len(c.events)))
	return outputsResponse{Events: slices.Clone(c.events[from:]), Next: len(c.events)}, nil
}
