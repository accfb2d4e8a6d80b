package mapreduce

import (
	"heddle/am/stage"
	"heddle/yarn/records"
)

// freeze asks that a worker is suspended, so that a copy gets its room, or because its copy has overtaken its task.
func freeze(c *coordinator, a stage.Freeze) {
	w := c.slots[a.Slot]
	to, asked := c.asks[a.For]
	if a.For != 0 && !asked {
		return // its container has come
	}
	c.log.WithField("task", a.Attempt.String()).Infof("is to be suspended on %s for the copy of a task", w.host)
	if err := c.cluster.Swap(w.ID, to); err != nil {
		c.log.WithError(err).Info("it doesn't") // the planner waits for a while, and tries another one
	}
}

// unfrozen records that a container runs on that was to be suspended.
func unfrozen(c *coordinator, id records.ContainerID, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.workers[id.String()]; w != nil {
		c.log.WithField("container", id.String()).Infof("the worker on %s is not suspended: %s", w.host, reason)
		c.step(stage.Unfrozen{Slot: w.slot})
	}
}
