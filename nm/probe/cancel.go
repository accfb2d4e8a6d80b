package probe

import "slices"

// Cancel removes the probes of jobs of one user: they are over, or their scheduler is gone. Tasks continue until Free, but ask for no other. It returns how
// many were removed. It looks once at the probes of the user, however many jobs there are.
func (w *Worker) Cancel(jobs ...Handle) (n int) {
	if len(jobs) == 1 {
		h := jobs[0]
		j := &w.jobs.rest[h]
		if c, u := w.at(j.Priority, j.User); u >= 0 && w.jobs.refs[h] > 0 {
			n = w.cancelOne(&w.classes[c].users[u], h)
		}
		return n
	}
	all := make(map[Handle]bool, len(jobs))
	queues := map[*user]bool{}
	for _, h := range jobs {
		j := &w.jobs.rest[h]
		if c, u := w.at(j.Priority, j.User); u >= 0 {
			all[h], queues[&w.classes[c].users[u]] = true, true
		}
	}
	for u := range queues {
		n += w.purge(u, func(x Handle) bool { return all[x] })
	}
	return n
}

// cancelOne is purge for one job. It calls nothing for each probe of the others, as schedulers tell of each job's end.
func (w *Worker) cancelOne(u *user, h Handle) (n int) {
	for i := u.len() - 1; i >= 0; i-- {
		if e := &u.all()[i]; e.job == h {
			n += 1 + int(e.more)
			w.leaves(u, e, 1+int(e.more))
			u.cut(i)
		}
	}
	late := u.laidBy()
	for i := len(late) - 1; i >= 0; i-- {
		if e := &late[i]; e.job == h {
			n += 1 + int(e.more)
			w.leaves(u, e, 1+int(e.more))
			late = slices.Delete(late, i, i+1)
			u.more.late = late
		}
	}
	u.probes -= n
	return n
}

// purge removes the probes of some jobs from a user's queue, and returns how many there were.
func (w *Worker) purge(u *user, of func(Handle) bool) (n int) {
	gone := func(e entry) bool {
		if !of(e.job) {
			return false
		}
		count := 1 + int(e.more)
		w.leaves(u, &e, count)
		u.probes -= count
		n += count
		return true
	}
	kept := slices.DeleteFunc(u.all(), gone)
	u.entries = u.entries[:u.head+len(kept)]
	if len(kept) == 0 {
		u.head, u.entries = 0, u.entries[:0]
	}
	if u.more != nil {
		u.more.late = slices.DeleteFunc(u.more.late, gone)
	}
	return n
}

// leaves counts probes of an entry that leave the queue of a user.
func (w *Worker) leaves(u *user, e *entry, n int) {
	w.queued -= int32(n)
	w.jobs.refs[e.job] -= int32(n)
	w.jobs.owns(u.id, -n)
	if e.held {
		w.held -= int32(n)
		return
	}
	w.jobs.wait(e.job, -n)
	if w.jobs.hot[e.job].long {
		w.longs -= int32(n)
	}
}
