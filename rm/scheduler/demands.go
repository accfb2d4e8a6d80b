package scheduler

import (
	"iter"
)

// An application's demands stand in an order of their own, the most urgent first: there may be tens of thousands, of which each event
// concerns a few. What they have to offer is summed up as it is for queues and users, so that finding, entering and passing over
// demands takes the time of a search in a tree.

// demands returns an application's demands, the most urgent first. None may be entered or taken out meanwhile.
func (s *Scheduler) demands(a *app) iter.Seq[*demand] {
	return func(yield func(*demand) bool) {
		s.lines.all(&a.demands, func(i int32) bool {
			s.passed++
			return yield(s.demandOf[i])
		})
	}
}

// firstDemand returns an application's most urgent demand that may be tried and is of one of some classes, or nil. Most applications
// have just one.
func (s *Scheduler) firstDemand(a *app, of mask) *demand {
	if d := a.sole; d != nil {
		if d.offers()&of == 0 {
			return nil
		}
		return d
	}
	return s.demandAt(s.lines.first(&a.demands, of))
}

// nextDemand returns the next such one behind a demand, or nil.
func (s *Scheduler) nextDemand(a *app, d *demand, of mask) *demand {
	if a.sole != nil {
		return nil
	}
	return s.demandAt(s.lines.next(d.el, of))
}

func (s *Scheduler) demandAt(i int32) *demand {
	if i == nothing {
		return nil
	}
	return s.demandOf[i]
}

// findDemand returns the demand of a priority and allocation request id, or nil.
func (s *Scheduler) findDemand(a *app, priority int32, requestID int64) *demand {
	if d := a.sole; d != nil {
		if d.compare(priority, requestID) != 0 {
			return nil
		}
		return d
	}
	for i := a.demands.root; i != nothing; {
		d := s.demandOf[i]
		switch c := d.compare(priority, requestID); {
		case c == 0:
			return d
		case c > 0:
			i = s.lines.at[i].left
		default:
			i = s.lines.at[i].right
		}
	}
	return nil
}

// addDemand enters a demand for which there is no row yet.
func (s *Scheduler) addDemand(h AppHandle, a *app, priority int32, requestID int64) *demand {
	i := s.lines.takeBare(int32(h))
	d := &demand{app: h, priority: priority, requestID: requestID, relaxAny: true, el: i}
	if int(i) == len(s.demandOf) {
		s.demandOf = append(s.demandOf, nil)
	}
	s.demandOf[i] = d
	s.lines.at[i].key = key{priority: ^priority, seq: requestID} // lower numbers first
	s.lines.enter(&a.demands, i)
	if a.requests++; a.requests == 1 {
		a.sole = d
	} else {
		a.sole = nil
	}
	return d
}

// dropDemand forgets a demand of which nothing is left.
func (s *Scheduler) dropDemand(a *app, d *demand) {
	s.lines.leave(&a.demands, d.el)
	s.releaseDemand(a, d)
	if a.sole = nil; a.requests == 1 {
		a.sole = s.demandOf[a.demands.root]
	}
}

// dropDemands forgets all demands of an application.
func (s *Scheduler) dropDemands(a *app) {
	for d := range s.demands(a) {
		s.releaseDemand(a, d)
	}
	a.demands.root, a.sole = nothing, nil
}

func (s *Scheduler) releaseDemand(a *app, d *demand) {
	if d.classed {
		s.classes.drop(d.class)
		d.classed = false
	}
	if d.why == behindOwn {
		a.blocked--
	}
	d.gone = true
	a.requests--
	a.places -= int32(len(d.places))
	s.demandOf[d.el] = nil
	s.lines.give(d.el)
}

// offers is the class of a demand that may be tried, as a mask.
func (d *demand) offers() mask {
	if d.pending > 0 && d.why == untried {
		return 1 << d.class
	}
	return 0
}

// show takes into account what a demand has to offer now.
func (s *Scheduler) show(d *demand) { s.lines.setMask(d.el, d.offers()) }

// setWhy says what keeps a demand from being tried again.
func (s *Scheduler) setWhy(d *demand, w why) {
	if d.why == w {
		return
	}
	a := &s.apps[d.app]
	if d.why == behindOwn {
		a.blocked--
	}
	if d.why = w; w == behindOwn {
		a.blocked++
	}
	s.show(d)
}

// maskOf is the classes of which an application could take a container now.
func (s *Scheduler) maskOf(a *app) mask {
	if !a.active {
		return 0
	}
	if d := a.sole; d != nil {
		return d.offers()
	}
	return s.lines.subOf(a.demands.root)
}

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (s *Scheduler) Requests(h AppHandle) (requests, places int) {
	a := &s.apps[h]
	return int(a.requests), int(a.places)
}

// RequestsWith returns what Requests would return, at most, if asks were entered.
func (s *Scheduler) RequestsWith(h AppHandle, asks []Ask) (requests, places int) {
	type id struct {
		priority int32
		request  int64
	}
	type row struct {
		id
		name string
	}
	requests, places = s.Requests(h)
	known, rows := map[id]*demand{}, map[row]struct{}{}
	for i := range asks {
		ask := &asks[i]
		if ask.Count == 0 {
			continue
		}
		of := id{ask.Priority, ask.AllocationRequestID}
		d, seen := known[of]
		if !seen {
			if d = s.findDemand(&s.apps[h], of.priority, of.request); d == nil {
				requests++
			}
			known[of] = d
		}
		if ask.Name == Any {
			continue
		}
		if name, named := s.names[ask.Name]; named && d != nil && d.place(name) != nil {
			continue
		}
		if _, twice := rows[row{of, ask.Name}]; !twice {
			rows[row{of, ask.Name}] = struct{}{}
			places++
		}
	}
	return requests, places
}
