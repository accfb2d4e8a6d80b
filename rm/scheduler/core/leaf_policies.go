package core

import (
	"math"
	"slices"

	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// A leaf whose order isn't built in has a leaf policy behind a Guard. The search compares keys in it as elsewhere; only when an
// application's turn has come, the policy is asked whether its request must wait. Such a request is parked as Withheld, until a time,
// or until the policy says that the application has changed. In other leaves all this costs a look at App.guided.

// guides forwards events to leaf policies and applies their answers.
type guides struct{ *Core }

// guide makes the policy of a leaf, or keeps the one that it has.
func (q *Queue) guide() {
	switch {
	case !q.Leaf || q.Apps != ranking.ByRatio:
		q.unguide()
	case q.guard == nil || q.guard.Name != q.Cfg.LeafPolicy():
		q.unguide()
		q.guard = leaf.New(q.Cfg.LeafPolicy())
		fallthrough
	default:
		q.guard.Configure(q.Cfg.OrderingSettings)
	}
}

// unguide takes its policy from a leaf.
func (q *Queue) unguide() {
	if q.guard != nil && q.guard.Places() {
		q.guard.Survey(nil)
	}
	q.guard = nil
}

// guideApps looks which leaves have policies, and asks again about what waits in them, after the configuration has changed.
func (s *Core) guideApps() {
	s.guided = s.guided[:0]
	for h := range s.Queues {
		if q := &s.Queues[h]; q.Live && q.guard != nil {
			s.guideLeaf(int32(h))
		}
	}
	if !slices.ContainsFunc(s.guided, func(h int32) bool { return s.Queues[h].guard.Places() }) {
		s.Survey.Drop()
	}
	for h := range s.Apps {
		if a := &s.Apps[h]; a.Live {
			s.guide(a)
			if a.guided {
				guides{s}.toldAll(a)
			}
			s.unblock(a)
		}
	}
}

// guideLeaf notes that a leaf has a policy.
func (s *Core) guideLeaf(h int32) {
	if i, ok := slices.BinarySearch(s.guided, h); !ok {
		s.guided = slices.Insert(s.guided, i, h)
	}
	s.leavesDue = math.MinInt64
	g := s.Queues[h].guard
	g.Bandwidth(s.bandwidth) // it may be a new one
	g.Locate(guides{s}.localTasks)
	if g.Places() {
		g.Survey(s.Survey.Cluster(func() {
			for h := range s.Nodes.At {
				if s.Nodes.At[h].Live {
					s.surveyed(handle.Node(h))
				}
			}
			s.Survey.Refresh(s.Now, s.Calc.Measured())
		}))
	}
}

// guide notes whether an application's leaf has a policy.
func (s *Core) guide(a *App) {
	was := a.guided
	if a.guided = s.Queues[a.Leaf].guard != nil; a.guided && !was {
		a.since = leaf.Moment(s.Now)
	}
}

// HoldsBack asks the policy of its leaf whether a request must wait. It changes nothing.
func (s *Core) HoldsBack(a *App, d *Demand) (w leaf.HoldingBack) {
	if !a.guided {
		return w
	}
	g := s.Queues[a.Leaf].guard
	if g.Overdue(a.since, s.Now) {
		return w
	}
	view := s.leafApp(a)
	if held, until := g.Hold(leafAsk(&view, d), d.HeldSince, s.Now); held {
		return leaf.HoldingBack{Policy: g.Name, Until: until}
	}
	most, until := g.Cap(view, a.since, s.Now)
	if left := most.Sub(a.Used); !s.Calc.Fits(&d.Size, &left) {
		return leaf.HoldingBack{Policy: g.Name, Until: until, Capped: true, Cap: most}
	}
	return w
}

// CapOf returns what an application may have by its leaf's policy. It is false where that has none.
func (s *Core) CapOf(a *App) (most records.Resource, capped bool) {
	if !a.guided {
		return most, false
	}
	most, _ = s.Queues[a.Leaf].guard.Cap(s.leafApp(a), a.since, s.Now)
	return most, true
}

// holdBack parks a request that the policy of its leaf holds back, and reports whether it does.
func (s *Core) holdBack(a *App, d *Demand) bool {
	w := s.HoldsBack(a, d)
	if w.Policy == "" {
		return false
	}
	if !w.Capped && d.HeldSince == 0 {
		d.HeldSince = leaf.Moment(s.Now)
	}
	s.waitUntil(d, w.Until)
	s.park(d, demand.Waits)
	return true
}

// LeafKey returns what an application is ordered by in a leaf with a policy.
func (s *Core) LeafKey(a *App) (rank uint8, ratio float64) {
	return s.Queues[a.Leaf].guard.Key(s.leafApp(a), a.since, s.Now)
}

// tickLeaves tells policies the time, and looks who has waited for too long.
func (s *Core) tickLeaves() {
	if len(s.guided) == 0 {
		return
	}
	if refreshed := s.Survey.Refresh(s.Now, s.Calc.Measured()); refreshed || s.Now >= s.leavesDue {
		s.tickAllLeaves(refreshed)
	}
	s.reviseLeaves()
}

// tickAllLeaves looks at each policy whether its time has come, and when the next one's comes.
func (s *Core) tickAllLeaves(refreshed bool) {
	s.leavesDue = math.MaxInt64
	for _, h := range s.guided {
		q := &s.Queues[h]
		told, over := q.guard.Due(s.Now)
		if told || over || q.guard.Prompted(s.Now) || refreshed && q.guard.Places() {
			guides{s}.tickLeaf(h, q)
		}
		if over {
			guides{s}.askOverdue(h, q)
		}
		s.leavesDue = min(s.leavesDue, q.guard.Next())
	}
	s.told = s.told[:0]
}

// tell returns the policy of a leaf, which is told something.
func (s *Core) tell(leaf int32) *leaf.Guard {
	g := s.Queues[leaf].guard
	if told, _ := g.Due(s.Now); !told {
		s.told = append(s.told, leaf)
	}
	return g
}

// tickLeaf tells the policy of a leaf the time, and reports whether its answer for any application has changed.
func (s guides) tickLeaf(h int32, q *Queue) (changed bool) {
	if !q.guard.Wants(s.Now) {
		return false
	}
	for _, a := range q.guard.Tick(s.Now, s.leafQueue(h, q)) {
		if a >= 0 && int(a) < len(s.Apps) && s.Apps[a].Live && s.Apps[a].Leaf == h {
			s.askAnew(a)
			changed = true
		}
	}
	return changed
}

// reviseLeaves tells policies of grants since they were told the time, so that requests that they release get the rest in the same
// call of Schedule. It reports whether any request was released.
func (s *Core) reviseLeaves() (changed bool) {
	slices.Sort(s.told)
	for _, h := range s.told {
		q := &s.Queues[h]
		if q.guard == nil {
			continue
		}
		if (guides{s}).tickLeaf(h, q) {
			changed = true
		}
		s.leavesDue = min(s.leavesDue, q.guard.Next())
	}
	s.told = s.told[:0]
	if len(s.guided) > 0 && !s.Queues[Root].Pending.IsZero() {
		s.WakeAt(s.leavesDue)
	}
	return changed
}

// askOverdue finds the applications of a leaf that have waited for so long that its policy holds them back no more.
func (s guides) askOverdue(leaf int32, q *Queue) {
	s.overdue = s.overdue[:0]
	s.Rankings.All(&q.Inner, func(u int32) bool {
		s.Rankings.All(&s.Users[s.Rankings.Ref(u)].Apps, func(i int32) bool {
			if h := handle.App(s.Rankings.Ref(i)); s.Apps[h].Wants && q.guard.Overdue(s.Apps[h].since, s.Now) {
				s.overdue = append(s.overdue, h)
			}
			return true
		})
		return true
	})
	for _, h := range s.overdue {
		s.askAnew(h)
	}
}

// askAnew has the policy of its leaf be asked again about an application.
func (s guides) askAnew(h handle.App) {
	s.unblock(&s.Apps[h])
	s.settle(h)
}

// toldGranted tells the policy of its leaf that an application has got a container for a demand.
func (s guides) toldGranted(h handle.App, d *Demand, c handle.Container) {
	a := &s.Apps[h]
	a.since = leaf.Moment(s.Now)
	d.HeldSince = 0
	view := s.leafApp(a)
	s.tell(a.Leaf).Granted(view, leaf.Grant{
		Container: c, Node: leaf.Node{Handle: s.Containers[c].Node}, Resource: d.Capability, Since: s.Now, Ask: leafAsk(&view, d), Note: &s.Containers[c].note,
	})
}

// toldRestored tells it of a container that another leader granted.
func (s guides) toldRestored(h handle.App, c handle.Container, priority int32, since int64) {
	a, x := &s.Apps[h], &s.Containers[c]
	a.since = leaf.Moment(s.Now)
	view, r := s.leafApp(a), *s.Holds(x)
	s.tell(a.Leaf).Granted(view, leaf.Grant{
		Container: c, Node: leaf.Node{Handle: x.Node}, Resource: r, Since: since, Restored: true, Note: &x.note, Ask: leaf.Ask{App: view, Priority: priority, Capability: r},
	})
}

// toldEnded tells it that a container of an application has ended.
func (s guides) toldEnded(h handle.App, nh handle.Node, o leaf.Outcome) {
	a := &s.Apps[h]
	s.tell(a.Leaf).Ended(s.leafApp(a), leaf.Node{Handle: nh}, o)
	s.unblock(a)
}

// toldAsked tells it what has become of requests of which there were rows, if it wants to hear of that.
func (s guides) toldAsked(a *App, rows []Ask) {
	g := s.Queues[a.Leaf].guard
	if !g.Watches() {
		return
	}
	view := s.leafApp(a)
	g = s.tell(a.Leaf)
	for i := range rows {
		x := &rows[i]
		if x.Name != Any {
			continue
		}
		if d := s.Demanded.Find(&a.Set, x.Priority, x.AllocationRequestID); d != nil {
			g.Asked(leafAsk(&view, d))
		} else {
			g.Asked(leaf.Ask{App: view, Priority: x.Priority, RequestID: x.AllocationRequestID, Capability: x.Capability})
		}
	}
}

// toldAll tells it what an application asks for that is new to it.
func (s guides) toldAll(a *App) {
	if s.Queues[a.Leaf].guard.Watches() {
		view, g := s.leafApp(a), s.tell(a.Leaf)
		for d := range s.Demands(a) {
			g.Asked(leafAsk(&view, d))
		}
	}
	s.Queues[a.Leaf].guard.Master(s.leafApp(a), a.Am)
	if f, known := s.facts[handle.App(s.Rankings.Ref(a.El))]; known {
		s.toldFacts(a, f)
	}
}

// NoteFacts changes what is known of an application besides its requests and containers.
func (s *Core) NoteFacts(h handle.App, change func(*leaf.Facts)) {
	f := s.facts[h]
	change(&f)
	s.facts[h] = f
	if a := &s.Apps[h]; a.guided {
		guides{s}.toldFacts(a, f)
	}
}

// toldFacts tells the policy of its leaf what is known of an application.
func (s guides) toldFacts(a *App, f leaf.Facts) { s.tell(a.Leaf).Facts(s.leafApp(a), f) }

// localTasks counts the tasks that an application asks for which could run on hosts that they prefer, in the room that these have now.
func (s guides) localTasks(h handle.App) int64 {
	a := &s.Apps[h]
	return s.Demanded.Local(&a.Set, func(d *Demand, name int32) bool {
		return slices.ContainsFunc(s.Nodes.Sites[name].Nodes, func(nh handle.Node) bool {
			return s.Nodes.HasRoom(&s.Nodes.At[nh], &d.Size) && !a.Bars(d, &s.Nodes.At[nh])
		})
	})
}

// toldCleared tells it that an application withdraws all requests.
func (s guides) toldCleared(a *App) {
	if s.Queues[a.Leaf].guard.Watches() {
		view, g := s.leafApp(a), s.tell(a.Leaf)
		view.Pending = &records.Resource{}
		for d := range s.Demands(a) {
			k := leafAsk(&view, d)
			k.Count = 0
			g.Asked(k)
		}
	}
}

// NoteBandwidth says how fast outputs of maps are fetched, in bytes per second; 0 if it wasn't measured.
func (s *Core) NoteBandwidth(rate float64) {
	s.bandwidth = rate
	for _, h := range s.guided {
		s.Queues[h].guard.Bandwidth(rate)
	}
}

// WhyHeld returns what the policy of its leaf says of a request that it holds, for people; empty if it says nothing.
func (s *Core) WhyHeld(a *App, d *Demand) string {
	view := s.leafApp(a)
	return s.Queues[a.Leaf].guard.Why(leafAsk(&view, d))
}

// PolicyOf returns the policy of an application's leaf, and the application as that sees it; nil if that is built in.
func (s *Core) PolicyOf(a *App) (*leaf.Guard, leaf.App) { return s.Queues[a.Leaf].guard, s.leafApp(a) }

func (s *Core) leafApp(a *App) leaf.App {
	return leaf.App{
		Handle: handle.App(s.Rankings.Ref(a.El)), Seq: a.Spec.Seq, Priority: a.Spec.Priority, Containers: a.Running, User: a.Spec.User,
		Type: a.Spec.Type, Weight: s.Users[a.User].Weight,
		Used: &a.Used, Pending: &a.PendingSum,
	}
}

func leafAsk(a *leaf.App, d *Demand) leaf.Ask {
	return leaf.Ask{App: *a, Priority: d.Priority, RequestID: d.RequestID, Count: d.Pending, Capability: d.Capability, Work: d.Work}
}

func (s guides) leafQueue(h int32, q *Queue) leaf.Queue {
	return leaf.Queue{
		Path: q.Cfg.Path, Guaranteed: q.Guaranteed, Maximum: q.Maximum, Used: q.Used, Pending: q.Pending, Active: q.Active,
		Free: s.Room(h).Sub(q.Used).Min(s.Nodes.Headroom()).Max(records.Resource{}), Types: s.Calc.Measured(),
	}
}
