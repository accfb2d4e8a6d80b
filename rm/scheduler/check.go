package scheduler

import (
	"errors"
	"fmt"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

func (s *Scheduler) mustHold() {
	if err := s.check(); err != nil {
		panic(fmt.Sprintf("scheduler: %v", err))
	}
}

// check looks for sums that don't add up, orders that are out of order, and masks that hide something.
func (s *Scheduler) check() error {
	return errors.Join(s.checkContainers(), s.checkQueues(), s.checkOrders())
}

func (s *Scheduler) checkContainers() error {
	onNode := make([]records.Resource, len(s.nodes))
	ofApp, kept := make([]records.Resource, len(s.apps)), make([]records.Resource, len(s.apps))
	for i := range s.containers {
		c := &s.containers[i]
		switch {
		case !c.live():
			continue
		case c.reserved():
			kept[c.app] = kept[c.app].Add(*s.holds(c))
			if s.nodes[c.node].reserved != handle.Container(i) {
				return fmt.Errorf("node %d isn't kept for container %d", c.node, i)
			}
		default:
			onNode[c.node] = onNode[c.node].Add(*s.holds(c))
		}
		if s.capacity || !c.reserved() {
			ofApp[c.app] = ofApp[c.app].Add(*s.holds(c))
		}
	}
	for h := range s.nodes {
		if n := &s.nodes[h]; n.live && n.used != onNode[h] {
			return fmt.Errorf("node %d has %v, its containers %v", h, n.used, onNode[h])
		}
	}
	for h := range s.apps {
		a := &s.apps[h]
		if a.live && (a.used != ofApp[h] || a.reserved != kept[h]) {
			return fmt.Errorf("application %d has %v (%v reserved), its containers %v (%v)", h, a.used, a.reserved, ofApp[h], kept[h])
		}
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

func (s *Scheduler) checkQueues() error {
	ofQueue, ofUser := make([]sums, len(s.queues)), make([]sums, len(s.users))
	for h := range s.apps {
		a := &s.apps[h]
		if !a.live {
			continue
		}
		x := sums{used: a.used, reserved: a.reserved, total: 1, containers: a.running}
		for d := range s.demands(a) {
			x.pending = x.pending.Add(d.capability.Times(int64(d.pending)))
		}
		if x.pending != a.pendingSum {
			return fmt.Errorf("application %d waits for %v, its asks say %v", h, a.pendingSum, x.pending)
		}
		if a.active {
			x.active, x.am = 1, a.am
		}
		if a.wants {
			x.wanting = 1
		}
		ofUser[a.user] = ofUser[a.user].add(x)
		for q := a.leaf; q != order.Nothing; q = s.queues[q].parent {
			ofQueue[q] = ofQueue[q].add(x)
		}
	}
	for h := range s.users {
		u := &s.users[h]
		has := sums{used: u.used, am: u.amUsed, total: u.total, active: u.active, wanting: u.wanting}
		want := ofUser[h]
		want.reserved, want.pending, want.containers = has.reserved, has.pending, has.containers
		if u.total > 0 && has != want {
			return fmt.Errorf("user %s in %s has %+v, the applications %+v", u.name, s.queues[u.leaf].cfg.Path, has, want)
		}
	}
	for h := range s.queues {
		q := &s.queues[h]
		has := sums{q.used, q.reserved, q.pending, q.amUsed, q.total, q.active, 0, q.containers}
		want := ofQueue[h]
		if want.wanting = 0; !q.leaf {
			want.am, want.active = records.Resource{}, 0
		}
		if q.live && has != want {
			return fmt.Errorf("queue %s has %+v, its applications %+v", q.cfg.Path, has, want)
		}
	}
	return nil
}

func (s *Scheduler) checkOrders() error {
	for h := range s.queues {
		if q := &s.queues[h]; q.live && q.limitKnown && q.userLimit != s.activeUserLimit(q) {
			return fmt.Errorf("queue %s limits its users to %v, not %v", q.cfg.Path, q.userLimit, s.activeUserLimit(q))
		}
		if q := &s.queues[h]; q.live {
			if err := s.el.Check(&q.inner); err != nil {
				return fmt.Errorf("queue %s: %w", q.cfg.Path, err)
			}
		}
	}
	for h := range s.users {
		if u := &s.users[h]; u.total > 0 {
			if err := s.el.Check(&u.apps); err != nil {
				return fmt.Errorf("user %s: %w", u.name, err)
			}
			q := &s.queues[u.leaf]
			limit := s.calc.Weighted(s.activeUserLimit(q), u.weight)
			if over := s.calc.Less(&limit, &u.used); s.capacity && over != s.overUserLimit(q, u) {
				return fmt.Errorf("user %s has %v in %s and is over its limit of %v: %t", u.name, u.used, q.cfg.Path, limit, over)
			}
			if s.userKey(u) {
				return fmt.Errorf("user %s doesn't stand by its first application", u.name)
			}
			if own := s.el.Own(u.el); own != s.el.Offers(&u.apps) {
				return fmt.Errorf("user %s shows %b of %b", u.name, own, s.el.Offers(&u.apps))
			}
		}
	}
	for h := range s.apps {
		if a := &s.apps[h]; a.live {
			if err := s.checkDemands(a); err != nil {
				return fmt.Errorf("application %d: %w", h, err)
			}
		}
		if a := &s.apps[h]; a.live && a.active && s.el.Own(a.el) != s.maskOf(a) {
			return fmt.Errorf("application %d shows %b of %b", h, s.el.Own(a.el), s.maskOf(a))
		}
	}
	return nil
}

// checkDemands looks for demands of an application that are out of order, or hidden, and for sums over them that are wrong.
func (s *Scheduler) checkDemands(a *app) error {
	if err := s.lines.Check(&a.demands); err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	var last *demand
	var blocked, requests, places int32
	var offers order.Mask
	for d := range s.demands(a) {
		if last != nil && last.compare(d.priority, d.requestID) >= 0 {
			return fmt.Errorf("the request of priority %d, id %d stands before that of priority %d, id %d",
				last.priority, last.requestID, d.priority, d.requestID)
		}
		if own := s.lines.Own(d.el); own != d.offers() {
			return fmt.Errorf("the request of priority %d, id %d shows %b of %b", d.priority, d.requestID, own, d.offers())
		}
		last = d
		offers |= d.offers()
		requests, places = requests+1, places+int32(len(d.places))
		if d.why == behindOwn {
			blocked++
		}
	}
	if requests != a.requests || places != a.places || blocked != a.blocked || (a.sole != nil) != (requests == 1) {
		return fmt.Errorf("%d requests with %d rows for places, %d of them blocked; the sums say %d, %d and %d",
			requests, places, blocked, a.requests, a.places, a.blocked)
	}
	if a.active && offers != s.maskOf(a) {
		return fmt.Errorf("the requests offer %b, the sum %b", offers, s.maskOf(a))
	}
	return nil
}
