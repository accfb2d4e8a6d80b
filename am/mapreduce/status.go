package mapreduce

import (
	"context"
	"slices"
	"time"

	"heddle/am/mapreduce/job"
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
	if s.Ended && !c.told {
		c.told = true
		wake(&c.changed)
	}
	return s, nil
}

func (c *coordinator) snapshot() job.Status {
	s := job.Status{
		Maps: c.maps.stage(), Reduces: c.reduces.stage(), Counters: job.Counters{}, Failures: slices.Clone(c.failures),
		Version: c.version, Ended: c.ended,
	}
	s.Counters.AddAll(c.counters)
	s.Counters.AddAll(c.finals)
	if c.ended && c.err != nil {
		s.Error = c.err.Error()
	}
	return s
}

func (b *table) stage() job.Stage {
	s := job.Stage{Total: len(b.all), Running: b.count[running], Done: b.count[done], Failed: b.failed, Progress: 1}
	if s.Total > 0 {
		s.Progress = float64(b.progress) / millionths / float64(s.Total)
	}
	return s
}

// fraction is how much of the job is done.
func (c *coordinator) fraction() float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, r := c.maps.stage(), c.reduces.stage()
	if r.Total == 0 {
		return float32(m.Progress)
	}
	return float32(m.Progress+r.Progress) / 2
}
