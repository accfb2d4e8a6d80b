package sched

import (
	"cmp"
	"slices"
	"time"
)

// waits has the times at which the tasks of a job were submitted. A job may get tasks as long as it lives: a whole run of a program is one job. Tasks that are
// repeated don't count as waiting: they had their turn.
type waits struct {
	batches []batch
	fresh   int32   // tasks that wait for their first attempt
	sum     float64 // ns: of the times of submission of these
}

// batch is tasks that were submitted at one time.
type batch struct {
	from int32 // the number of the first one
	at   time.Duration
}

// enter notes that tasks from a number on are submitted.
func (w *waits) enter(now time.Duration, from, tasks int) {
	w.fresh += int32(tasks)
	w.sum += float64(now) * float64(tasks)
	if n := len(w.batches); n == 0 || w.batches[n-1].at != now {
		w.batches = append(w.batches, batch{int32(from), now})
	}
}

// leave notes that a task waits for its first attempt no more, and returns how long it has waited.
func (w *waits) leave(now time.Duration, t int32) time.Duration {
	at, found := slices.BinarySearchFunc(w.batches, t, func(b batch, t int32) int { return cmp.Compare(b.from, t) })
	if !found {
		at--
	}
	submitted := w.batches[at].at
	if w.fresh--; w.fresh == 0 {
		w.sum = 0 // rounded sums don't add up
	} else {
		w.sum -= float64(submitted)
	}
	return now - submitted
}

// Waited returns for how long the tasks of a job that wait for their first attempt have waited by now, in the mean; 0 if there are none.
func (s *Scheduler) Waited(now time.Duration, id ID) time.Duration {
	j := s.find(id)
	if j == nil || j.waits.fresh == 0 {
		return 0
	}
	return max(0, time.Duration(float64(now)-j.waits.sum/float64(j.waits.fresh)))
}
