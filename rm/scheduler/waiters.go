package scheduler

import (
	"slices"

	"heddle/yarn/records"
)

// await enters a demand among those that prefer a host or rack, after forgetting those that don't any more.
func (s *Scheduler) await(name int32, d *demand) {
	site := &s.sites[name]
	if len(site.waiters) >= max(site.full, minWaiters) {
		site.waiters = slices.DeleteFunc(site.waiters, func(d *demand) bool {
			if d.gone {
				return true
			}
			p := d.place(name)
			p.waits = p.count > 0
			return !p.waits
		})
		site.full = 2 * len(site.waiters)
	}
	site.waiters = append(site.waiters, d)
	s.awaited[name] = true
}

// minWaiters is the number of demands below which forgetting some isn't worth it.
const minWaiters = 8

// wake lets the demands that prefer a host, or rack, be tried there again.
func (s *Scheduler) wake(name int32, host bool) {
	list := s.sites[name].waiters
	left := list[:0]
	for _, d := range list {
		if d.gone {
			continue
		}
		left = append(left, d)
		if host {
			d.hosts = true
		} else {
			d.racks = true
		}
		if d.why == noPlace || d.why == behindOwn {
			s.unpark(d)
		}
	}
	clear(list[len(left):])
	s.sites[name].waiters, s.awaited[name] = left, len(left) > 0
}

// park keeps a demand from being tried until something changes.
func (s *Scheduler) park(d *demand, w why) {
	s.setWhy(d, w)
	if w == overLimit {
		s.unblock(&s.apps[d.app])
	}
	if w != noPlace && w != behindOwn && !d.listed {
		d.listed = true
		s.parked = append(s.parked, d)
	}
	s.settle(d.app)
}

func (s *Scheduler) unpark(d *demand) {
	s.setWhy(d, untried)
	s.settle(d.app)
}

// unparkFitting lets parked demands be tried again that fit into what a node has free.
func (s *Scheduler) unparkFitting(free *records.Resource) {
	if len(s.parked) == 0 {
		return
	}
	s.unparkIf(func(d *demand) bool { return d.why == noRoom && d.size.FitsIn(*free) })
}

// unparkLimited lets demands be tried again that were held by a queue's maximum.
func (s *Scheduler) unparkLimited() {
	if len(s.parked) > 0 {
		s.unparkIf(func(d *demand) bool { return d.why == overLimit })
	}
}

// unparkIf lets the parked demands be tried again for which a condition holds.
func (s *Scheduler) unparkIf(may func(*demand) bool) {
	list := s.parked
	s.parked = s.parked[:0]
	for _, d := range list {
		switch {
		case d.gone || d.why == untried || d.why == noPlace || d.why == behindOwn:
			d.listed = false
		case may(d):
			d.listed = false
			s.unpark(d)
		default:
			s.parked = append(s.parked, d)
		}
	}
	clear(list[len(s.parked):])
}
