package scheduler

import (
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Pending returns how many containers an application waits for.
func (s *Scheduler) Pending(h handle.App) int64 { return s.core.Apps[h].Pending }

// PendingResource is the sum of what an application waits for.
func (s *Scheduler) PendingResource(h handle.App) records.Resource { return s.core.Apps[h].PendingSum }

// Asks returns the rows of requests that an application still waits for, by priority, the one for Any first.
func (s *Scheduler) Asks(h handle.App) []core.Ask {
	var rows []core.Ask
	for d := range s.core.Demands(&s.core.Apps[h]) {
		row := d.Row()
		if d.Pending > 0 {
			rows = append(rows, row)
		}
		for _, p := range d.Places {
			if p.Count > 0 {
				row.Name, row.Count, row.RelaxLocality = s.core.Nodes.Name(p.Name), p.Count, p.Relax
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Blacklist returns the names on which an application wants no containers, sorted.
func (s *Scheduler) Blacklist(h handle.App) []string {
	return s.core.BlacklistOf(&s.core.Apps[h])
}

// Excluded is how many names there are on an application's blacklist.
func (s *Scheduler) Excluded(h handle.App) int { return len(s.core.Apps[h].Blacklist) }

// HeadroomOf is what an application could get at most: what is free, as far as the limits of its queues and its user go
// (Hadoop: AbstractLeafQueue.getHeadroom).
func (s *Scheduler) HeadroomOf(h handle.App) records.Resource {
	s.core.Refresh()
	out, a := s.core.Nodes.Headroom(), &s.core.Apps[h]
	left := s.policy.HeadroomOf(a)
	for i := range out {
		if i == records.Memory || !s.core.Calc.MemoryOnly {
			out[i] = max(min(out[i], left[i]), 0)
		}
	}
	return out
}

// lazyKiller is a policy that lets containers that preemption has chosen live on until their room is needed.
type lazyKiller interface {
	MakeKillable(h handle.Container) bool
	SpareKillable()
	Killable() []handle.Container
}

// MakeKillable has a container end when its room is needed: then a decision of kind Kill says so. It reports whether there is
// such a container, of capacity queues, that isn't killable already.
func (s *Scheduler) MakeKillable(h ContainerHandle) bool {
	k, ok := s.core.Policy.(lazyKiller)
	return ok && k.MakeKillable(h)
}

// SpareKillable has no container be killable any more.
func (s *Scheduler) SpareKillable() {
	if k, ok := s.core.Policy.(lazyKiller); ok {
		k.SpareKillable()
	}
}

func (s *Scheduler) killableSet() map[handle.Container]bool {
	set := map[handle.Container]bool{}
	if k, ok := s.core.Policy.(lazyKiller); ok {
		for _, h := range k.Killable() {
			set[h] = true
		}
	}
	return set
}

// Activities tells what each queue, application and request that is looked at comes to where containers are given out on a
// node now. Only capacity queues are told of.
func (s *Scheduler) Activities(h NodeHandle) explain.Activity {
	if p, ok := s.core.Policy.(interface {
		Activities(handle.Node) explain.Activity
	}); ok {
		return p.Activities(h)
	}
	return explain.Activity{}
}

// Headroom is what new asks could get at most: the free resources of all open nodes.
func (s *Scheduler) Headroom() records.Resource { return s.core.Nodes.Headroom() }

// Largest is, for each type, the most that any node that takes containers has.
func (s *Scheduler) Largest() records.Resource { return s.core.Nodes.Largest() }

// OpenNodes counts the nodes that take containers.
func (s *Scheduler) OpenNodes() int { return s.core.Nodes.OpenNodes() }

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (s *Scheduler) Requests(h handle.App) (requests, places int) { return s.core.Requests(h) }

// RequestsWith returns what Requests would return, at most, if asks were entered.
func (s *Scheduler) RequestsWith(h handle.App, asks []core.Ask) (requests, places int) {
	type id struct {
		priority int32
		request  int64
	}
	type row struct {
		id
		name string
	}
	requests, places = s.Requests(h)
	known, rows := map[id]*core.Demand{}, map[row]struct{}{}
	for i := range asks {
		ask := &asks[i]
		if ask.Count == 0 {
			continue
		}
		of := id{ask.Priority, ask.AllocationRequestID}
		d, seen := known[of]
		if !seen {
			if d = s.core.Demanded.Find(&s.core.Apps[h].Set, of.priority, of.request); d == nil {
				requests++
			}
			known[of] = d
		}
		if ask.Name == core.Any {
			continue
		}
		if name, named := s.core.Nodes.Names.Find(ask.Name); named && d != nil && d.Prefers(name) {
			continue
		}
		if _, twice := rows[row{of, ask.Name}]; !twice {
			rows[row{of, ask.Name}] = struct{}{}
			places++
		}
	}
	return requests, places
}

// TakesApps reports whether a path is that of a leaf, or of one that can be made, as no queue with applications in it is in its way.
func (s *Scheduler) TakesApps(path string) bool { return s.core.TakesApps(path) }

// Reservations returns all reservations, the oldest first.
func (s *Scheduler) Reservations() []Reservation {
	out := make([]Reservation, len(s.core.Reserved))
	for i, c := range s.core.Reserved {
		x := &s.core.Containers[c]
		d := s.core.ReservationOf(c).Demand
		out[i] = Reservation{
			App: x.App, Node: x.Node, Resource: *s.core.Holds(x), Priority: d.Priority, AllocationRequestID: d.RequestID,
		}
	}
	return out
}

// Reservation is a node that is reserved for a container of an application.
type Reservation struct {
	App      handle.App
	Node     handle.Node
	Resource records.Resource
	// Priority and AllocationRequestID tell for which of the application's requests.
	Priority            int32
	AllocationRequestID int64
}
