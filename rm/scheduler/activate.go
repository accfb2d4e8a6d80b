package scheduler

import (
	"cmp"
	"slices"

	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// admit lets an application that was just submitted go on to wait for the limit on ApplicationMasters, unless too many run.
func (s *Scheduler) admit(h handle.App) {
	a := &s.apps[h]
	if ok, _ := s.mayRun(a); !ok {
		at, _ := slices.BinarySearchFunc(s.held, h, func(x, y handle.App) int {
			return cmp.Compare(s.apps[x].spec.Seq, s.apps[y].spec.Seq)
		})
		s.held = slices.Insert(s.held, at, h)
		return
	}
	s.run(a, 1)
	s.wait(h)
	s.retry(a.leaf)
}

// mayRun reports whether the limits on how many applications run at once admit another one. If not, full is the queue that has
// reached its limit, or nothing if it is the user.
func (s *Scheduler) mayRun(a *app) (ok bool, full int32) {
	if s.tree.Kind == queue.FIFO {
		return true, order.Nothing
	}
	for h := a.leaf; h != order.Nothing; h = s.queues[h].parent {
		if q := &s.queues[h]; q.runnable >= q.cfg.MaxParallelApps {
			return false, h
		}
	}
	return s.running[a.spec.User] < s.tree.Settings.MaxParallel(a.spec.User), order.Nothing
}

// run counts an application, or one less, for the limits on how many run at once.
func (s *Scheduler) run(a *app, n int32) {
	a.runnable = n > 0
	for h := a.leaf; h != order.Nothing; h = s.queues[h].parent {
		s.queues[h].runnable += n
	}
	if s.running[a.spec.User] += n; s.running[a.spec.User] == 0 {
		delete(s.running, a.spec.User)
	}
}

// dismiss takes an application out of those that count for how many run at once, and lets the next ones in.
func (s *Scheduler) dismiss(h handle.App) {
	a := &s.apps[h]
	if !a.runnable {
		if at := slices.Index(s.held, h); at >= 0 {
			s.held = slices.Delete(s.held, at, at+1)
		}
		return
	}
	s.run(a, -1)
	w := &s.queues[a.leaf].waiting
	if at := slices.Index(*w, h); at >= 0 {
		*w = slices.Delete(*w, at, at+1)
	}
	s.admitHeld()
}

// admitHeld looks again at the applications that too many others kept from running.
func (s *Scheduler) admitHeld() {
	list := s.held
	s.held = nil
	for _, h := range list {
		s.admit(h)
	}
}

// wait puts an application among those of its leaf that wait to become active.
func (s *Scheduler) wait(h handle.App) {
	w := &s.queues[s.apps[h].leaf].waiting
	at, _ := slices.BinarySearchFunc(*w, h, func(x, y handle.App) int {
		a, b := &s.apps[x].spec, &s.apps[y].spec
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
	})
	*w = slices.Insert(*w, at, h)
}

// retry has Schedule look whether an application of a leaf can become active.
func (s *Scheduler) retry(leaf int32) {
	if q := &s.queues[leaf]; !q.retry && len(q.waiting) > 0 {
		q.retry = true
		s.activate = append(s.activate, leaf)
	}
}

func (s *Scheduler) activateApps() {
	for _, leaf := range s.activate {
		if q := &s.queues[leaf]; q.live { // it may be gone since
			q.retry = false
			s.activateIn(leaf)
		}
	}
	s.activate = s.activate[:0]
}

// activateIn makes the applications of a leaf active that the limits on ApplicationMasters admit. The first of a queue
// always is.
func (s *Scheduler) activateIn(leaf int32) {
	q := &s.queues[leaf]
	if s.capacity && s.calc.Cluster.IsZero() {
		for _, h := range q.waiting {
			s.apps[h].tried = true
		}
		return
	}
	s.keepFairDue()
	wishes := s.wishes(q)
	limit, users := s.amLimit(leaf), s.activeUsersWith(q, wishes)
	for i := 0; i < len(q.waiting); {
		h := q.waiting[i]
		a, others := &s.apps[h], users
		if !a.tried && s.onlyWish(a, wishes) {
			others--
		}
		a.tried = true
		if !s.mayActivate(q, a, &s.users[a.user], &limit, others) {
			i++
			continue
		}
		if a.pending > 0 && s.capacity {
			wishes[a.user]--
		}
		s.start(h)
		s.settle(h)
		s.out = append(s.out, Decision{Kind: Activate, App: h})
		q = &s.queues[leaf]
	}
	if len(q.waiting) > 0 { // what others have limits it too; it isn't followed at each step
		s.wakeAt(s.now + masterInterval)
	}
}

// masterInterval is how long an application waits that limits on ApplicationMasters hold until they are asked again, in ms.
const masterInterval = 500

// mayActivate reports whether the limits on ApplicationMasters admit an application, given the queue's and the number of
// active users.
func (s *Scheduler) mayActivate(q *runQueue, a *app, u *user, limit *records.Resource, users int) bool {
	switch {
	case s.tree.Kind == queue.FIFO:
		return true
	case s.tree.Kind == queue.Fair:
		return q.cfg.MaxAMShare < 0 || a.spec.AM.IsZero() || q.amUsed.Add(a.am).FitsIn(*limit)
	case q.active < 1 || s.calc.Share(&q.amUsed) <= 0:
		return true
	case !s.calc.Measure(q.amUsed.Add(a.am)).FitsIn(s.calc.Measure(*limit)):
		return false
	}
	return s.calc.Measure(u.amUsed.Add(a.am)).FitsIn(s.calc.Measure(s.userAMLimit(q, u, limit, users)))
}

// amLimit is what ApplicationMasters of a leaf may have: a share of what the queue can have now, or of its promise if that
// is more (Hadoop: AbstractLeafQueue.calculateAndGetAMResourceLimitPerPartition).
func (s *Scheduler) amLimit(leaf int32) (limit records.Resource) {
	q := &s.queues[leaf]
	if s.tree.Kind == queue.Fair {
		return s.fairAMLimit(leaf, s.fairDue())
	}
	usable := s.room(leaf)
	if !s.calc.Measure(q.guaranteed).FitsIn(s.calc.Measure(usable)) {
		usable = q.guaranteed
	}
	for i, n := range usable {
		limit[i] = s.calc.StepUp(i, float64(n)*float64(q.cfg.MaxAMShare))
	}
	return limit
}

// userAMLimit is what ApplicationMasters of one user of a leaf may have (Hadoop:
// AbstractLeafQueue.getUserAMResourceLimitPerPartition).
func (s *Scheduler) userAMLimit(q *runQueue, u *user, limit *records.Resource, users int) records.Resource {
	return s.calc.Smaller(s.userAMShare(q, u, users), *limit)
}

// userAMShare is what a user's ApplicationMasters may have by the limits of users alone.
func (s *Scheduler) userAMShare(q *runQueue, u *user, users int) (out records.Resource) {
	part := max(float64(q.cfg.UserLimit)/100, 1/float64(max(users, 1)))
	part = min(part*u.weight, 1)
	if q.cfg.UserLimitFactor == -1 {
		part = 1
	} else {
		part *= float64(q.cfg.UserLimitFactor)
	}
	for i, n := range q.guaranteed {
		out[i] = s.calc.StepUp(i, float64(n)*float64(q.cfg.MaxAMShare)*part)
	}
	return out
}

// activeUsers counts the users of a leaf who want something, be it an ApplicationMaster for an application that waits to
// become active, and those whose applications all wait (Hadoop: UsersManager.getNumActiveUsers).
func (s *Scheduler) activeUsers(q *runQueue) int { return s.activeUsersWith(q, s.wishes(q)) }

// wishes counts by users the applications of a leaf that ask for something and wait to become active.
func (s *Scheduler) wishes(q *runQueue) map[int32]int {
	if !s.capacity || len(q.waiting) == 0 {
		return nil
	}
	of := map[int32]int{}
	s.passed += int64(len(q.waiting))
	for _, h := range q.waiting {
		if a := &s.apps[h]; a.pending > 0 {
			of[a.user]++
		}
	}
	return of
}

func (s *Scheduler) activeUsersWith(q *runQueue, wishes map[int32]int) (n int) {
	if !s.capacity {
		return 0
	}
	s.el.All(&q.inner, func(i int32) bool {
		ref := s.el.Ref(i)
		if u := &s.users[ref]; u.wanting > 0 || u.active == 0 && u.total > 0 || wishes[ref] > 0 {
			n++
		}
		return true
	})
	return n
}

// onlyWish reports whether a user counts as active for nothing but one waiting application. YARN tries an application for the
// first time before it knows what that asks for, and so without its user among the active ones.
func (s *Scheduler) onlyWish(a *app, wishes map[int32]int) bool {
	u := &s.users[a.user]
	return s.capacity && a.pending > 0 && u.wanting == 0 && u.active > 0 && wishes[a.user] == 1
}

// start makes an application active, whatever the limits say.
func (s *Scheduler) start(h handle.App) {
	a := &s.apps[h]
	if a.active {
		return
	}
	q, u := &s.queues[a.leaf], &s.users[a.user]
	if !a.runnable {
		at := slices.Index(s.held, h)
		s.held = slices.Delete(s.held, at, at+1)
		s.run(a, 1)
	} else if at := slices.Index(q.waiting, h); at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	a.active = true
	q.active++
	u.active++
	q.amUsed, u.amUsed = q.amUsed.Add(a.am), u.amUsed.Add(a.am)
	s.seedKey(a, u.apps.Rule)
	s.el.Enter(&u.apps, a.el)
}

// stop makes an application inactive. Its asks wait with it.
func (s *Scheduler) stop(h handle.App) {
	a := &s.apps[h]
	if !a.active {
		return
	}
	q, u := &s.queues[a.leaf], &s.users[a.user]
	a.active = false
	s.placeApp(h)
	q.active--
	u.active--
	q.amUsed, u.amUsed = q.amUsed.Sub(a.am), u.amUsed.Sub(a.am)
	s.el.Leave(&u.apps, a.el)
	s.placeUser(a.user)
}
