package mapreduce

import (
	"slices"

	"heddle/am/stage"
)

// readAhead is how much of its input an attempt has read that it hasn't done yet, of all: that can't be left to others.
const readAhead = 0.01

// stops is an attempt that is told to stop early.
type stops struct{ *master }

func (j stops) Handle(index int64) {
	a := j.c.attempts[index]
	if a.over || !j.runs || a.node.down {
		return // it doesn't answer
	}
	a.settle()
	done := a.total - a.left
	e := stage.Stopped{Slot: a.slot, Attempt: a.id}
	if at := max(a.stop.At, done/a.total+readAhead); at < 1 {
		e.Kept, e.Hosts = at, make([][]string, a.stop.Parts)
		a.total *= at
		a.left = a.total - done
		a.plan()
	}
	j.kept = e.Kept
	j.step(e)
}

// divide makes tasks of what an attempt has left.
func (j *master) divide(d stage.Divide) {
	task := d.Attempt.Index
	whole := j.share[task]
	j.share[task] = whole * j.kept
	j.tasks[stage.Map][task].Share = j.share[task]
	for range d.Parts {
		share := whole * (1 - j.kept) / float64(d.Parts)
		j.share = append(j.share, share)
		j.tasks[stage.Map] = append(j.tasks[stage.Map], TaskResult{Share: share, Attempts: []AttemptResult{}})
	}
	j.cuts++
}

// runsAt returns where an attempt is in the list of those that run; -1 if it doesn't.
func (j *master) runsAt(id stage.AttemptID) int {
	return slices.IndexFunc(j.running, func(a *attempt) bool { return a.id == id })
}
