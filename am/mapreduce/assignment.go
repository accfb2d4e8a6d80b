package mapreduce

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// next gives a worker something to do.
func (c *coordinator) next(ctx context.Context, r *job.NextRequest) (job.NextResponse, error) {
	deadline := time.NewTimer(job.LongPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return job.NextResponse{}, signed.ErrGone
	}
	w.url = r.URL
	if !w.heard {
		w.heard = true
		c.useless = 0
	}
	if w.abandon {
		w.task, w.abandon = nil, false
	}
	c.reckon(w)
	defer func() { w.seen = c.now() }()
	for {
		w.seen = c.now()
		if c.workers[r.Worker] != w {
			return job.NextResponse{}, signed.ErrGone
		}
		if w.task != nil {
			return job.NextResponse{Task: c.assignment(w.task)}, nil // the answer was lost
		}
		if t := c.pick(w); t != nil && ctx.Err() == nil {
			c.move(t, running)
			t.worker, t.attempt = w, t.begun
			t.begun++
			w.task = t
			c.reckon(w)
			c.launched(t, w)
			c.change()
			return job.NextResponse{Task: c.assignment(t)}, nil
		}
		if c.over || c.dispensable(w) {
			c.remove(w)
			c.change()
			return job.NextResponse{Exit: true}, nil
		}
		if !c.wait(ctx, c.work, deadline.C) {
			return job.NextResponse{}, nil
		}
	}
}

func (c *coordinator) launched(t *taskState, w *workerState) {
	if t.kind == job.Reduce {
		c.counters.Add(job.JobGroup, job.LaunchedReduces, 1)
		return
	}
	c.counters.Add(job.JobGroup, job.LaunchedMaps, 1)
	switch hosts := c.splits[t.index].Hosts; {
	case slices.Contains(hosts, w.host):
		c.counters.Add(job.JobGroup, job.LocalMaps, 1)
	case len(hosts) > 0:
		c.counters.Add(job.JobGroup, job.OtherMaps, 1)
	}
}

func (c *coordinator) assignment(t *taskState) *job.Assignment {
	a := &job.Assignment{ID: t.id()}
	if t.kind == job.Map {
		a.Split = &c.splits[t.index]
	}
	if t.kind == job.Reduce || len(c.reduces.all) == 0 {
		a.Output = c.output + "/" + a.ID.Name(c.app)
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
	others := len(c.hosts)
	for h := range t.avoid {
		if c.hosts[h] > 0 {
			others--
		}
	}
	return others == 0
}

// pick returns a task for a worker: a map whose input is on its host, another one, or a reduce.
func (c *coordinator) pick(w *workerState) *taskState {
	if c.over || c.nodes.bad[w.host] {
		return nil
	}
	may := func(t *taskState) bool { return c.may(w, t) }
	if t := c.maps.next(w.host, may); t != nil || !c.reducing() || !c.fits(w, c.spec.ReduceSize) {
		return t
	}
	return c.reduces.next(w.host, may)
}

// dispensable reports whether a worker without a task can go: nothing waits for it, and nobody needs what it has.
func (c *coordinator) dispensable(w *workerState) bool {
	if len(w.outputs) > 0 {
		return false
	}
	return c.nodes.bad[w.host] ||
		c.maps.count[waiting] == 0 && (c.reduces.count[waiting] == 0 || !c.fits(w, c.spec.ReduceSize))
}

// almost is the progress of a task that isn't done: its command may work on when it has read everything.
const almost = 950_000 // millionths

// reportsPerSecond is how many reports of all workers are taken: they report less often the more of them there are.
const reportsPerSecond = 300

// progress takes in how a task gets on.
func (c *coordinator) progress(_ context.Context, r *job.ProgressReport) (job.ProgressResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return job.ProgressResponse{}, signed.ErrGone
	}
	w.seen = c.now()
	if w.abandon || w.task == nil || w.task.id() != r.ID || c.over {
		return job.ProgressResponse{Abandon: true}, nil
	}
	if p := int64(max(0, min(r.Progress*millionths, almost))); w.task.progress != p {
		c.table(w.task.kind).advance(w.task, p)
		c.publish()
	}
	return job.ProgressResponse{Pause: max(job.ReportEvery, time.Duration(len(c.workers))*time.Second/reportsPerSecond)}, nil
}

// finished takes in that a task is done, or has failed.
func (c *coordinator) finished(_ context.Context, r *job.DoneReport) (struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return struct{}{}, signed.ErrGone
	}
	w.seen = c.now()
	t := w.task
	if t == nil || w.abandon || t.id() != r.ID || c.over {
		return struct{}{}, nil
	}
	if want := c.assignment(t).Part(); r.Error == "" && r.Output != want {
		r.Error = fmt.Sprintf("it has written %q instead of %q", r.Output, want)
	}
	if r.Error != "" {
		c.end(t, job.Failure{Task: t.id().String(), Host: w.host, Error: r.Error, Stderr: r.Stderr}, true)
		c.change()
		return struct{}{}, nil
	}
	w.task = nil
	t.counters, t.part = r.Counters, r.Output
	c.move(t, done)
	if t.kind == job.Map && len(c.reduces.all) > 0 {
		w.outputs[t.index] = t.attempt
		c.tell(job.MapOutput{Map: t.index, Attempt: t.attempt, URL: w.url})
	}
	c.reckon(w)
	c.change()
	return struct{}{}, nil
}

// tell adds an event.
func (c *coordinator) tell(e job.MapOutput) {
	c.events = append(c.events, e)
	wake(&c.news)
}

// How often workers are told of events, and of how many at once: each reduce task hears of every map task, but not of each
// by itself.
const (
	tellEvery = 5 * time.Millisecond // for each reduce task that runs
	tellLate  = time.Second          // at most
	tellMost  = 5000
)

// whereabouts tells where the outputs of map tasks are.
func (c *coordinator) whereabouts(ctx context.Context, r *job.OutputsRequest) (job.OutputsResponse, error) {
	deadline := time.NewTimer(job.LongPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r.Worker]
	if w == nil {
		return job.OutputsResponse{}, signed.ErrGone
	}
	defer func() { w.seen, w.toldAt = c.now(), time.Now() }()
	w.seen = c.now()
	for r.From >= len(c.events) && !c.over && c.wait(ctx, c.news, deadline.C) {
	}
	if c.maps.count[done] < len(c.maps.all) {
		gather := time.NewTimer(min(tellLate, time.Duration(c.reduces.count[running])*tellEvery) - time.Since(w.toldAt))
		c.wait(ctx, nil, gather.C)
		gather.Stop()
	}
	if c.workers[r.Worker] != w || c.over && c.err != nil {
		return job.OutputsResponse{}, signed.ErrGone
	}
	from := max(0, min(r.From, len(c.events)))
	to := min(len(c.events), from+tellMost)
	return job.OutputsResponse{Events: slices.Clone(c.events[from:to]), Next: to}, nil
}
