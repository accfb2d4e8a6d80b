package mapreduce

import (
	"context"
	"slices"
	"time"
)

// statusPoll is how long a question for the status waits for a change.
const statusPoll = 2 * time.Second

type statusRequest struct{ Version int64 }

// status tells the user's side where the job is, as soon as that isn't what it knows already.
func (c *coordinator) status(ctx context.Context, r *statusRequest) (Status, error) {
	deadline := time.NewTimer(statusPoll)
	defer deadline.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = c.now()
	for r.Version == c.version && c.wait(ctx, deadline.C) {
	}
	c.asked = c.now()
	s := c.snapshot()
	if s.Ended && !c.told {
		c.told = true
		c.wake()
	}
	return s, nil
}

func (c *coordinator) snapshot() Status {
	s := Status{
		Maps: stage(c.maps), Reduces: stage(c.reduces), Counters: Counters{}, Failures: slices.Clone(c.failures),
		Version: c.version, Ended: c.ended,
	}
	s.Counters.AddAll(c.counters)
	for _, t := range append(slices.Clone(c.maps), c.reduces...) {
		if t.phase == done {
			s.Counters.AddAll(t.counters)
		}
	}
	if c.ended && c.err != nil {
		s.Error = c.err.Error()
	}
	return s
}

func stage(tasks []*taskState) Stage {
	s := Stage{Total: len(tasks)}
	for _, t := range tasks {
		switch t.phase {
		case running:
			s.Running++
		case done:
			s.Done++
		}
		s.Failed += t.failed
		s.Progress += t.progress
	}
	if s.Total > 0 {
		s.Progress /= float64(s.Total)
	} else {
		s.Progress = 1
	}
	return s
}

// fraction is how much of the job is done.
func (c *coordinator) fraction() float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, r := stage(c.maps), stage(c.reduces)
	if r.Total == 0 {
		return float32(m.Progress)
	}
	return float32(m.Progress+r.Progress) / 2
}
