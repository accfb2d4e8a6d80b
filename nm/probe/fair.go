package probe

import (
	"cmp"
	"slices"
	"time"
)

// class is the users who have probes of one priority.
type class struct {
	priority int32
	clock    float64 // virtual time: the start tag of what was last started
	users    []user
}

// user has the probes that one user has of one priority.
type user struct {
	line
	id     int32
	busy   int32 // slots that asks of these probes have, or their tasks
	weight float64
	next   float64 // virtual time at which the user's next task is to start
}

// at finds the queue of a user at a priority. The user's place is −1 if there is none.
func (w *Worker) at(priority, id int32) (c, u int) {
	for c := range w.classes {
		if w.classes[c].priority != priority {
			continue
		}
		for u := range w.classes[c].users {
			if w.classes[c].users[u].id == id {
				return c, u
			}
		}
	}
	return -1, -1
}

// userOf returns the queue for probes of a job, and makes it if there is none.
func (w *Worker) userOf(j *Job) *user {
	c, u := w.at(j.Priority, j.User)
	if u < 0 {
		c, u = w.enter(j)
	}
	queue := &w.classes[c].users[u]
	if queue.probes == 0 {
		queue.next = max(queue.next, w.classes[c].clock) // a user saves nothing for later by staying away
	}
	queue.weight = j.Weight
	return queue
}

// enter makes the queue of a user. It may take the place of a user who has no probes, and isn't owed anything.
func (w *Worker) enter(j *Job) (c, u int) {
	c, found := slices.BinarySearchFunc(w.classes, j.Priority, func(c class, p int32) int { return cmp.Compare(p, c.priority) })
	if !found {
		made := class{priority: j.Priority}
		if len(w.classes) == 0 {
			made.users = w.first.user[:0]
		}
		w.classes = slices.Insert(w.classes, c, made)
	}
	class := &w.classes[c]
	for u := range class.users {
		if old := &class.users[u]; old.probes == 0 && old.busy == 0 && old.next <= class.clock {
			*old = user{line: line{entries: old.entries[:0]}, id: j.User}
			return c, u
		}
	}
	made := user{id: j.User}
	if len(w.classes) == 1 && len(class.users) == 0 {
		made.entries = w.first.entries[:0]
	}
	class.users = append(class.users, made)
	return c, len(class.users) - 1
}

// ofUser returns how many probes a user has here, and asks for which there is no room yet.
func (w *Worker) ofUser(id int32) (n int) {
	if w.jobs.tally != nil {
		return w.jobs.tally.users[id]
	}
	for _, s := range w.roomless {
		if w.slots.runs[s].user == id {
			n++
		}
	}
	for _, c := range w.claimants {
		if c.user == id {
			n += len(c.slots)
		}
	}
	for c := range w.classes {
		for u := range w.classes[c].users {
			if x := &w.classes[c].users[u]; x.id == id {
				n += x.probes
			}
		}
	}
	return n
}

// shortest is what a task costs its user at least, and what one is expected to take of which nothing is known.
const shortest = time.Millisecond

// charge has a user pay for an ask, as if its task would take what it is expected to. The answer, if any, doesn't matter: the slot is taken.
func (c *class) charge(u *user, estimate time.Duration) {
	c.clock = max(c.clock, u.next)
	u.next += float64(max(estimate, shortest)) / u.weight
}

// settle has a user pay for how long an ask and its task had room, instead of what was expected. An ask that gets no task costs the shortest time at least.
func (u *user) settle(took, estimate time.Duration) {
	u.next += float64(max(took, shortest)-max(estimate, shortest)) / u.weight
}

// pick chooses the probe that is next, with its user and the class of that. Its place may be none, or last. Probes of jobs without tasks may be dropped or laid by on the way.
func (w *Worker) pick() (*class, *user, int) {
	w.recall()
	for c := range w.classes {
		users := w.classes[c].users
		if len(users) == 1 {
			if place := w.pickOf(&users[0]); place != none {
				return &w.classes[c], &users[0], place
			}
			continue
		}
		for before := -1; ; {
			best := -1
			for i := range users {
				if before >= 0 && !after(users, i, before) {
					continue
				}
				if best < 0 || after(users, best, i) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			if place := w.pickOf(&users[best]); place != none {
				return &w.classes[c], &users[best], place
			}
			before = best
		}
	}
	return nil, nil, none
}

// after reports whether user a is served after user b.
func after(users []user, a, b int) bool {
	return users[a].next > users[b].next || users[a].next == users[b].next && a > b
}

// pickOf chooses among the probes of a user.
func (w *Worker) pickOf(u *user) int {
	if w.cfg.Ranking == Shortest {
		return w.pickShortest(u)
	}
	for i, e := range u.all() {
		if !e.held && !(w.pause.is && w.jobs.hot[e.job].long) {
			return i
		}
	}
	return none
}
