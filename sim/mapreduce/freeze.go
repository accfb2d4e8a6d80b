package mapreduce

import (
	"heddle/am/stage"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
)

// freeze asks that a container is suspended, so that a request gets its room. Nothing happens where that can't be.
func (j *master) freeze(f stage.Freeze) {
	x := &j.slots[f.Slot]
	if !x.known {
		return
	}
	request, of := drive.AnyRequest, stage.Map
	if r, ok := j.strict[f.For]; ok {
		request, of = int64(f.For)+strictID, r.stage
	}
	_ = j.c.sched.Swap(x.handle, priorities[of], request) // the planner waits for a while, and tries something else
}

// stands suspends a container, or resumes it.
func (c *cluster) stands(h scheduler.ContainerHandle, still bool) {
	j, slot := c.holders[h].job, c.holders[h].slot
	x := &j.slots[slot]
	if x.still == still {
		return // it was shrunk, or isn't any more
	}
	x.still = still
	if a := x.attempt; a != nil {
		a.settle()
		a.node.share(func() { a.still = still })
		a.plan()
	}
	if still {
		c.frozen++
		j.step(stage.Suspended{Slot: slot})
		return
	}
	j.step(stage.Resumed{Slot: slot})
	if x.attempt == nil {
		c.engine.At(c.engine.Now(), readies{j}, int64(slot)) // it may have been starting
	}
}
