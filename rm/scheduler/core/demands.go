package core

import (
	"iter"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
)

// An application's demands stand in an order of their own, the most urgent first: there may be tens of thousands, of which each event
// concerns a few. What they have to offer is summed up as it is for queues and users, so that finding, entering and passing over
// demands takes the time of a search in a tree.

// Demands returns an application's demands, the most urgent first. None may be entered or taken out meanwhile.
func (s *Core) Demands(a *App) iter.Seq[*Demand] {
	return func(yield func(*Demand) bool) {
		s.Demanded.All(&a.Demands, func(i int32) bool {
			s.Passed++
			return yield(s.DemandOf[i])
		})
	}
}

// FirstDemand returns an application's most urgent demand that may be tried and is of one of some classes, or nil. Most applications
// have just one.
func (s *Core) FirstDemand(a *App, of order.Mask) *Demand {
	if d := a.Sole; d != nil {
		if d.offers()&of == 0 {
			return nil
		}
		return d
	}
	return s.demandAt(s.Demanded.First(&a.Demands, of))
}

// NextDemand returns the next such one behind a demand, or nil.
func (s *Core) NextDemand(a *App, d *Demand, of order.Mask) *Demand {
	if a.Sole != nil {
		return nil
	}
	return s.demandAt(s.Demanded.Next(d.El, of))
}

func (s *Core) demandAt(i int32) *Demand {
	if i == order.Nothing {
		return nil
	}
	return s.DemandOf[i]
}

// findDemand returns the demand of a priority and allocation request id, or nil.
func (s *Core) findDemand(a *App, priority int32, requestID int64) *Demand {
	if d := a.Sole; d != nil {
		if d.Compare(priority, requestID) != 0 {
			return nil
		}
		return d
	}
	return s.demandAt(s.Demanded.Search(&a.Demands, func(i int32) int { return s.DemandOf[i].Compare(priority, requestID) }))
}

// addDemand enters a demand for which there is no row yet.
func (s *Core) addDemand(h handle.App, a *App, priority int32, requestID int64) *Demand {
	i := s.Demanded.TakeBare(int32(h))
	d := &Demand{App: h, Priority: priority, RequestID: requestID, RelaxAny: true, El: i}
	if int(i) == len(s.DemandOf) {
		s.DemandOf = append(s.DemandOf, nil)
	}
	s.DemandOf[i] = d
	*s.Demanded.Key(i) = order.Key{Priority: ^priority, Seq: requestID} // lower numbers first
	s.Demanded.Enter(&a.Demands, i)
	if a.Requests++; a.Requests == 1 {
		a.Sole = d
	} else {
		a.Sole = nil
	}
	return d
}

// dropDemand forgets a demand of which nothing is left.
func (s *Core) dropDemand(a *App, d *Demand) {
	s.Demanded.Leave(&a.Demands, d.El)
	s.releaseDemand(a, d)
	if a.Sole = nil; a.Requests == 1 {
		a.Sole = s.DemandOf[s.Demanded.Front(&a.Demands)]
	}
}

// dropDemands forgets all demands of an application.
func (s *Core) dropDemands(a *App) {
	for d := range s.Demands(a) {
		s.releaseDemand(a, d)
	}
	a.Demands.Clear()
	a.Sole = nil
}

func (s *Core) releaseDemand(a *App, d *Demand) {
	if d.classed {
		s.Classes.Drop(d.Class)
		d.classed = false
	}
	if d.Why.counts() {
		a.Blocked--
	}
	d.gone = true
	a.Requests--
	a.places -= int32(len(d.Places))
	s.DemandOf[d.El] = nil
	s.Demanded.Give(d.El)
}

// offers is the class of a demand that may be tried, as a mask.
func (d *Demand) offers() order.Mask {
	if d.Pending > 0 && d.Why == Untried {
		return 1 << d.Class
	}
	return 0
}

// show takes into account what a demand has to offer now.
func (s *Core) show(d *Demand) { s.Demanded.SetMask(d.El, d.offers()) }

// counts reports whether a demand counts in App.Blocked.
func (w Blocked) counts() bool { return w == BehindOwn || w == Waits }

// setWhy says what keeps a demand from being tried again.
func (s *Core) setWhy(d *Demand, w Blocked) {
	if d.Why == w {
		return
	}
	a := &s.Apps[d.App]
	if d.Why.counts() {
		a.Blocked--
	}
	if d.Why = w; w.counts() {
		a.Blocked++
	}
	s.show(d)
}

// maskOf is the classes of which an application could take a container now.
func (s *Core) maskOf(a *App) order.Mask {
	if !a.Active {
		return 0
	}
	if d := a.Sole; d != nil {
		return d.offers()
	}
	return s.Demanded.Offers(&a.Demands)
}

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (s *Core) Requests(h handle.App) (requests, places int) {
	a := &s.Apps[h]
	return int(a.Requests), int(a.places)
}

// RequestsWith returns what Requests would return, at most, if asks were entered.
func (s *Core) RequestsWith(h handle.App, asks []Ask) (requests, places int) {
	type id struct {
		priority int32
		request  int64
	}
	type row struct {
		id
		name string
	}
	requests, places = s.Requests(h)
	known, rows := map[id]*Demand{}, map[row]struct{}{}
	for i := range asks {
		ask := &asks[i]
		if ask.Count == 0 {
			continue
		}
		of := id{ask.Priority, ask.AllocationRequestID}
		d, seen := known[of]
		if !seen {
			if d = s.findDemand(&s.Apps[h], of.priority, of.request); d == nil {
				requests++
			}
			known[of] = d
		}
		if ask.Name == Any {
			continue
		}
		if name, named := s.Nodes.Names.Find(ask.Name); named && d != nil && d.place(name) != nil {
			continue
		}
		if _, twice := rows[row{of, ask.Name}]; !twice {
			rows[row{of, ask.Name}] = struct{}{}
			places++
		}
	}
	return requests, places
}
