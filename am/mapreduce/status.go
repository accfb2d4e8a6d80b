package mapreduce

import (
	"context"
	"slices"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/stage"
)

// statusPoll is how long a question for the status waits for a change.
const statusPoll = 2 * time.Second

// status tells the user's side where the job is, as soon as that isn't what it knows already.
func (c *coordinator) status(ctx context.Context, r *job.StatusRequest) (job.Status, error) {
	deadline := time.NewTimer(statusPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = c.now()
	for r.Version == c.version && c.wait(ctx, c.changed, deadline.C) {
	}
	c.asked = c.now()
	s := c.snapshot()
	if r.Attempts && s.Ended {
		s.Attempts = c.attempts()
	}
	if s.Ended && !c.told {
		c.told = true
		wake(&c.changed)
	}
	return s, nil
}

func (c *coordinator) snapshot() job.Status {
	s := job.Status{
		Maps: c.stage(stage.Map), Reduces: c.stage(stage.Reduce), Counters: job.Counters{},
		Failures: slices.Clone(c.failures),
		Version:  c.version, Ended: c.ended, Began: c.began.UnixMilli(),
	}
	s.Counters.AddAll(c.counters)
	s.Counters.AddAll(c.finals)
	if c.ended && c.err != nil {
		s.Error = c.err.Error()
	}
	return s
}

func (c *coordinator) stage(s stage.Stage) job.Stage {
	stat, failed, progress := c.planner.Stage(s)
	return job.Stage{Total: stat.Tasks, Running: stat.Running, Done: stat.Done, Failed: failed, Progress: progress}
}

// overall returns how much of the job is done, from 0 to 1.
func (c *coordinator) overall() float64 {
	_, _, maps := c.planner.Stage(stage.Map)
	if c.spec.Job.Reduces == 0 {
		return maps
	}
	_, _, reduces := c.planner.Stage(stage.Reduce)
	return (maps + reduces) / 2
}

// fraction returns how much of the job is done.
func (c *coordinator) fraction() float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float32(c.overall())
}
