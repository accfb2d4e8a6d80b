package probe

import (
	"slices"
	"time"
)

// watch summarises a long queue, so that the order by remaining work needn't look at all of it.
type watch struct {
	least     time.Duration // no job in the queue has a lower estimate; 0 if nothing is known
	unwatched uint32        // the number of the last probe that came to a short queue: whether its job has waiting tasks is looked up
	launched  []uint32      // numbers of later probes whose jobs have launched all tasks; some may have left
}

// few is how many entries of a queue are looked at each time. A simulation has many short queues, to which telling is dearer than looking.
const few = 16

// watcher is a probe in a long queue.
type watcher struct {
	worker *Worker
	number uint32
}

// note says that a probe of a job was added.
func (u *user) note(w *Worker, h Handle) {
	j := &w.jobs.hot[h]
	all := u.all()
	if u.more == nil {
		if len(all) > few {
			u.more = w.first.newMore(w.numbers)
		}
		return
	}
	m := u.more
	if u.probes == 1 {
		m.least = j.estimate
	}
	m.least = min(m.least, j.estimate)
	switch {
	case len(all) <= few, !m.watches(&all[len(all)-1]):
		m.unwatched = w.numbers
	case all[len(all)-1].number != w.numbers: // it is one of several, of which the first is noted
	case j.remaining < 0:
		m.launched = append(m.launched, w.numbers)
		fallthrough
	default:
		list := w.jobs.watchers[h]
		if len(list) == cap(list) && len(list) > 2*int(w.jobs.refs[h]) {
			list = w.jobs.present(h)
		}
		w.jobs.watchers[h] = append(list, watcher{w, w.numbers})
	}
}

// newMore makes what few queues have, for the probes that come after one. That of the first queue lies in the Worker.
func (r *room) newMore(after uint32) *more {
	if r.hasMore {
		return &more{watch: watch{unwatched: after}}
	}
	r.hasMore = true
	m := &r.more[0]
	m.unwatched, m.late = after, r.late[:0]
	return m
}

// watches reports whether the queue is told when the job of an entry, or of one behind it, has launched all tasks.
func (x *watch) watches(e *entry) bool { return int32(e.number-x.unwatched) > 0 }

// tell says that all tasks of a job were launched.
func (x watcher) tell(j *Job) {
	if c, u := x.worker.at(j.Priority, j.User); u >= 0 {
		if m := x.worker.classes[c].users[u].more; m != nil { // else its user has left since
			m.launched = append(m.launched, x.number)
		}
	}
}

// present returns the watchers of a job without the probes that have left.
func (t *Jobs) present(h Handle) []watcher {
	kept := t.watchers[h][:0:0]
	for _, x := range t.watchers[h] {
		c, u := x.worker.at(t.rest[h].Priority, t.rest[h].User)
		if u < 0 {
			continue
		}
		queue := &x.worker.classes[c].users[u]
		for _, entries := range [...][]entry{queue.all(), queue.laidBy()} {
			at := placeOf(entries, x.number) // or those that were like it
			if at == len(entries) || entries[at].job != h {
				continue
			}
			if x := (watcher{x.worker, entries[at].number}); len(kept) == 0 || kept[len(kept)-1] != x {
				kept = append(kept, x)
			}
		}
	}
	return kept
}

// sweep sets those probes aside of which the queue was told, in their order.
func (u *user) sweep(w *Worker) {
	m := u.more
	slices.SortFunc(m.launched, func(a, b uint32) int { return int(int32(a - b)) })
	for _, number := range m.launched {
		at := placeOf(u.all(), number)
		if at == u.len() {
			continue
		}
		h := u.all()[at].job
		for at < u.len() && u.all()[at].job == h && w.jobs.hot[h].remaining < 0 {
			if u.all()[at].held {
				at++
			} else {
				u.setAside(w, at)
			}
		}
	}
	m.launched = m.launched[:0]
}

// setAside drops the probes of an entry, as all tasks of its job were launched, or lays it by.
func (u *user) setAside(w *Worker, at int) {
	if w.cfg.Late {
		if u.more == nil {
			u.more = w.first.newMore(w.numbers)
		}
		u.layBy(at)
		return
	}
	h := u.all()[at].job
	for range w.dropAll(u, at) {
		w.dropped = append(w.dropped, h)
	}
}
