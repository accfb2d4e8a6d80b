package core

import (
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// A leaf whose order isn't built in has a leaf policy behind a Guard. The search compares keys in it as elsewhere; only when an
// application's turn has come, the policy is asked whether its request has to wait. Such a request is parked as Withheld, until a time,
// or until the policy says that the application has changed. In other leaves all this costs a look at App.guided.

// guide makes the policy of a leaf, or keeps the one that it has.
func (q *Queue) guide() {
	switch {
	case !q.Leaf || q.Apps != order.ByRatio:
		q.guard = nil
	case q.guard == nil || q.guard.Name != q.Cfg.OrderingPolicy:
		q.guard = leaf.New(q.Cfg.OrderingPolicy)
	}
}

// guideApps looks which leaves have policies, and asks anew about what waits in them, after the configuration has changed.
func (s *Core) guideApps() {
	s.guided = s.guided[:0]
	for h := range s.Queues {
		if q := &s.Queues[h]; q.Live && q.guard != nil {
			s.guided = append(s.guided, int32(h))
		}
	}
	for h := range s.Apps {
		if a := &s.Apps[h]; a.Live {
			s.guide(a)
			s.unblock(a)
		}
	}
}

// guide notes whether an application's leaf has a policy.
func (s *Core) guide(a *App) {
	was := a.guided
	if a.guided = s.Queues[a.Leaf].guard != nil; a.guided && !was {
		a.since = moment(s.Now)
	}
}

// moment is a time as one that differs from none.
func moment(now int64) int64 {
	if now == 0 {
		return -1
	}
	return now
}

// HoldingBack is why a leaf policy makes a request wait.
type HoldingBack struct {
	Policy string           // its name; empty: the request doesn't wait for a policy
	Until  int64            // at the longest, in ms
	Capped bool             // by the application's cap; else the request itself is held
	Cap    records.Resource // that the application may have now
}

// HoldsBack asks the policy of its leaf whether a request has to wait. It changes nothing.
func (s *Core) HoldsBack(a *App, d *Demand) (w HoldingBack) {
	if !a.guided {
		return w
	}
	g := s.Queues[a.Leaf].guard
	if g.Overdue(a.since, s.Now) {
		return w
	}
	view := s.leafApp(a)
	if held, until := g.Hold(leafAsk(&view, d), d.HeldSince, s.Now); held {
		return HoldingBack{Policy: g.Name, Until: until}
	}
	most, until := g.Cap(view, a.since, s.Now)
	if left := most.Sub(a.Used); !s.Calc.Fits(&d.Size, &left) {
		return HoldingBack{Policy: g.Name, Until: until, Capped: true, Cap: most}
	}
	return w
}

// HeldBack is how much an application asks for that has to wait for the policy of its leaf.
func (s *Core) HeldBack(a *App) (sum records.Resource) {
	if !a.guided {
		return sum
	}
	for d := range s.Demands(a) {
		if d.Pending > 0 && s.HoldsBack(a, d).Policy != "" {
			sum = sum.Add(d.Capability.Times(int64(d.Pending)))
		}
	}
	return sum
}

// CapOf is what an application may have by its leaf's policy. It is false where that has none.
func (s *Core) CapOf(a *App) (most records.Resource, capped bool) {
	if !a.guided {
		return most, false
	}
	most, _ = s.Queues[a.Leaf].guard.Cap(s.leafApp(a), a.since, s.Now)
	return most, true
}

// holdBack parks a request that has to wait for the policy of its leaf, and reports whether it does.
func (s *Core) holdBack(a *App, d *Demand) bool {
	w := s.HoldsBack(a, d)
	if w.Policy == "" {
		return false
	}
	if !w.Capped && d.HeldSince == 0 {
		d.HeldSince = moment(s.Now)
	}
	s.waitUntil(d, w.Until)
	s.park(d, demand.Waits)
	return true
}

// LeafKey is what an application is ordered by in a leaf with a policy.
func (s *Core) LeafKey(a *App) (rank uint8, ratio float64) {
	return s.Queues[a.Leaf].guard.Key(s.leafApp(a), a.since, s.Now)
}

// tickLeaves tells policies the time, and looks who has waited for too long.
func (s *Core) tickLeaves() {
	for _, h := range s.guided {
		q := &s.Queues[h]
		told, over := q.guard.Due(s.Now)
		if told || over {
			for _, a := range q.guard.Tick(s.Now, leafQueue(q)) {
				if a >= 0 && int(a) < len(s.Apps) && s.Apps[a].Live && s.Apps[a].Leaf == h {
					s.askAnew(a)
				}
			}
		}
		if over {
			s.askOverdue(h, q)
		}
		if !q.Pending.IsZero() {
			s.WakeAt(q.guard.Next())
		}
	}
}

// askOverdue finds the applications of a leaf that have waited for so long that its policy holds them back no more.
func (s *Core) askOverdue(leaf int32, q *Queue) {
	s.overdue = s.overdue[:0]
	s.Orders.All(&q.Inner, func(u int32) bool {
		s.Orders.All(&s.Users[s.Orders.Ref(u)].Apps, func(i int32) bool {
			if h := handle.App(s.Orders.Ref(i)); s.Apps[h].Wants && q.guard.Overdue(s.Apps[h].since, s.Now) {
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
func (s *Core) askAnew(h handle.App) {
	s.unblock(&s.Apps[h])
	s.settle(h)
}

// toldGranted tells the policy of its leaf that an application has got a container for a demand, or for none that is known.
func (s *Core) toldGranted(h handle.App, d *Demand, nh handle.Node, r *records.Resource) {
	a := &s.Apps[h]
	a.since = moment(s.Now)
	view := s.leafApp(a)
	k := leaf.Ask{App: view, Capability: *r}
	if d != nil {
		d.HeldSince = 0
		k = leafAsk(&view, d)
	}
	s.Queues[a.Leaf].guard.Granted(view, s.leafNode(nh), k, *r)
}

// toldEnded tells the policy of its leaf that a container of an application has ended.
func (s *Core) toldEnded(h handle.App, nh handle.Node, r *records.Resource) {
	a := &s.Apps[h]
	s.Queues[a.Leaf].guard.Ended(s.leafApp(a), s.leafNode(nh), leaf.Outcome{Resource: *r})
	s.unblock(a)
}

func (s *Core) leafApp(a *App) leaf.App {
	return leaf.App{
		Handle: handle.App(s.Orders.Ref(a.El)), Seq: a.Spec.Seq, Priority: a.Spec.Priority, Containers: a.Running, User: a.Spec.User,
		Used: a.Used, Pending: a.PendingSum,
	}
}

func leafAsk(a *leaf.App, d *Demand) leaf.Ask {
	return leaf.Ask{App: *a, Priority: d.Priority, RequestID: d.RequestID, Count: d.Pending, Capability: d.Capability, Work: d.Work}
}

func (s *Core) leafNode(h handle.Node) leaf.Node {
	n := &s.Nodes.At[h]
	return leaf.Node{Handle: h, Host: s.Nodes.Name(n.Host), Rack: s.Nodes.Name(n.Rack)}
}

func leafQueue(q *Queue) leaf.Queue {
	return leaf.Queue{
		Path: q.Cfg.Path, Guaranteed: q.Guaranteed, Maximum: q.Maximum, Used: q.Used, Pending: q.Pending, Active: q.Active,
	}
}
