package scheduler

import (
	"slices"

	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Pending returns how many containers an application waits for.
func (s *Scheduler) Pending(h handle.App) int64 { return s.apps[h].pending }

// PendingResource is the sum of what an application waits for.
func (s *Scheduler) PendingResource(h handle.App) records.Resource { return s.apps[h].pendingSum }

// Asks returns the rows of requests that an application still waits for, by priority, the one for Any first.
func (s *Scheduler) Asks(h handle.App) []Ask {
	var rows []Ask
	for d := range s.demands(&s.apps[h]) {
		row := d.row()
		if d.pending > 0 {
			rows = append(rows, row)
		}
		for _, p := range d.places {
			if p.count > 0 {
				row.Name, row.Count, row.RelaxLocality = s.name(p.name), p.count, p.relax
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// row is the row for any node.
func (d *demand) row() Ask {
	return Ask{
		Priority: d.priority, AllocationRequestID: d.requestID, Name: Any, Capability: d.capability, Count: d.pending,
		RelaxLocality: d.relaxAny, ExecutionType: d.execution,
	}
}

// Blacklist returns the names on which an application wants no containers, sorted.
func (s *Scheduler) Blacklist(h handle.App) []string {
	return s.blacklistOf(&s.apps[h])
}

// Excluded is how many names there are on an application's blacklist.
func (s *Scheduler) Excluded(h handle.App) int { return len(s.apps[h].blacklist) }

func (s *Scheduler) blacklistOf(a *app) []string {
	var names []string
	for id := range a.blacklist {
		names = append(names, s.name(id))
	}
	slices.Sort(names)
	return names
}

// Headroom is what new asks could get at most: the free resources of all open nodes.
func (s *Scheduler) Headroom() records.Resource { return s.headroom }

// HeadroomOf is what an application could get at most: what is free, as far as the limits of its queues and its user go
// (Hadoop: AbstractLeafQueue.getHeadroom).
func (s *Scheduler) HeadroomOf(h handle.App) records.Resource {
	out, a := s.headroom, &s.apps[h]
	if s.tree.Kind == queue.FIFO {
		return out
	}
	s.refresh()
	q := &s.queues[a.leaf]
	left := s.room(a.leaf).Sub(q.used)
	if s.capacity {
		u := &s.users[a.user]
		left = left.Min(s.calc.Weighted(*s.limitOfUsers(q), u.weight).Sub(u.used))
	}
	for i := range out {
		if i == records.Memory || !s.calc.MemoryOnly {
			out[i] = max(min(out[i], left[i]), 0)
		}
	}
	return out
}

// Largest is, for each type, the most that any node that takes containers has.
func (s *Scheduler) Largest() records.Resource {
	s.measureNodes()
	return s.largest
}

func (s *Scheduler) measureNodes() {
	if !s.resized {
		return
	}
	s.resized, s.largest, s.smallest = false, records.Resource{}, records.Resource{}
	first := true
	for i := range s.nodes {
		n := &s.nodes[i]
		if !n.open {
			continue
		}
		has := *s.capability(n)
		s.largest = s.largest.Max(has)
		if s.smallest = s.smallest.Min(has); first {
			s.smallest, first = has, false
		}
	}
}

// OpenNodes counts the nodes that take containers.
func (s *Scheduler) OpenNodes() int { return s.openNodes }
