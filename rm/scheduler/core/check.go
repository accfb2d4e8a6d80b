package core

import (
	"errors"
	"fmt"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// mustHold checks the core at the end of a call of Schedule.
func (s *Core) mustHold() {
	if err := s.Check(); err != nil {
		panic(fmt.Sprintf("scheduler: %v", err))
	}
}

// Check looks for sums that don't add up, orders that are out of order, and masks that hide something.
func (s *Core) Check() error {
	return errors.Join(s.checkContainers(), s.checkQueues(), s.checkRankings(), s.Policy.Check())
}

func (s *Core) checkContainers() error {
	onNode := make([]records.Resource, len(s.Nodes.At))
	ofApp, reserved, lack := make([]records.Resource, len(s.Apps)), make([]records.Resource, len(s.Apps)), make([]records.Resource, len(s.Apps))
	for i := range s.Containers {
		c := &s.Containers[i]
		switch {
		case !c.Live():
			continue
		case c.Reserved():
			reserved[c.App] = reserved[c.App].Add(*s.Holds(c))
			if s.Nodes.At[c.Node].Reserved != handle.Container(i) {
				return fmt.Errorf("node %d isn't reserved for container %d", c.Node, i)
			}
		default:
			onNode[c.Node] = onNode[c.Node].Add(s.Held(handle.Container(i)))
		}
		if s.Rules.ReservedIsUsed || !c.Reserved() {
			ofApp[c.App] = ofApp[c.App].Add(*s.Holds(c))
		}
	}
	for h, held := range s.held {
		if c := &s.Containers[h]; !c.Live() || c.Reserved() || held == *s.Holds(c) || !held.FitsIn(*s.Holds(c)) {
			return fmt.Errorf("container %d is on record with %v on its node", h, held)
		}
		a := s.Containers[h].App
		lack[a] = lack[a].Add(*s.Holds(&s.Containers[h])).Sub(held)
	}
	partly := 0
	for h := range s.Nodes.At {
		n := &s.Nodes.At[h]
		if n.Live && n.Used != onNode[h] {
			return fmt.Errorf("node %d has %v, its containers %v", h, n.Used, onNode[h])
		}
		partly += n.Partly()
	}
	if partly != s.Nodes.PartlyOpen {
		return fmt.Errorf("%d nodes are open to some kinds of work only, not %d", partly, s.Nodes.PartlyOpen)
	}
	var blocked int32
	for h := range s.Apps {
		a := &s.Apps[h]
		blocked += a.Blocked
		if s.withheld[handle.App(h)] != lack[h] {
			return fmt.Errorf("application %d lacks %v, its containers %v", h, s.withheld[handle.App(h)], lack[h])
		}
		if a.Live && (a.Used != ofApp[h] || a.Reserved != reserved[h]) {
			return fmt.Errorf("application %d has %v (%v reserved), its containers %v (%v)", h, a.Used, a.Reserved, ofApp[h], reserved[h])
		}
	}
	if blocked != s.Demanded.Blocked {
		return fmt.Errorf("%d requests wait for others of their applications or for the policy of their leaf, not %d", blocked, s.Demanded.Blocked)
	}
	return nil
}

type sums struct {
	used, reserved, pending, am records.Resource
	total, active, wanting      int32
	containers                  int32
}

func (x sums) add(y sums) sums {
	return sums{
		x.used.Add(y.used), x.reserved.Add(y.reserved), x.pending.Add(y.pending), x.am.Add(y.am),
		x.total + y.total, x.active + y.active, x.wanting + y.wanting, x.containers + y.containers,
	}
}

func (s *Core) checkQueues() error {
	ofQueue, ofUser := make([]sums, len(s.Queues)), make([]sums, len(s.Users))
	for h := range s.Apps {
		a := &s.Apps[h]
		if !a.Live {
			continue
		}
		x := sums{used: a.Used, reserved: a.Reserved, total: 1, containers: a.Running}
		for d := range s.Demands(a) {
			if !d.Guest {
				x.pending = x.pending.Add(d.Capability.Times(int64(d.Pending)))
			}
		}
		if x.pending != a.PendingSum {
			return fmt.Errorf("application %d waits for %v, its asks say %v", h, a.PendingSum, x.pending)
		}
		if a.Active {
			x.active, x.am = 1, a.Am
		}
		s.Family(func(c *Core) {
			if c.Has(handle.App(h)) && c.Apps[h].Wants {
				x.wanting = 1
			}
		})
		ofUser[a.User] = ofUser[a.User].add(x)
		x.used = x.used.Sub(s.withheld[handle.App(h)])
		for q := a.Leaf; q != ranking.Nothing; q = s.Queues[q].Parent {
			ofQueue[q] = ofQueue[q].add(x)
		}
	}
	for h := range s.Users {
		u := &s.Users[h]
		has := sums{used: u.Used, am: u.AmUsed, total: u.Total, active: u.Active, wanting: u.Wanting}
		want := ofUser[h]
		if s.Home() != s { // which has counted others' applications, too
			want.wanting = has.wanting
			if want.total > 0 && (has.wanting > 0) != (wishesOf(s.Home(), s.Queues[u.Leaf].Cfg, u.Name) > 0) {
				return fmt.Errorf("user %s in %s is known to have %d applications that want something, at home it isn't so", u.Name, s.Queues[u.Leaf].Cfg.Path, has.wanting)
			}
		}
		want.reserved, want.pending, want.containers = has.reserved, has.pending, has.containers
		if has != want {
			return fmt.Errorf("user %s in %s has %+v, the applications %+v", u.Name, s.Queues[u.Leaf].Cfg.Path, has, want)
		}
	}
	for h := range s.Queues {
		q := &s.Queues[h]
		has := sums{q.Used, q.Reserved, q.Pending, q.AmUsed, q.Total, q.Active, 0, q.Containers}
		want := ofQueue[h]
		if want.wanting = 0; !q.Leaf {
			want.am, want.active = records.Resource{}, 0
		}
		if q.Live && has != want {
			return fmt.Errorf("queue %s has %+v, its applications %+v", q.Cfg.Path, has, want)
		}
	}
	return nil
}

func (s *Core) checkRankings() error {
	for h := range s.Queues {
		if q := &s.Queues[h]; q.Live {
			if err := s.Rankings.Check(&q.Inner); err != nil {
				return fmt.Errorf("queue %s: %w", q.Cfg.Path, err)
			}
		}
	}
	for h := range s.Users {
		if u := &s.Users[h]; u.Total > 0 {
			if err := s.Rankings.Check(&u.Apps); err != nil {
				return fmt.Errorf("user %s: %w", u.Name, err)
			}
			if s.userKey(u) {
				return fmt.Errorf("user %s doesn't stand by its first application", u.Name)
			}
			if own := s.Rankings.Own(u.el); own != s.Rankings.Offers(&u.Apps) {
				return fmt.Errorf("user %s shows %b of %b", u.Name, own, s.Rankings.Offers(&u.Apps))
			}
		}
	}
	for h := range s.Apps {
		if a := &s.Apps[h]; a.Live {
			if err := s.checkDemands(a); err != nil {
				return fmt.Errorf("application %d: %w", h, err)
			}
		}
		if a := &s.Apps[h]; a.Live && a.Active && s.Rankings.Own(a.El) != s.maskOf(a) {
			return fmt.Errorf("application %d shows %b of %b", h, s.Rankings.Own(a.El), s.maskOf(a))
		}
	}
	return nil
}

// checkDemands looks for demands of an application that are out of order, or hidden, and for sums over them that are wrong.
func (s *Core) checkDemands(a *App) error {
	places := int32(0)
	for d := range s.Demands(a) {
		places += int32(len(d.Places))
	}
	if places != a.places {
		return fmt.Errorf("%d rows for places; the sum says %d", places, a.places)
	}
	return s.Demanded.Check(&a.Set)
}
