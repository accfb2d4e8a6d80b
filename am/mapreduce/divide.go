package mapreduce

import (
	"fmt"
	"slices"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/stage"
)

// stopped records where a map task stops. Each report repeats it; repetitions have no effect. The error is that of a task that
// can't stop there.
func (c *coordinator) stopped(w *workerState, id job.TaskID, at *job.Stopped) error {
	if at == nil || id.Kind != job.Map || w.stopped != nil && *at == *w.stopped {
		return nil
	}
	parts := 1
	if w.stop != nil && w.stop.Order == at.Order {
		parts, w.stop = w.stop.Parts, nil
	}
	w.stopped = at
	if at.Not {
		c.step(stage.Stopped{Slot: w.slot, Attempt: attemptOf(id)})
		return nil
	}
	s := &c.splits[id.Index]
	before, behind, err := s.Part(at.Piece, at.Offset)
	if err != nil {
		return fmt.Errorf("it says that it stops where it can't: %w", err)
	}
	// The node of a task that is slow isn't one to have the others.
	behind.Hosts = slices.DeleteFunc(slices.Clone(behind.Hosts), func(h string) bool { return h == w.host })
	c.divided = append([]input.Split{before}, behind.Divide(parts)...)
	e := stage.Stopped{Slot: w.slot, Attempt: attemptOf(id), Kept: float64(before.Length) / float64(s.Length)}
	for _, p := range c.divided[1:] {
		e.Hosts = append(e.Hosts, p.Hosts)
	}
	c.step(e)
	return nil
}

// divide records that a task does a part of its split, and that there are tasks for the others.
func (c *coordinator) divide(d stage.Divide) {
	c.learned.divided(d.Attempt.Index, len(c.splits))
	c.splits[d.Attempt.Index] = c.divided[0]
	c.splits = append(c.splits, c.divided[1:]...)
	c.log.WithField("task", d.Attempt.String()).Infof("leaves %d bytes to %d others", total(c.divided[1:]), d.Parts)
	c.counters.Add(job.JobGroup, job.DividedMaps, 1)
}

func total(list []input.Split) (n int64) {
	for i := range list {
		n += list[i].Length
	}
	return n
}
