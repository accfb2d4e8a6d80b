package core

import (
	"fmt"
	"slices"

	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// AppSpec describes an application that may ask for containers.
type AppSpec struct {
	Priority int32 // higher numbers are served first
	// Elsewhere says that its ApplicationMaster counts in another partition: in this one it becomes active when it does there.
	Elsewhere bool
	Seq       int64 // order of submission; unique
	Queue     string
	User      string
	Type      string           // as submitted, such as MAPREDUCE
	AM        records.Resource // what its ApplicationMaster takes; zero if it runs elsewhere
	Label     string           // of the partition in which the ApplicationMaster counts
}

// App is an application. Fields that each decision touches are on the first line of the cache, as with nodes: the first two types of
// used are at its end; those of pendingSum, which grants need besides, are on the second.
type App struct {
	Live       bool
	Runnable   bool  // counts for the limits on how many run at once
	Active     bool  // may have containers
	Held       bool  // in the core of a label: it has, or has had, containers
	asks       uint8 // for containers: hasOwn, hasGuests
	Wants      bool  // is active and asks for something
	guided     bool  // its leaf has a leaf policy that isn't built in
	excludes   bool  // its blacklist has an entry: decisions read this, which is in a line of memory that they need anyway
	Leaf, User int32
	El         int32
	Running    int32 // containers
	demand.Set
	Used       records.Resource
	PendingSum records.Resource
	Pending    int64            // containers asked for
	Reserved   records.Resource // of used in capacity queues, beside it in others
	Spec       AppSpec
	Am         records.Resource // as it counts for limits of ApplicationMasters
	Blacklist  map[int32]struct{}
	since      int64        // in a leaf with a policy: when it began to ask, or last got a container, in ms
	guests     int64        // containers asked for of nodes that other partitions share
	places     int32        // of all demands
	wishes     int32        // at home: partitions in which it wants something
	parts      handle.Parts // at home: the partitions that know it, or have
	Tried      bool         // the limits on ApplicationMasters were asked whether it may become active
	_          [3]int32     // to whole lines
}

// askFor adds to the number of containers that an application asks for.
func (a *App) askFor(more int64) {
	if a.Pending += more; a.Pending > 0 {
		a.asks |= hasOwn
	} else {
		a.asks &^= hasOwn
	}
}

// An application's requests: containers here, and containers of another partition that it might get here.
const (
	hasOwn = 1 << iota
	hasGuests
)

// askAsGuest adds to the number of containers that it asks for in another partition, and might get here.
func (a *App) askAsGuest(more int64) {
	if a.guests += more; a.guests > 0 {
		a.asks |= hasGuests
	} else {
		a.asks &^= hasGuests
	}
}

// AddApp enters an application, which asks for nothing yet. It waits until the limits on ApplicationMasters and on how many
// applications run at once admit it.
func (s *Core) AddApp(spec AppSpec) handle.App {
	h := s.handles.Apps.Take()
	s.enterApp(h, spec)
	return h
}

func (s *Core) enterApp(h handle.App, spec AppSpec) {
	leaf := s.leafOf(spec.Queue)
	var am records.Resource
	if !spec.Elsewhere {
		am = s.Policy.Master(spec.AM)
	}
	s.Apps = handle.Fit(s.Apps, h, App{})
	s.Apps[h] = App{Spec: spec, Live: true, Am: am, El: s.Rankings.Take(int32(h)), Set: demand.NewSet()}
	s.Home().Apps[h].parts.Add(s.at)
	s.join(h, leaf)
}

// join puts an application into a leaf, where it waits to become active.
func (s *Core) join(h handle.App, leaf int32) {
	a := &s.Apps[h]
	u := s.userOf(leaf, a.Spec.User)
	s.Policy.AppsChanged()
	a.Leaf, a.User = leaf, u
	s.guide(a)
	if a.wishes > 0 {
		s.userWishes(a, 1)
	}
	s.Users[u].Total++
	for q := leaf; q != ranking.Nothing; q = s.Queues[q].Parent {
		s.Queues[q].Total++
		s.Calc.Add(&s.Queues[q].Pending, &a.PendingSum)
	}
	s.admit(h)
	if a.guided {
		guides{s}.toldAll(a)
	}
}

// part takes an application out of its leaf.
func (s *Core) part(h handle.App) {
	s.Policy.AppsChanged()
	s.stop(h)
	s.dismiss(h)
	a := &s.Apps[h]
	if a.wishes > 0 { // in other partitions
		s.userWishes(a, -1)
	}
	for q := a.Leaf; q != ranking.Nothing; q = s.Queues[q].Parent {
		s.Queues[q].Total--
		s.Calc.Sub(&s.Queues[q].Pending, &a.PendingSum)
	}
	if a.guided {
		s.tell(a.Leaf).Left(h)
	}
	u := a.User
	if s.Users[u].Total--; s.Users[u].Total == 0 {
		s.dropUser(u)
	}
}

// RemoveApp takes an application out. Its containers must have been freed.
func (s *Core) RemoveApp(h handle.App) {
	a := &s.Apps[h]
	if a.Running > 0 {
		panic(fmt.Sprintf("scheduler: application %d is removed with %d containers", h, a.Running))
	}
	s.ClearAsks(h)
	s.Staged.Forget(h)
	s.forgetPreempted(func(p *preempted) bool { return p.app == h })
	leaf := a.Leaf
	s.part(h)
	delete(s.facts, h)
	a.Live = false
	s.Rankings.Give(a.El)
	if !s.partial {
		s.handles.Apps.Give(h)
	}
	s.settleQueue(leaf)
	s.retryActivation(leaf)
}

// MoveApp puts an application with all that it holds into another leaf. It stays active if it was. In Fair queues nodes remain reserved
// for it, as in YARN.
func (s *Core) MoveApp(h handle.App, path string) {
	a := &s.Apps[h]
	from, to := a.Leaf, s.leafOf(path)
	a.Spec.Queue, s.Recheck = path, true
	if from == to {
		return
	}
	if s.Rules.ReservedIsUsed {
		s.unreserveAll(h)
	}
	active := a.Active
	back, reserved := a.Used.Times(-1), a.Reserved.Times(-1)
	held := a.Used.Sub(s.withheld[h])
	room := held.Times(-1)
	s.chargeUser(a, &back)
	s.chargeQueues(from, &room, -int(a.Running))
	s.chargeQueuesReserved(from, &reserved)
	s.part(h)
	s.settleQueue(from)
	s.retryActivation(from)
	s.join(h, to)
	s.chargeUser(a, &a.Used)
	s.chargeQueues(to, &held, int(a.Running))
	s.chargeQueuesReserved(to, &a.Reserved)
	if active {
		s.start(h)
	}
	s.settle(h)
}

// SetPriority moves an application in the order of service.
func (s *Core) SetPriority(h handle.App, priority int32) {
	a := &s.Apps[h]
	q := &s.Queues[a.Leaf]
	at := slices.Index(q.Waiting, h)
	if at >= 0 {
		q.Waiting = slices.Delete(q.Waiting, at, at+1)
	}
	a.Spec.Priority = priority
	if at >= 0 {
		s.enqueue(h)
	}
	if s.Rankings.In(a.El) {
		u := &s.Users[a.User]
		s.seedKey(a, u.Apps.Rule)
		s.Rankings.Moved(&u.Apps, a.El)
		s.placeUser(a.User)
	}
	s.settle(h)
}

// UpdateAsks enters rows of requests. Capabilities must not be negative.
func (s *Core) UpdateAsks(h handle.App, asks []Ask) {
	a := &s.Apps[h]
	s.Changes++
	before := a.PendingSum
	for i := range asks {
		s.update(h, a, &asks[i])
	}
	if a.guided {
		guides{s}.toldAsked(a, asks)
	}
	s.unblock(a)
	more := s.Calc.Minus(&a.PendingSum, &before)
	s.askedFor(a, &more)
	s.settle(h)
}

// askedFor adds to what the queues above an application wait for.
func (s *Core) askedFor(a *App, more *records.Resource) {
	for q := a.Leaf; q != ranking.Nothing; q = s.Queues[q].Parent {
		s.Calc.Add(&s.Queues[q].Pending, more)
	}
}

// ClearAsks withdraws everything that an application asks for.
func (s *Core) ClearAsks(h handle.App) {
	a := &s.Apps[h]
	s.unreserveAll(h)
	s.Changes++
	if a.guided {
		guides{s}.toldCleared(a)
	}
	s.Demanded.Clear(&a.Set, &s.Classes)
	s.Unmet.Look(s.Now, s.WakeAt) // which forgets them
	a.places = 0
	back := s.Calc.Negative(&a.PendingSum)
	s.askedFor(a, &back)
	a.PendingSum = records.Resource{}
	a.guests = 0
	a.askFor(-a.Pending)
	s.settle(h)
}

// UpdateBlacklist adds and then removes hosts (or racks) on which an application wants no containers.
func (s *Core) UpdateBlacklist(h handle.App, add, remove []string) {
	a := &s.Apps[h]
	s.reviewReservations()
	if a.Blacklist == nil {
		a.Blacklist = map[int32]struct{}{}
	}
	for _, name := range add {
		a.Blacklist[s.Nodes.Intern(name)] = struct{}{}
	}
	for _, name := range remove {
		if id, ok := s.Nodes.Names.Find(name); ok {
			delete(a.Blacklist, id)
		}
	}
	a.excludes = len(a.Blacklist) > 0
	if len(remove) > 0 {
		for d := range s.Demands(a) {
			d.TryAnew()
			s.setWhy(d, demand.Untried)
		}
		s.settle(h)
	}
}

// settle puts an application, its user and its queues into their places after what they hold or ask for has changed.
func (s *Core) settle(h handle.App) {
	a := &s.Apps[h]
	if !a.Live {
		return
	}
	s.placeApp(h)
	s.settleQueue(a.Leaf)
}

// placeApp updates the key and mask of an application and its user.
func (s *Core) placeApp(h handle.App) {
	a := &s.Apps[h]
	u := &s.Users[a.User]
	if wants := a.Active && a.asks != 0; wants != a.Wants {
		if a.Wants = wants; wants {
			a.since = leaf.Moment(s.Now)
		}
		s.wish(h, wants)
	}
	changed := s.appKey(a, u.Apps.Rule)
	if changed && s.Rankings.In(a.El) {
		s.Rankings.Moved(&u.Apps, a.El)
		s.rekeyElsewhere(h, u.Apps.Rule)
	}
	if s.Rankings.SetMask(a.El, s.maskOf(a)) || changed {
		s.placeUser(a.User)
	}
}

// placeUser updates the key and mask of a user.
func (s *Core) placeUser(h int32) {
	u := &s.Users[h]
	if s.userKey(u) {
		s.Rankings.Moved(&s.Queues[u.Leaf].Inner, u.el)
	}
	s.Rankings.SetMask(u.el, s.Rankings.Offers(&u.Apps))
}

// settleQueue updates keys and masks from a leaf up to the root, and forgets what was known to be closed in them.
func (s *Core) settleQueue(leaf int32) {
	for h := leaf; h != ranking.Nothing; h = s.Queues[h].Parent {
		s.placeQueue(h)
	}
}

func (s *Core) placeQueue(h int32) {
	q := &s.Queues[h]
	q.LimitKnown = false
	if q.Parent == ranking.Nothing {
		return
	}
	if o := &s.Queues[q.Parent].Inner; s.Policy.QueueKey(q, o.Rule) {
		s.Rankings.Moved(o, q.El)
	}
	s.Rankings.SetMask(q.El, s.offers(q))
}

func (s *Core) BlacklistOf(a *App) []string {
	var names []string
	for id := range a.Blacklist {
		names = append(names, s.Nodes.Name(id))
	}
	slices.Sort(names)
	return names
}
