package scheduler

import (
	"iter"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
)

// An application's demands stand in an order of their own, the most urgent first: there may be tens of thousands, of which each event
// concerns a few. What they have to offer is summed up as it is for queues and users, so that finding, entering and passing over
// demands takes the time of a search in a tree.

// demands returns an application's demands, the most urgent first. None may be entered or taken out meanwhile.
func (s *Scheduler) demands(a *app) iter.Seq[*demand] {
	return func(yield func(*demand) bool) {
		s.lines.All(&a.demands, func(i int32) bool {
			s.passed++
			return yield(s.demandOf[i])
		})
	}
}

// firstDemand returns an application's most urgent demand that may be tried and is of one of some classes, or nil. Most applications
// have just one.
func (s *Scheduler) firstDemand(a *app, of order.Mask) *demand {
	if d := a.sole; d != nil {
		if d.offers()&of == 0 {
			return nil
		}
		return d
	}
	return s.demandAt(s.lines.First(&a.demands, of))
}

// nextDemand returns the next such one behind a demand, or nil.
func (s *Scheduler) nextDemand(a *app, d *demand, of order.Mask) *demand {
	if a.sole != nil {
		return nil
	}
	return s.demandAt(s.lines.Next(d.el, of))
}

func (s *Scheduler) demandAt(i int32) *demand {
	if i == order.Nothing {
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
	return s.demandAt(s.lines.Search(&a.demands, func(i int32) int { return s.demandOf[i].compare(priority, requestID) }))
}

// addDemand enters a demand for which there is no row yet.
func (s *Scheduler) addDemand(h handle.App, a *app, priority int32, requestID int64) *demand {
	i := s.lines.TakeBare(int32(h))
	d := &demand{app: h, priority: priority, requestID: requestID, relaxAny: true, el: i}
	if int(i) == len(s.demandOf) {
		s.demandOf = append(s.demandOf, nil)
	}
	s.demandOf[i] = d
	*s.lines.Key(i) = order.Key{Priority: ^priority, Seq: requestID} // lower numbers first
	s.lines.Enter(&a.demands, i)
	if a.requests++; a.requests == 1 {
		a.sole = d
	} else {
		a.sole = nil
	}
	return d
}

// dropDemand forgets a demand of which nothing is left.
func (s *Scheduler) dropDemand(a *app, d *demand) {
	s.lines.Leave(&a.demands, d.el)
	s.releaseDemand(a, d)
	if a.sole = nil; a.requests == 1 {
		a.sole = s.demandOf[s.lines.Front(&a.demands)]
	}
}

// dropDemands forgets all demands of an application.
func (s *Scheduler) dropDemands(a *app) {
	for d := range s.demands(a) {
		s.releaseDemand(a, d)
	}
	a.demands.Clear()
	a.sole = nil
}

func (s *Scheduler) releaseDemand(a *app, d *demand) {
	if d.classed {
		s.classes.Drop(d.class)
		d.classed = false
	}
	if d.why == behindOwn {
		a.blocked--
	}
	d.gone = true
	a.requests--
	a.places -= int32(len(d.places))
	s.demandOf[d.el] = nil
	s.lines.Give(d.el)
}

// offers is the class of a demand that may be tried, as a mask.
func (d *demand) offers() order.Mask {
	if d.pending > 0 && d.why == untried {
		return 1 << d.class
	}
	return 0
}

// show takes into account what a demand has to offer now.
func (s *Scheduler) show(d *demand) { s.lines.SetMask(d.el, d.offers()) }

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
func (s *Scheduler) maskOf(a *app) order.Mask {
	if !a.active {
		return 0
	}
	if d := a.sole; d != nil {
		return d.offers()
	}
	return s.lines.Offers(&a.demands)
}

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (s *Scheduler) Requests(h handle.App) (requests, places int) {
	a := &s.apps[h]
	return int(a.requests), int(a.places)
}

// RequestsWith returns what Requests would return, at most, if asks were entered.
func (s *Scheduler) RequestsWith(h handle.App, asks []Ask) (requests, places int) {
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
		if name, named := s.names.Find(ask.Name); named && d != nil && d.place(name) != nil {
			continue
		}
		if _, twice := rows[row{of, ask.Name}]; !twice {
			rows[row{of, ask.Name}] = struct{}{}
			places++
		}
	}
	return requests, places
}
