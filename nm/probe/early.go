package probe

import "time"

// Load measures the work of a node.
type Load struct {
	Bound int64 // vcores of tasks that were bound there
	Of    int64 // vcores that it was lent, at least 1
}

// Claim asks for a task of a job as soon as its probe has come, whatever runs and waits here (early binding): the job's scheduler binds its tasks to
// the least busy nodes among the probed ones. A task that comes shares the processors with all that runs here (processor sharing). So it needs the
// memory of its size alone, and starts as soon as that is free: before Start gives it room, the slot is Early. The queue has no probe of it. The
// job's user pays for it as for other asks, and where room lacks, priorities and shares decide between claims and probes of several users.
func (w *Worker) Claim(now time.Duration, h Handle) (Ask, Load) {
	j := &w.jobs.rest[h]
	w.userOf(j)
	at, i := w.at(j.Priority, j.User)
	u := &w.classes[at].users[i]
	w.classes[at].charge(u, j.Estimate)
	u.busy++
	used := w.used.add(j.room())
	early := len(w.roomless) > 0 || w.claimed > 0 || !used.Fits(w.lent)
	s := w.slots.take(run{job: h, priority: j.Priority, user: j.User, phase: asked, begun: now, paid: j.Estimate, early: early, claim: true})
	w.jobs.refs[h]++
	if early {
		w.want(s)
	} else {
		w.used = used
	}
	return Ask{Slot: s, Job: h}, Load{w.bound, max(w.lent.VCores, 1)}
}

// slots are the runs of a node, by Slot.
type slots struct {
	runs   []run
	vacant []Slot
}

// take gives a run a slot.
func (x *slots) take(r run) (s Slot) {
	if n := len(x.vacant); n > 0 {
		s, x.vacant = x.vacant[n-1], x.vacant[:n-1]
		x.runs[s] = r
		return s
	}
	x.runs = append(x.runs, r)
	return Slot(len(x.runs) - 1)
}

// give makes a slot vacant.
func (x *slots) give(s Slot) {
	x.runs[s] = run{}
	x.vacant = append(x.vacant, s)
}
