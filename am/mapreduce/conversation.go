package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/am"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/am/stage"
	"heddle/yarn/records"
)

// allocated takes containers in.
func (c *coordinator) allocated(list []am.Container) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range list {
		w := &workerState{Container: x, slot: stage.SlotID(len(c.slots)), host: x.Node.Host, wake: make(chan struct{})}
		c.slots = append(c.slots, w)
		request := c.requests[x.Request]
		delete(c.requests, x.Request)
		delete(c.asks, request)
		// Memory only is compared: a stock ResourceManager that doesn't count cores grants one, however many were asked for.
		c.step(stage.Granted{Request: request, Slot: w.slot, Host: w.host, Memory: x.Resource[0]})
	}
}

// refused records that the ResourceManager refuses requests.
func (c *coordinator) refused(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step(stage.Refused{Err: err})
}

// completed records that a container has ended, or couldn't be started.
func (c *coordinator) completed(id records.ContainerID, exit int32, diagnostics string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[id.String()]
	if w == nil {
		return
	}
	delete(c.workers, id.String())
	taken := exit == records.ExitAborted || exit == records.ExitDisksFailed || exit == records.ExitPreempted
	why := fmt.Errorf("its container %v ended with status %d: %s", id, exit, diagnostics)
	if w.url == "" && !taken && !c.over {
		c.log.WithField("container", id.String()).Warnf("the worker did not start: %v", why)
	}
	w.exit = true
	wake(&w.wake)
	c.step(stage.Gone{Slot: w.slot, Fault: !taken, Err: why})
}

// suspended records that containers are suspended, or resumed.
func (c *coordinator) suspended(ids []records.ContainerID, suspended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		switch w := c.workers[id.String()]; {
		case w == nil:
		case suspended:
			c.log.WithField("container", id.String()).Infof("the worker on %s is suspended: its tasks wait until it resumes",
				w.host)
			c.step(stage.Suspended{Slot: w.slot})
		default:
			c.log.WithField("container", id.String()).Infof("the worker on %s resumes", w.host)
			c.step(stage.Resumed{Slot: w.slot})
		}
	}
	c.publish()
}

