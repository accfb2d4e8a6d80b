package scheduler

import (
	"fmt"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// AppSpec describes an application that may ask for containers.
type AppSpec struct {
	Priority int32 // higher numbers are served first
	Seq      int64 // order of submission; unique
	Queue    string
	User     string
	AM       records.Resource // what its ApplicationMaster takes; zero if it runs elsewhere
}

// app is an application. What each decision touches is on the first line of the cache, as with nodes: the first two types of used are
// at its end; those of pendingSum, which grants need besides, are on the second.
type app struct {
	live       bool
	runnable   bool // counts for the limits on how many run at once
	active     bool // may have containers
	tried      bool // the limits on ApplicationMasters were asked whether it may become active
	asks       bool // for containers: pending isn't 0
	wants      bool // is active and asks for something
	leaf, user int32
	el         int32
	running    int32 // containers
	demands    order.Order
	requests   int32   // demands
	blocked    int32   // demands that wait for more urgent ones
	sole       *demand // if there is just one
	used       records.Resource
	pendingSum records.Resource
	pending    int64            // containers asked for
	reserved   records.Resource // of used in capacity queues, beside it in others
	spec       AppSpec
	am         records.Resource // as it counts for limits of ApplicationMasters
	blacklist  map[int32]struct{}
	places     int32    // of all demands
	_          [3]int32 // to whole lines
}

// askFor adds to the number of containers that an application asks for.
func (a *app) askFor(more int64) {
	a.pending += more
	a.asks = a.pending > 0
}

// AddApp enters an application, which asks for nothing yet. It waits until the limits on ApplicationMasters and on how many
// applications run at once admit it.
func (s *Scheduler) AddApp(spec AppSpec) handle.App {
	h := handle.Take(&s.apps, &s.freeApps)
	leaf := s.leafOf(spec.Queue)
	am := spec.AM
	if am.IsZero() && s.capacity {
		am = s.cfg.Minimum
	}
	s.apps[h] = app{spec: spec, live: true, am: am, el: s.el.Take(int32(h)), demands: order.New(order.ByPriority)}
	s.join(h, leaf)
	return h
}

// join puts an application into a leaf, where it waits to become active.
func (s *Scheduler) join(h handle.App, leaf int32) {
	a := &s.apps[h]
	u := s.userOf(leaf, a.spec.User)
	s.fair.known = false
	a.leaf, a.user = leaf, u
	s.users[u].total++
	for q := leaf; q != order.Nothing; q = s.queues[q].parent {
		s.queues[q].total++
		s.queues[q].pending = s.queues[q].pending.Add(a.pendingSum)
	}
	s.admit(h)
}

// part takes an application out of its leaf.
func (s *Scheduler) part(h handle.App) {
	s.fair.known = false
	s.stop(h)
	s.dismiss(h)
	a := &s.apps[h]
	for q := a.leaf; q != order.Nothing; q = s.queues[q].parent {
		s.queues[q].total--
		s.queues[q].pending = s.queues[q].pending.Sub(a.pendingSum)
	}
	u := a.user
	if s.users[u].total--; s.users[u].total == 0 {
		s.dropUser(u)
	}
}

// RemoveApp takes an application out. Its containers must have been freed.
func (s *Scheduler) RemoveApp(h handle.App) {
	a := &s.apps[h]
	if a.running > 0 {
		panic(fmt.Sprintf("scheduler: application %d is removed with %d containers", h, a.running))
	}
	s.ClearAsks(h)
	s.breakPromises(func(p *promise) bool { return p.app == h })
	leaf := a.leaf
	s.part(h)
	a.live = false
	s.el.Give(a.el)
	s.freeApps = append(s.freeApps, h)
	s.settleQueue(leaf)
	s.retry(leaf)
}

// MoveApp puts an application with all that it holds into another leaf. It stays active if it was. In Fair queues nodes remain kept
// for it, as in YARN.
func (s *Scheduler) MoveApp(h handle.App, path string) {
	a := &s.apps[h]
	from, to := a.leaf, s.leafOf(path)
	a.spec.Queue, s.recheck = path, true
	if from == to {
		return
	}
	if s.capacity {
		s.unreserveAll(h)
	}
	active := a.active
	back, kept := a.used.Times(-1), a.reserved.Times(-1)
	s.chargeQueue(a, &back, -int(a.running))
	s.chargeQueuesReserved(from, &kept)
	s.part(h)
	s.settleQueue(from)
	s.retry(from)
	s.join(h, to)
	s.chargeQueue(a, &a.used, int(a.running))
	s.chargeQueuesReserved(to, &a.reserved)
	if active {
		s.start(h)
	}
	s.settle(h)
}

// SetPriority moves an application in the order of service.
func (s *Scheduler) SetPriority(h handle.App, priority int32) {
	a := &s.apps[h]
	q := &s.queues[a.leaf]
	at := slices.Index(q.waiting, h)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	a.spec.Priority = priority
	if at >= 0 {
		s.wait(h)
	}
	if s.el.In(a.el) {
		u := &s.users[a.user]
		s.seedKey(a, u.apps.Rule)
		s.el.Moved(&u.apps, a.el)
		s.placeUser(a.user)
	}
	s.settle(h)
}

// UpdateAsks enters rows of requests. Capabilities must not be negative.
func (s *Scheduler) UpdateAsks(h handle.App, asks []Ask) {
	a := &s.apps[h]
	s.changes++
	before := a.pendingSum
	for i := range asks {
		s.update(h, a, &asks[i])
	}
	s.unblock(a)
	more := a.pendingSum.Sub(before)
	s.askedFor(a, &more)
	s.settle(h)
}

// askedFor adds to what the queues above an application wait for.
func (s *Scheduler) askedFor(a *app, more *records.Resource) {
	for q := a.leaf; q != order.Nothing; q = s.queues[q].parent {
		s.calc.Add(&s.queues[q].pending, more)
	}
}

// ClearAsks withdraws everything that an application asks for.
func (s *Scheduler) ClearAsks(h handle.App) {
	a := &s.apps[h]
	s.unreserveAll(h)
	s.changes++
	s.dropDemands(a)
	back := a.pendingSum.Times(-1)
	s.askedFor(a, &back)
	a.pendingSum = records.Resource{}
	a.askFor(-a.pending)
	s.settle(h)
}

// UpdateBlacklist adds and then removes hosts (or racks) on which an application wants no containers.
func (s *Scheduler) UpdateBlacklist(h handle.App, add, remove []string) {
	a := &s.apps[h]
	s.recheck = true
	if a.blacklist == nil {
		a.blacklist = map[int32]struct{}{}
	}
	for _, name := range add {
		a.blacklist[s.intern(name)] = struct{}{}
	}
	for _, name := range remove {
		if id, ok := s.names.Find(name); ok {
			delete(a.blacklist, id)
		}
	}
	if len(remove) > 0 {
		for d := range s.demands(a) {
			d.hosts, d.racks, d.vain = true, true, 0
			s.setWhy(d, untried)
		}
		s.settle(h)
	}
}

// settle puts an application, its user and its queues into their places after what they hold or ask for has changed.
func (s *Scheduler) settle(h handle.App) {
	a := &s.apps[h]
	if !a.live {
		return
	}
	s.placeApp(h)
	s.settleQueue(a.leaf)
}

// placeApp updates the key and mask of an application and its user.
func (s *Scheduler) placeApp(h handle.App) {
	a := &s.apps[h]
	u, q := &s.users[a.user], &s.queues[a.leaf]
	if wants := a.active && a.asks; wants != a.wants {
		a.wants = wants
		if wants {
			if u.wanting++; u.wanting == 1 {
				q.wanting += u.weight
				q.activeUsed = q.activeUsed.Add(u.used)
			}
		} else if u.wanting--; u.wanting == 0 {
			q.wanting -= u.weight
			q.activeUsed = q.activeUsed.Sub(u.used)
		}
	}
	changed := s.appKey(a, u.apps.Rule)
	if changed && s.el.In(a.el) {
		s.el.Moved(&u.apps, a.el)
	}
	if s.el.SetMask(a.el, s.maskOf(a)) || changed {
		s.placeUser(a.user)
	}
}

// placeUser updates the key and mask of a user.
func (s *Scheduler) placeUser(h int32) {
	u := &s.users[h]
	if s.userKey(u) {
		s.el.Moved(&s.queues[u.leaf].inner, u.el)
	}
	s.el.SetMask(u.el, s.el.Offers(&u.apps))
}

// settleQueue updates keys and masks from a leaf up to the root, and forgets what was known to be closed in them.
func (s *Scheduler) settleQueue(leaf int32) {
	s.queues[leaf].limitKnown = false
	for h := leaf; h != order.Nothing; h = s.queues[h].parent {
		s.placeQueue(h)
	}
}

func (s *Scheduler) placeQueue(h int32) {
	q := &s.queues[h]
	q.limitKnown = false
	if q.parent == order.Nothing {
		return
	}
	if o := &s.queues[q.parent].inner; s.queueKey(q, o.Rule) {
		s.el.Moved(o, q.el)
	}
	s.el.SetMask(q.el, s.offers(q))
}
