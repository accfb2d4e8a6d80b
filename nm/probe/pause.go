package probe

// pause is the suspension of a long task so that short ones run.
type pause struct {
	is      bool
	expired bool // no short task may start: the long one continues as soon as there is room
	slot    Slot
}

// Suspendable returns a long task that may be suspended for short ones. That is so if short probes wait, no other task is suspended here, and
// the task hasn't been suspended Config.Suspensions times (Dice's conditions).
func (w *Worker) Suspendable() (Slot, bool) {
	if w.pause.is || w.longRuns == 0 || !w.shortWaits() {
		return -1, false
	}
	for s := range w.slots.runs {
		if r := &w.slots.runs[s]; r.phase == running && int(r.times) < w.cfg.Suspensions && w.jobs.hot[r.job].long {
			return Slot(s), true
		}
	}
	return -1, false
}

// Suspend says that the long task of a slot is suspended. Its room is for short probes, until it resumes.
func (w *Worker) Suspend(s Slot) {
	r := &w.slots.runs[s]
	r.phase = suspended
	r.times++
	w.longRuns--
	w.jobs.run(r.job, -1)
	w.used = w.used.sub(w.jobs.rest[r.job].Size)
	w.pause = pause{is: true, slot: s}
}

// Expire says that the suspended task has waited long enough. No other task starts before it has resumed.
func (w *Worker) Expire() { w.pause.expired = w.pause.is }

// Resume returns the suspended task, if its time is up and there is room for it. It takes the room.
func (w *Worker) Resume() (Slot, bool) {
	if !w.pause.expired {
		return -1, false
	}
	r := &w.slots.runs[w.pause.slot]
	size := w.jobs.rest[r.job].Size
	if !w.used.add(size).Fits(w.lent) {
		return -1, false
	}
	s := w.pause.slot
	w.used = w.used.add(size)
	w.longRuns++
	w.jobs.run(r.job, 1)
	w.pause = pause{}
	r.phase = running
	return s, true
}
