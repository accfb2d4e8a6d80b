package core

import (
	"cmp"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
)

// admit lets an application that was just submitted continue to wait for the limit on ApplicationMasters, unless too many run.
func (s *Core) admit(h handle.App) {
	a := &s.Apps[h]
	if ok, _ := s.MayRun(a); !ok {
		at, _ := slices.BinarySearchFunc(s.heldApps, h, func(x, y handle.App) int {
			return cmp.Compare(s.Apps[x].Spec.Seq, s.Apps[y].Spec.Seq)
		})
		s.heldApps = slices.Insert(s.heldApps, at, h)
		return
	}
	s.countRunning(a, 1)
	if a.Spec.Elsewhere {
		s.Admitted = append(s.Admitted, h)
		return
	}
	s.enqueue(h)
	s.retryActivation(a.Leaf)
}

// MayRun reports whether the limits on how many applications run at once admit another one. If not, full is the queue that has
// reached its limit, or nothing if it is the user.
func (s *Core) MayRun(a *App) (ok bool, full int32) {
	if !s.Rules.Parallel {
		return true, ranking.Nothing
	}
	for h := a.Leaf; h != ranking.Nothing; h = s.Queues[h].Parent {
		if q := &s.Queues[h]; q.Runnable >= q.Cfg.MaxParallelApps {
			return false, h
		}
	}
	return s.Running[a.Spec.User] < s.Tree.Settings.MaxParallel(a.Spec.User), ranking.Nothing
}

// countRunning counts an application, or one less, for the limits on how many run at once.
func (s *Core) countRunning(a *App, n int32) {
	a.Runnable = n > 0
	if s.partial {
		return
	}
	for h := a.Leaf; h != ranking.Nothing; h = s.Queues[h].Parent {
		s.Queues[h].Runnable += n
	}
	if s.Running[a.Spec.User] += n; s.Running[a.Spec.User] == 0 {
		delete(s.Running, a.Spec.User)
	}
}

// dismiss takes an application out of those that count for how many run at once, and lets the next ones in.
func (s *Core) dismiss(h handle.App) {
	a := &s.Apps[h]
	if !a.Runnable {
		if at := slices.Index(s.heldApps, h); at >= 0 {
			s.heldApps = slices.Delete(s.heldApps, at, at+1)
		}
		return
	}
	s.countRunning(a, -1)
	w := &s.Queues[a.Leaf].Waiting
	if at := slices.Index(*w, h); at >= 0 {
		*w = slices.Delete(*w, at, at+1)
	}
	s.admitHeld()
}

// admitHeld looks again at the applications that too many others kept from running.
func (s *Core) admitHeld() {
	list := s.heldApps
	s.heldApps = nil
	for _, h := range list {
		s.admit(h)
	}
}

// enqueue puts an application among those of its leaf that wait to become active.
func (s *Core) enqueue(h handle.App) {
	w := &s.Queues[s.Apps[h].Leaf].Waiting
	at, _ := slices.BinarySearchFunc(*w, h, func(x, y handle.App) int {
		a, b := &s.Apps[x].Spec, &s.Apps[y].Spec
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
	})
	*w = slices.Insert(*w, at, h)
}

// retryActivation makes Schedule check whether an application of a leaf can become active.
func (s *Core) retryActivation(leaf int32) {
	if q := &s.Queues[leaf]; !q.retry && len(q.Waiting) > 0 {
		q.retry = true
		s.toActivate = append(s.toActivate, leaf)
	}
}

func (s *Core) activateApps() {
	for _, leaf := range s.toActivate {
		if q := &s.Queues[leaf]; q.Live { // it may be gone since
			q.retry = false
			s.Policy.Activate(leaf)
		}
	}
	s.toActivate = s.toActivate[:0]
}

// ActivateWaiting goes through the applications of a leaf that wait, the most urgent first, and makes those active that may be.
func (s *Core) ActivateWaiting(leaf int32, may func(*App) bool) {
	q := &s.Queues[leaf]
	for i := 0; i < len(q.Waiting); {
		h := q.Waiting[i]
		if !may(&s.Apps[h]) {
			i++
			continue
		}
		s.start(h)
		s.settle(h)
		s.Out = append(s.Out, Decision{Kind: Activate, App: h})
	}
	if len(q.Waiting) > 0 { // use by others limits it too; it isn't followed at each step
		s.WakeAt(s.Now + masterInterval)
	}
}

// masterInterval is how long an application waits that limits on ApplicationMasters hold until they are asked again, in ms.
const masterInterval = 500

// start makes an application active, whatever the limits say.
func (s *Core) start(h handle.App) {
	a := &s.Apps[h]
	if a.Active {
		return
	}
	q, u := &s.Queues[a.Leaf], &s.Users[a.User]
	if !a.Runnable {
		at := slices.Index(s.heldApps, h)
		s.heldApps = slices.Delete(s.heldApps, at, at+1)
		s.countRunning(a, 1)
	} else if at := slices.Index(q.Waiting, h); at >= 0 {
		q.Waiting = slices.Delete(q.Waiting, at, at+1)
	}
	a.Active = true
	q.Active++
	u.Active++
	q.AmUsed, u.AmUsed = q.AmUsed.Add(a.Am), u.AmUsed.Add(a.Am)
	s.seedKey(a, u.Apps.Rule)
	s.Rankings.Enter(&u.Apps, a.El)
}

// stop makes an application inactive. Its asks wait with it.
func (s *Core) stop(h handle.App) {
	a := &s.Apps[h]
	if !a.Active {
		return
	}
	q, u := &s.Queues[a.Leaf], &s.Users[a.User]
	a.Active = false
	s.placeApp(h)
	q.Active--
	u.Active--
	q.AmUsed, u.AmUsed = q.AmUsed.Sub(a.Am), u.AmUsed.Sub(a.Am)
	s.Rankings.Leave(&u.Apps, a.El)
	s.placeUser(a.User)
}

// wakeUp does what is due now.
func (s *Core) wakeUp() {
	s.wakeup = 0
	s.wakeLate()
	s.Unmet.Wake(s.Now, s.WakeAt)
	for h := range s.Queues {
		s.retryActivation(int32(h))
	}
}
