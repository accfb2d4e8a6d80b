package core

import (
	"slices"

	"heddle/yarn/records"
)

// waiters are the demands that prefer a host or rack.
type waiters struct {
	list []*Demand
	full int // so many that those that wait no more are to be forgotten
}

// growWaiting makes room for waiters at names that are new.
func (s *Core) growWaiting() {
	for len(s.waiting) < s.Nodes.Names.Numbers() {
		s.waiting, s.awaited = append(s.waiting, waiters{}), append(s.awaited, false)
	}
}

// await enters a demand among those that prefer a host or rack, after forgetting those that don't any more.
func (s *Core) await(name int32, d *Demand) {
	s.growWaiting()
	site := &s.waiting[name]
	if len(site.list) >= max(site.full, minWaiters) {
		site.list = slices.DeleteFunc(site.list, func(d *Demand) bool {
			if d.gone {
				return true
			}
			p := d.place(name)
			p.waits = p.Count > 0
			return !p.waits
		})
		site.full = 2 * len(site.list)
	}
	site.list = append(site.list, d)
	s.awaited[name] = true
}

// minWaiters is the number of demands below which forgetting some isn't worth it.
const minWaiters = 8

// wakePlace lets the demands that prefer a host, or rack, be tried there again.
func (s *Core) wakePlace(name int32, host bool) {
	list := s.waiting[name].list
	left := list[:0]
	for _, d := range list {
		if d.gone {
			continue
		}
		left = append(left, d)
		if host {
			d.Hosts = true
		} else {
			d.Racks = true
		}
		if d.Why == NoPlace || d.Why == BehindOwn {
			s.Unpark(d)
		}
	}
	clear(list[len(left):])
	s.waiting[name].list, s.awaited[name] = left, len(left) > 0
}

// park keeps a demand from being tried until something changes.
func (s *Core) park(d *Demand, w Blocked) {
	s.setWhy(d, w)
	if w == OverLimit {
		s.unblock(&s.Apps[d.App])
	}
	if w != NoPlace && !w.counts() && !d.listed {
		d.listed = true
		s.parked = append(s.parked, d)
	}
	s.settle(d.App)
}

func (s *Core) Unpark(d *Demand) {
	s.setWhy(d, Untried)
	s.settle(d.App)
}

// unparkFitting lets parked demands be tried again that fit into what a node has free.
func (s *Core) unparkFitting(free *records.Resource) {
	if len(s.parked) == 0 {
		return
	}
	s.unparkIf(func(d *Demand) bool { return d.Why == NoRoom && d.Size.FitsIn(*free) })
}

// unparkLimited lets demands be tried again that were held by a queue's maximum.
func (s *Core) unparkLimited() {
	if len(s.parked) > 0 {
		s.unparkIf(func(d *Demand) bool { return d.Why == OverLimit })
	}
}

// unparkIf lets the parked demands be tried again for which a condition holds.
func (s *Core) unparkIf(may func(*Demand) bool) {
	list := s.parked
	s.parked = s.parked[:0]
	for _, d := range list {
		switch {
		case d.gone || d.Why == Untried || d.Why == NoPlace || d.Why.counts():
			d.listed = false
		case may(d):
			d.listed = false
			s.Unpark(d)
		default:
			s.parked = append(s.parked, d)
		}
	}
	clear(list[len(s.parked):])
}
