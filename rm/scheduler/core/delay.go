package core

import (
	"heddle/rm/scheduler/demand"
)

// Delays is for how long a demand waits for its hosts before it takes a node of its racks, and before it takes any, in ms
// since a worse node first had room for it.
//
// YARN counts chances that were let pass, at most one for each node in an interval of heartbeats; here nothing hangs on
// heartbeats, and k chances of N nodes are the time in which they would have come, k/N intervals.
func (s *Core) Delays(d *Demand) (rack, anywhere int64) {
	if !d.Choosy || s.Nodes.OpenNodes() == 0 {
		return 0, 0
	}
	return s.Policy.Delays(d)
}

// hopes reports whether a node takes containers that is better placed than the rest: on a preferred host or, with racks, in a
// preferred rack. Where there is none, waiting would be in vain.
func (s *Core) hopes(a *App, d *Demand, racks bool) bool {
	if d.Vain == s.Nodes.Places+1 {
		return false // looked for already, since nodes, rows or blacklist have changed
	}
	for i := range d.Places {
		p := &d.Places[i]
		if p.Count == 0 {
			continue
		}
		for _, nh := range s.Nodes.Sites[p.Name].Nodes {
			if n := &s.Nodes.At[nh]; !a.Bars(d, n) {
				return true
			}
		}
		if r := s.Nodes.Sites[p.Name].Rack; racks && r != nil && p.Relax {
			return true
		}
	}
	if racks {
		d.Vain = s.Nodes.Places + 1
	}
	return false
}

// delayed reports whether a demand must wait before it takes a node that is placed worse, and parks it then.
func (s *Core) delayed(a *App, d *Demand, delay int64, racks bool) bool {
	if delay <= 0 || !s.hopes(a, d, racks) {
		return false
	}
	if d.Since == 0 {
		d.Since = s.Now
		if s.Now == 0 {
			d.Since = -1
		}
	}
	until := d.Since + delay
	if s.Now >= until {
		return false
	}
	s.waitUntil(d, until)
	s.park(d, demand.NoPlace)
	return true
}

// waitUntil has a demand that is parked be tried again at a time.
func (s *Core) waitUntil(d *Demand, until int64) {
	s.timed.Add(d, until)
	s.WakeAt(until)
}

// wakeLate lets the demands be tried again whose delay is over.
func (s *Core) wakeLate() { s.timed.Wake(s.Now, s.Unpark, s.WakeAt) }

// placedAt starts the delay again after a container that was placed well.
func (s *Core) placedAt(d *Demand, level Locality) {
	switch {
	case level == NodeLocal || level == RackLocal && s.Rules.RackResets:
		d.Since = 0
	case level == RackLocal && d.Since != 0:
		rack, _ := s.Delays(d)
		d.Since = s.Now - rack
	}
}