// next gives a worker something to do.
func (c *coordinator) next(ctx context.Context, r *job.NextRequest) (job.NextResponse, error) {
	if len(r.URL) > longestText {
		return job.NextResponse{}, fmt.Errorf("the worker's URL has %d bytes, more than %d", len(r.URL), longestText)
	}
	deadline := time.NewTimer(job.LongPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	w := speaking(c, r.Worker)
	if w == nil {
		return job.NextResponse{}, signed.ErrGone
	}
	w.url = r.URL
	if w.task != nil {
		c.step(stage.Heard{Slot: w.slot})
		return job.NextResponse{Task: w.task}, nil // the answer was lost
	}
	for c.step(stage.Ready{Slot: w.slot}); w.task == nil && !w.exit; {
		if !c.wait(ctx, w.wake, deadline.C) {
			break
		}
	}
	noteBroken(ctx, c, w)
	if !w.exit {
		c.step(stage.Heard{Slot: w.slot})
	}
	return job.NextResponse{Task: w.task, Exit: w.exit}, nil
}

func (c *coordinator) assignment(id stage.AttemptID) *job.Assignment {
	a := &job.Assignment{ID: idOf(id)}
	if id.Stage == stage.Map {
		s := c.splits[id.Index] // it may become less
		a.Split = &s
	}
	if id.Stage == stage.Reduce || c.spec.Job.Reduces == 0 {
		a.Output = c.output + "/" + a.ID.Name(c.app)
	}
	return a
}

// reportsPerSecond is how many reports of all workers are taken: they report less often the more of them there are.
const reportsPerSecond = 300

// reportEvery returns how often a worker is to tell of its task.
func (c *coordinator) reportEvery() time.Duration {
	return min(max(job.ReportEvery, time.Duration(len(c.workers))*time.Second/reportsPerSecond), job.LongPoll)
}

// ofProgress is all of a task's progress.
const ofProgress = 1_000_000

// progress records the progress of a task. The answer is held back until the next report is due, so that a worker hears at once
// when its task is cancelled.
func (c *coordinator) progress(ctx context.Context, r *job.ProgressReport) (job.ProgressResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := speaking(c, r.Worker)
	if w == nil {
		return job.ProgressResponse{}, signed.ErrGone
	}
	if w.task == nil || w.task.ID != r.ID || c.over {
		c.step(stage.Heard{Slot: w.slot})
		return job.ProgressResponse{Abandon: true}, nil
	}
	before := c.overall()
	if err := c.stopped(w, r.ID, r.Stopped); err != nil {
		c.step(stage.Failed{Slot: w.slot, Attempt: attemptOf(r.ID), Err: err})
		return job.ProgressResponse{Abandon: true}, nil
	}
	c.step(stage.Progressed{
		Slot: w.slot, Attempt: attemptOf(r.ID), Phase: phaseOf(r), Done: int64(max(0, min(r.Progress, 1)) * ofProgress),
		Total: ofProgress,
	})
	if c.overall() != before {
		c.publish()
	}
	due := time.NewTimer(c.reportEvery())
	defer due.Stop()
	goesOn := func() bool { return w.task != nil && w.task.ID == r.ID && !c.over }
	for goesOn() && w.stop == nil && c.wait(ctx, w.wake, due.C) {
	}
	noteBroken(ctx, c, w)
	if !goesOn() {
		return job.ProgressResponse{Abandon: true}, nil
	}
	return job.ProgressResponse{Stop: w.stop}, nil
}

func phaseOf(r *job.ProgressReport) stage.Phase {
	switch {
	case r.ID.Kind == job.Map:
		return stage.Mapping
	case r.Shuffles:
		return stage.Shuffling
	}
	return stage.Reducing
}

// finished records that a task is done, or has failed.
func (c *coordinator) finished(_ context.Context, r *job.DoneReport) (struct{}, error) {
	bounded(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	w := speaking(c, r.Worker)
	if w == nil {
		return struct{}{}, signed.ErrGone
	}
	if w.task == nil || w.task.ID != r.ID || c.over {
		c.step(stage.Heard{Slot: w.slot})
		return struct{}{}, nil
	}
	if want := w.task.Part(); r.Error == "" && r.Output != want {
		r.Error = fmt.Sprintf("it has written %q instead of %q", r.Output, want)
	}
	if r.Error == "" {
		if err := c.stopped(w, r.ID, r.Stopped); err != nil {
			r.Error = err.Error()
		}
	}
	if r.Error != "" {
		c.step(stage.Failed{Slot: w.slot, Attempt: attemptOf(r.ID), Err: &workError{r.Error, r.Stderr}})
		return struct{}{}, nil
	}
	c.report = r
	c.step(stage.Finished{Slot: w.slot, Attempt: attemptOf(r.ID), OutBytes: r.OutBytes, Held: nodeServing(c, w, r) == ""})
	c.report = nil
	return struct{}{}, nil
}

// unfetchable records that a reduce task can't get the output of a map task.
func (c *coordinator) unfetchable(_ context.Context, f *job.FetchFailure) (job.FetchVerdict, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Map < 0 || f.Map >= len(c.splits) {
		return job.FetchVerdict{}, fmt.Errorf("no map task %d", f.Map)
	}
	w := speaking(c, f.Worker)
	if w == nil {
		return job.FetchVerdict{}, signed.ErrGone
	}
	e := stage.Unfetchable{Slot: w.slot, Map: f.Map, Number: f.Attempt, Missing: f.Gone, Err: errors.New(clipped(f.Error))}
	before := c.planner.Disputed(e)
	if before && f.Gone {
		distrust(c, f)
	}
	c.step(e)
	// If it isn't disputed any more, events tell what has become of it.
	return job.FetchVerdict{Again: before && c.planner.Disputed(e)}, nil
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
	w := speaking(c, r.Worker)
	if w == nil {
		return job.OutputsResponse{}, signed.ErrGone
	}
	defer func() {
		w.toldAt = time.Now()
		if c.workers[r.Worker] == w {
			c.step(stage.Heard{Slot: w.slot})
		}
	}()
	c.step(stage.Heard{Slot: w.slot})
	for r.From >= len(c.events) && !c.over && c.wait(ctx, c.news, deadline.C) {
	}
	if f := c.planner.Facts(); f.Maps.Done < f.Maps.Tasks {
		gather := time.NewTimer(min(tellLate, time.Duration(f.Reduces.Running)*tellEvery) - time.Since(w.toldAt))
		c.wait(ctx, nil, gather.C)
		gather.Stop()
	}
	if c.workers[r.Worker] != w || c.over && c.err != nil {
		return job.OutputsResponse{}, signed.ErrGone
	}
	from := max(0, min(r.From, len(c.events)))
	to := min(len(c.events), from+tellMost)
	return job.OutputsResponse{Events: slices.Clone(c.events[from:to]), Next: to, Maps: len(c.splits)}, nil
}
