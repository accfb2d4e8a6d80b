package core

import (
	"iter"

	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
)

// Names of package demand that callers of the core need.
type (
	Demand   = demand.Demand
	Ask      = demand.Ask
	Locality = demand.Locality
)

// Any is the resource name of an ask for any node.
const Any = demand.Any

// Localities, best first.
const (
	NodeLocal = demand.NodeLocal
	RackLocal = demand.RackLocal
	OffSwitch = demand.OffSwitch
)

// Demands returns an application's demands, the most urgent first. None may be entered or taken out meanwhile.
func (s *Core) Demands(a *App) iter.Seq[*Demand] { return s.Demanded.All(&a.Set) }

// update enters a row.
func (s *Core) update(h handle.App, a *App, ask *Ask) {
	d := s.Demanded.Find(&a.Set, ask.Priority, ask.AllocationRequestID)
	if d == nil {
		if ask.Count == 0 {
			return
		}
		d = s.Demanded.Add(h, &a.Set, ask.Priority, ask.AllocationRequestID)
	} else if d.Repeats(ask) {
		return // it would be searched for in vain
	}
	s.Calc.AddTimes(&a.PendingSum, &d.Capability, -int64(d.Pending))
	if ask.Count > 0 {
		if d.Capability != ask.Capability {
			s.trim(d, 0)
		}
		d.Resize(ask.Capability, s.Calc.Measure(ask.Capability), &s.Classes)
		d.Execution = ask.ExecutionType
		if work := nodeset.WorkOf(ask.Work); work != d.Work {
			s.trim(d, 0)
			d.Work = work
		}
	}
	if ask.Name == Any {
		a.askFor(int64(ask.Count - d.Pending))
		d.Pending, d.RelaxAny, d.Stays = ask.Count, ask.RelaxLocality, ask.Stays
		d.Constrain(ask.Scheduling, s.Placing)
	} else {
		s.updatePlace(d, ask)
	}
	s.Calc.AddTimes(&a.PendingSum, &d.Capability, int64(d.Pending))
	d.TryAnew()
	s.setWhy(d, demand.Untried)
	s.Demanded.Show(d)
	s.trim(d, d.Pending)
	if d.Idle() {
		s.dropDemand(a, d)
	}
}

func (s *Core) updatePlace(d *Demand, ask *Ask) {
	name := s.Nodes.Intern(ask.Name)
	if d.Prefer(name, ask.Count, ask.RelaxLocality) {
		s.Apps[d.App].places++
	}
	s.awaited.Grow(s.Nodes.Names.Numbers())
	s.awaited.Await(name, d)
}

// dropDemand forgets a demand of which nothing is left.
func (s *Core) dropDemand(a *App, d *Demand) {
	a.places -= int32(len(d.Places))
	s.Demanded.Drop(&a.Set, d, &s.Classes)
	s.Unmet.Look(s.Now, s.WakeAt) // which forgets it
}

// setWhy says what keeps a demand from being tried again.
func (s *Core) setWhy(d *Demand, w demand.Blocked) { s.Demanded.SetWhy(&s.Apps[d.App].Set, d, w) }

// maskOf returns the classes of which an application could take a container now.
func (s *Core) maskOf(a *App) ranking.Mask {
	if !a.Active {
		return 0
	}
	return s.Demanded.Offers(&a.Set)
}

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (s *Core) Requests(h handle.App) (requests, places int) {
	a := &s.Apps[h]
	return int(a.Requests), int(a.places)
}
