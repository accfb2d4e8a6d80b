package probe

import (
	"fmt"
	"time"
)

// Answer is a scheduler's answer to a node's ask.
type Answer uint8

// Answers of schedulers.
const (
	None  Answer = iota // no task was left
	Task                // a task starts
	Clone               // a copy of a running task starts. Its probe doesn't stick, and it ends when others want its room
)

// Slot is the place of an ask, or of a task that runs, at a node. Slots are used again.
type Slot int32

// Ask is to be put to the scheduler of a job.
type Ask struct {
	Slot   Slot
	Job    Handle
	Sticky bool // the probe has had a task before
}

// run is the probe or task that holds a slot.
type run struct {
	job      Handle
	number   uint32 // of its probe
	place    int32  // of its probe in the user's queue, when it was chosen
	priority int32
	user     int32
	times    int32         // how often it was suspended
	begun    time.Duration // since when it has room
	paid     time.Duration // what its user has paid for it, as it was expected to take so long
	bound    int64         // vcores of its task; 0: it has none
	phase    phase
	queued   bool // the probe is queued, unless it was cancelled
	early    bool // it has no room yet
	claim    bool // it was claimed
}

type phase uint8

const (
	vacant phase = iota
	asked
	running
	cloned    // what runs is a clone
	suspended // a long task that waits for short ones
)

// Next returns the next ask, if a probe waits and there is room for its task, or it is asked for ahead (SetAhead). It takes the room until Free, and the
// user of the job pays for it from now on.
func (w *Worker) Next(now time.Duration) (Ask, bool) {
	w.dropped = w.dropped[:0]
	if w.queued == w.held || w.pause.expired || len(w.roomless) >= w.most && !w.used.add(w.cfg.Least).Fits(w.lent) {
		return Ask{}, false
	}
	c, u, place := w.pick()
	if place == none {
		return Ask{}, false
	}
	if s := w.claim(); s != none && !w.yields(s, c, u) {
		return Ask{}, false // the next room is the claim's
	}
	j := &w.jobs.rest[u.jobAt(place)]
	used := w.used.add(j.Size)
	early := len(w.roomless) > 0 || !used.Fits(w.lent)
	switch {
	case !early:
		w.used = used
	case len(w.roomless) >= w.most || j.Long || w.jobs.hot[u.jobAt(place)].remaining < 0 || !j.Size.Fits(w.lent):
		return Ask{}, false
	}
	if place == last {
		place = u.wake()
	}
	e := u.single(place)
	e.held = true
	w.held++
	w.jobs.refs[e.job]++
	w.jobs.wait(e.job, -1)
	w.jobs.run(e.job, 1)
	if j.Long {
		w.longs--
		w.longRuns++
	}
	c.charge(u, j.Estimate)
	u.busy++
	s := w.slots.take(run{job: e.job, number: e.number, place: int32(place), priority: j.Priority, user: j.User, phase: asked, begun: now, paid: j.Estimate, queued: true, early: early})
	if early {
		w.lack(s)
	}
	return Ask{Slot: s, Job: e.job, Sticky: e.sticks}, true
}

// probeOf finds the probe of a slot. Its place is −1 if it was cancelled.
func (w *Worker) probeOf(r *run) (u *user, place int) {
	at, i := w.at(r.priority, r.user)
	if i < 0 {
		return nil, -1
	}
	u = &w.classes[at].users[i]
	return u, u.find(r.number, int(r.place))
}

// Bind says what the scheduler answered to the ask of a slot. After None the caller calls Free when the room is to be given back; a Task or a
// Clone runs until Free.
func (w *Worker) Bind(s Slot, a Answer) {
	r := &w.slots.runs[s]
	if r.phase != asked {
		panic(fmt.Sprintf("nm/probe: slot %d hasn't asked for a task", s))
	}
	r.phase = running
	switch a {
	case None:
		w.noOps += (1 - w.noOps) / lately
	case Clone:
		r.phase = cloned
		w.clones++
		w.jobs.run(r.job, -1)
	default:
		w.noOps -= w.noOps / lately
	}
	j := &w.jobs.rest[r.job]
	if a != None {
		r.bound = j.Size.VCores
		w.bound += r.bound
	}
	if !r.queued {
		return // it was claimed
	}
	u, place := w.probeOf(r)
	if place < 0 {
		return
	}
	if a == Task {
		if w.cfg.Ranking == Shortest && !j.Long {
			u.overtake(place, j.Estimate)
		}
		if w.cfg.Sticky && !j.Long {
			u.all()[place].sticks = true
			return
		}
	}
	r.queued = false
	w.drop(u, place)
}

// Free gives a slot back: its task has ended, or there was none. A probe that sticks waits again, at its place. If an ask was never answered,
// Free drops its probe.
func (w *Worker) Free(now time.Duration, s Slot) {
	r := &w.slots.runs[s]
	if r.phase == vacant {
		panic(fmt.Sprintf("nm/probe: slot %d is freed twice", s))
	}
	switch r.phase {
	case cloned:
		w.clones--
	case asked, running:
		w.jobs.run(r.job, -1)
	}
	j := &w.jobs.rest[r.job]
	if r.queued {
		if u, place := w.probeOf(r); place >= 0 && r.phase == asked {
			w.drop(u, place)
		} else if place >= 0 {
			u.all()[place].held = false
			w.held--
			w.jobs.wait(r.job, 1)
			if u.more != nil && w.jobs.hot[r.job].remaining < 0 {
				u.more.launched = append(u.more.launched, r.number)
			}
		}
	}
	w.settle(now, r)
	switch {
	case r.early:
		w.roomed(s)
	case r.phase == suspended:
		w.pause = pause{}
	case j.Long:
		w.longRuns--
		fallthrough
	default:
		w.used = w.used.sub(j.room())
	}
	w.jobs.refs[r.job]--
	w.bound -= r.bound
	w.slots.give(s)
}

// settle has the user of a slot pay for the time in which it had room.
func (w *Worker) settle(now time.Duration, r *run) {
	c, i := w.at(r.priority, r.user)
	if i < 0 {
		return
	}
	u := &w.classes[c].users[i]
	u.busy--
	var took time.Duration
	if !r.early { // else it has waited only
		took = now - r.begun
	}
	u.settle(took, r.paid)
}

// Crowding returns a clone that runs in the room that a waiting probe needs. The caller stops it, and calls Free.
func (w *Worker) Crowding() (Slot, bool) {
	if w.clones == 0 {
		return -1, false
	}
	if len(w.roomless) == 0 && w.claimed == 0 {
		_, u, place := w.pick()
		if place < 0 {
			return -1, false // those that come last have no tasks that wait
		}
		h := u.all()[place].job
		need := w.used.add(w.jobs.rest[h].Size)
		if need.Fits(w.lent) || w.jobs.hot[h].remaining < 0 {
			return -1, false
		}
	}
	for s := range w.slots.runs {
		if r := &w.slots.runs[s]; r.phase == cloned && !r.early {
			return Slot(s), true
		}
	}
	return -1, false
}
