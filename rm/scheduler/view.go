package scheduler

import (
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Pending returns how many containers an application waits for.
func (s *Scheduler) Pending(h handle.App) (n int64) {
	for a := range s.partsOf(h) {
		n += a.Pending
	}
	return n
}

// PendingResource returns the sum of what an application waits for.
func (s *Scheduler) PendingResource(h handle.App) (sum records.Resource) {
	for a := range s.partsOf(h) {
		sum = sum.Add(a.PendingSum)
	}
	return sum
}

// Asks returns the rows of requests that an application still waits for, by priority, the one for Any first, those without a label first.
func (s *Scheduler) Asks(h handle.App) []core.Ask {
	var rows []core.Ask
	for i := range s.parts {
		if x := &s.parts[i]; x.core.Has(h) {
			rows = append(rows, x.asks(h)...)
		}
	}
	return rows
}

// asks returns the rows that an application waits for in a partition.
func (s *part) asks(h handle.App) (rows []core.Ask) {
	for d := range s.core.Demands(&s.core.Apps[h]) {
		if d.Guest {
			continue
		}
		row := d.Row()
		row.Label = s.label
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

// Excluded returns how many names there are on an application's blacklist.
func (s *Scheduler) Excluded(h handle.App) int { return len(s.core.Apps[h].Blacklist) }

// HeadroomOf returns what an application could get at most: what is free, as far as the limits of its queues and its user go, in the partitions in
// which it asks for something (Hadoop: CapacityHeadroomProvider.getHeadroom).
func (s *Scheduler) HeadroomOf(h handle.App) (sum records.Resource) {
	asks := false
	for i := range s.parts[1:] {
		if x := &s.parts[i+1]; x.core.Has(h) && x.core.Apps[h].Pending > 0 {
			asks, sum = true, sum.Add(x.headroomOf(h))
		}
	}
	if !asks || s.core.Apps[h].Pending > 0 {
		sum = sum.Add(s.parts[0].headroomOf(h))
	}
	return sum
}

func (s *part) headroomOf(h handle.App) records.Resource {
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

// MakeKillable marks a container to end when its room is needed: then a decision of kind Kill says so. It reports whether
// there is such a container, of capacity queues, that isn't killable already.
func (s *Scheduler) MakeKillable(h ContainerHandle) bool {
	k, ok := s.of(h).Policy.(lazyKiller)
	return ok && k.MakeKillable(h)
}

// SpareKillable clears the mark of all containers.
func (s *Scheduler) SpareKillable() {
	for i := range s.parts {
		if k, ok := s.parts[i].core.Policy.(lazyKiller); ok {
			s.parts[i].due = true
			k.SpareKillable()
		}
	}
}

func (s *part) killableSet() map[handle.Container]bool {
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
	if p, ok := s.at(h).Policy.(interface {
		Activities(handle.Node) explain.Activity
	}); ok {
		return p.Activities(h)
	}
	return explain.Activity{}
}

// Headroom returns what new asks could get at most: the free resources of all open nodes.
func (s *Scheduler) Headroom() (sum records.Resource) {
	for i := range s.parts {
		sum = sum.Add(s.parts[i].core.Nodes.Headroom())
	}
	return sum
}

// Largest is, for each type, the most that any node that takes containers has.
func (s *Scheduler) Largest() (most records.Resource) {
	for i := range s.parts {
		most = most.Max(s.parts[i].core.Nodes.Largest())
	}
	return most
}

// OpenNodes counts the nodes that take containers.
func (s *Scheduler) OpenNodes() (n int) {
	for i := range s.parts {
		n += s.parts[i].core.Nodes.OpenNodes()
	}
	return n
}

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (s *Scheduler) Requests(h handle.App) (requests, places int) {
	requests, places = s.core.Requests(h)
	for i := range s.parts[1:] {
		if c := s.parts[i+1].core; c.Has(h) {
			more, at := ownRequests(c, h)
			requests, places = requests+more, places+at
		}
	}
	return requests, places
}

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
			if _, d = s.holder(h, of.priority, of.request); d == nil {
				requests++
			}
			known[of] = d
		}
		if ask.Name == core.Any {
			continue
		}
		holder, _ := s.holder(h, of.priority, of.request)
		if name, named := s.parts[holder].core.Nodes.Names.Find(ask.Name); named && d != nil && d.Prefers(name) {
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

// Reservations returns all reservations, the oldest first in each partition.
func (s *Scheduler) Reservations() (out []Reservation) {
	for i := range s.parts {
		c := s.parts[i].core
		for _, h := range c.Reserved {
			x := &c.Containers[h]
			d := c.ReservationOf(h).Demand
			out = append(out, Reservation{
				App: x.App, Node: x.Node, Resource: *c.Holds(x), Priority: d.Priority, AllocationRequestID: d.RequestID,
			})
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

// ownRequests is Requests of a core without those of guests.
func ownRequests(c *core.Core, h AppHandle) (requests, places int) {
	for d := range c.Demands(&c.Apps[h]) {
		if !d.Guest {
			requests, places = requests+1, places+len(d.Places)
		}
	}
	return requests, places
}
