package scheduler

import "heddle/yarn/records"

// Schedule places what can be placed since the events that were entered after the last call, and returns the decisions.
// The slice is good until the next call.
//
// Nodes with new room are offered first, to all applications in their order; then new asks are tried on all nodes. Either
// way an application's demands are served by priority, each where it is preferred first, then in the preferred racks,
// then anywhere.
func (s *Scheduler) Schedule() []Allocation {
	s.out = s.out[:0]
	for _, h := range s.dirtyNodes {
		s.nodes[h].dirty = false
		s.offer(h)
	}
	s.dirtyNodes = s.dirtyNodes[:0]
	for _, h := range s.dirtyApps {
		s.apps[h].dirty = false
		if s.apps[h].live {
			s.serve(h)
		}
	}
	s.dirtyApps = s.dirtyApps[:0]
	return s.out
}

// offer gives a node's room to the waiting applications.
func (s *Scheduler) offer(h NodeHandle) {
	n := &s.nodes[h]
	for i := 0; i < len(s.waiting); {
		if !n.open || !(records.Resource{}).FitsIn(n.capability.Sub(n.used)) {
			return
		}
		ah := s.waiting[i]
		a := &s.apps[ah]
		if !a.blacklisted(n) {
			s.offerTo(ah, a, h, n)
		}
		if s.settle(ah); a.waits {
			i++
		}
	}
}

func (s *Scheduler) offerTo(ah AppHandle, a *app, h NodeHandle, n *node) {
	done := false
	for _, d := range a.demands {
		for d.pending > 0 && d.capability.FitsIn(n.capability.Sub(n.used)) {
			level, ok := d.admits(n)
			if !ok {
				break
			}
			s.allocate(ah, d, h, level)
			done = true
		}
	}
	if done {
		a.forgetServed()
	}
}

// admits reports how near a node is to where containers of the demand are preferred, and whether any may go there.
func (d *demand) admits(n *node) (Locality, bool) {
	switch {
	case d.wants(n.host) > 0:
		return NodeLocal, true
	case d.relaxes(n.rack):
		return RackLocal, true
	case d.relaxAny:
		return OffSwitch, true
	}
	return 0, false
}

func (a *app) blacklisted(n *node) bool {
	if len(a.blacklist) == 0 {
		return false
	}
	if _, on := a.blacklist[n.host]; on {
		return true
	}
	_, on := a.blacklist[n.rack]
	return on
}

// serve tries all demands of an application on all nodes.
func (s *Scheduler) serve(h AppHandle) {
	a := &s.apps[h]
	for _, d := range a.demands {
		if d.pending == 0 {
			continue
		}
		s.serveHosts(h, a, d)
		s.serveRacks(h, a, d)
		s.serveAny(h, a, d)
	}
	a.forgetServed()
	s.settle(h)
}

func (s *Scheduler) serveHosts(h AppHandle, a *app, d *demand) {
	for i := range d.places {
		p := &d.places[i]
		for _, nh := range s.hosts[p.name] {
			n := &s.nodes[nh]
			if p.count == 0 || d.pending == 0 {
				break
			}
			if !n.open || a.blacklisted(n) {
				continue
			}
			for p.count > 0 && d.pending > 0 && d.capability.FitsIn(n.capability.Sub(n.used)) {
				s.allocate(h, d, nh, NodeLocal)
			}
		}
	}
}

func (s *Scheduler) serveRacks(h AppHandle, a *app, d *demand) {
	for i := range d.places {
		p := &d.places[i]
		r := s.racks[p.name]
		if r == nil || !p.relax {
			continue
		}
		for at := 0; p.count > 0 && d.pending > 0; at++ {
			if at = r.index.next(at, d.capability); at < 0 {
				break
			}
			nh := r.nodes[at]
			if !a.blacklisted(&s.nodes[nh]) {
				s.allocate(h, d, nh, RackLocal)
			}
		}
		// a second round fills the nodes up, after the first has spread over them
		for at := 0; p.count > 0 && d.pending > 0; {
			if at = r.index.next(at, d.capability); at < 0 {
				break
			}
			if nh := r.nodes[at]; a.blacklisted(&s.nodes[nh]) {
				at++
			} else {
				s.allocate(h, d, nh, RackLocal)
			}
		}
	}
}

func (s *Scheduler) serveAny(h AppHandle, a *app, d *demand) {
	if !d.relaxAny {
		return
	}
	// searches go round the nodes from where the last one ended; a whole round without a node that takes the container ends it
	for skipped := 0; d.pending > 0 && skipped <= len(s.nodes); {
		at := s.index.next(s.cursor, d.capability)
		if at < 0 {
			if at = s.index.next(0, d.capability); at < 0 {
				return
			}
		}
		if s.cursor = at + 1; s.cursor >= len(s.nodes) {
			s.cursor = 0
		}
		if a.blacklisted(&s.nodes[at]) {
			skipped++
			continue
		}
		skipped = 0
		s.allocate(h, d, NodeHandle(at), OffSwitch)
	}
}

func (s *Scheduler) allocate(h AppHandle, d *demand, nh NodeHandle, level Locality) {
	d.served(&s.nodes[nh], level)
	s.apps[h].pending--
	s.out = append(s.out, Allocation{
		Container:           s.hold(h, nh, d.capability),
		App:                 h,
		Node:                nh,
		Resource:            d.capability,
		Priority:            d.priority,
		AllocationRequestID: d.requestID,
		ExecutionType:       d.execution,
		Locality:            level,
	})
}
