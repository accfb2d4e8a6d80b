package core

import (
	"heddle/rm/scheduler/demand"
	"heddle/yarn/records"
)

// park keeps a demand from being tried until something changes.
func (s *Core) park(d *Demand, w demand.Blocked) {
	s.setWhy(d, w)
	if w == demand.OverLimit {
		s.unblock(&s.Apps[d.App])
	}
	if s.parked.Add(d); w == demand.Unmet {
		s.Unmet.Add(d, s.Now, s.WakeAt)
	}
	s.settle(d.App)
}

// Unpark lets a demand be tried again.
func (s *Core) Unpark(d *Demand) {
	s.setWhy(d, demand.Untried)
	s.settle(d.App)
}

// wakePlace lets the demands that prefer a host, or rack, be tried there again.
func (s *Core) wakePlace(name int32, host bool) { s.awaited.Wake(name, host, s.Unpark) }

// unparkFitting lets parked demands be tried again that fit into what a node has free.
func (s *Core) unparkFitting(free *records.Resource) {
	if s.parked.Empty() {
		return
	}
	s.parked.Wake(func(d *Demand) bool { return d.Why == demand.NoRoom && d.Size.FitsIn(*free) }, s.Unpark)
}

// unparkLimited lets demands be tried again that were held by a queue's maximum.
func (s *Core) unparkLimited() {
	if !s.parked.Empty() {
		s.parked.Wake(func(d *Demand) bool { return d.Why == demand.OverLimit }, s.Unpark)
	}
}
