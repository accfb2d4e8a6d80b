package scheduler

import (
	"fmt"
	"slices"
	"time"

	"heddle/rm/queue"
)

// delays is for how long a demand waits for its hosts before it takes a node of its racks, and before it takes any, in ms
// since a worse node first had room for it.
//
// YARN counts chances that were let pass, at most one for each node in an interval of heartbeats; here nothing hangs on
// heartbeats, and k chances of N nodes are the time in which they would have come, k/N intervals.
func (s *Scheduler) delays(d *demand) (rack, anywhere int64) {
	if !d.choosy || s.openNodes == 0 {
		return 0, 0
	}
	set := &s.tree.Settings
	beat, nodes := float64(s.cfg.Heartbeat.Milliseconds()), float64(s.openNodes)
	switch s.tree.Kind {
	case queue.Capacity: // Hadoop: RegularContainerAllocator.canAssign
		first := float64(max(set.NodeLocalityDelay, 0))
		rack = int64(beat * min(first, nodes) / nodes)
		chances := first + float64(set.RackLocalityDelay)
		if set.RackLocalityDelay < 0 {
			chances = float64(d.pending) * min(float64(len(d.places))/nodes, 1)
		}
		return rack, int64(beat * min(chances, nodes) / nodes)
	case queue.Fair: // Hadoop: FSAppAttempt.getAllowedLocalityLevel and its sibling by time
		f := &set.Fair
		rack = fairDelay(beat, f.NodeThreshold, f.NodeDelay)
		return rack, rack + fairDelay(beat, f.RackThreshold, f.RackDelay)
	}
	return 0, 0
}

func fairDelay(beat, threshold float64, delay time.Duration) int64 {
	if threshold >= 0 {
		return int64(beat * min(threshold, 1))
	}
	return max(delay.Milliseconds(), 0)
}

// hopes reports whether a node takes containers that is better placed than the rest: on a preferred host or, with racks, in a
// preferred rack. Where there is none, waiting would be in vain.
func (s *Scheduler) hopes(a *app, d *demand, racks bool) bool {
	if d.vain == s.places+1 {
		return false // looked for already, since nodes, rows or blacklist have changed
	}
	for i := range d.places {
		p := &d.places[i]
		if p.count == 0 {
			continue
		}
		for _, nh := range s.sites[p.name].nodes {
			if n := &s.nodes[nh]; n.open && !a.blacklisted(n) {
				return true
			}
		}
		if r := s.sites[p.name].rack; racks && r != nil && p.relax {
			return true
		}
	}
	if racks {
		d.vain = s.places + 1
	}
	return false
}

// delayed reports whether a demand has to wait before it takes a node that is placed worse, and parks it then.
func (s *Scheduler) delayed(a *app, d *demand, delay int64, racks bool) bool {
	if delay <= 0 || !s.hopes(a, d, racks) {
		return false
	}
	if d.since == 0 {
		d.since = s.now
		if s.now == 0 {
			d.since = -1
		}
	}
	until := d.since + delay
	if s.now >= until {
		return false
	}
	d.until = until
	s.wakeAt(until)
	s.late = append(s.late, d)
	s.park(d, noPlace)
	return true
}

// wakeLate lets the demands be tried again whose delay is over.
func (s *Scheduler) wakeLate() {
	list := s.late
	s.late = slices.DeleteFunc(list, func(d *demand) bool {
		switch {
		case d.gone || d.until == 0:
			return true
		case d.until > s.now:
			s.wakeAt(d.until)
			return false
		}
		d.until = 0
		if d.why == noPlace {
			d.racks = true
			s.unpark(d)
		}
		return true
	})
}

// near starts the delay anew after a container that was placed well.
func (s *Scheduler) near(d *demand, level Locality) {
	switch {
	case level == NodeLocal || level == RackLocal && (!s.capacity || s.tree.Settings.RackLocalityFullReset):
		d.since = 0
	case level == RackLocal && d.since != 0:
		rack, _ := s.delays(d)
		d.since = s.now - rack
	}
}

func (s *Scheduler) explainDelay(d *demand, r *Reason) bool {
	if d.until <= s.now || d.why != noPlace {
		return false
	}
	r.Limit, r.Until = LocalityDelay, d.until
	r.Text = fmt.Sprintf("it waits %d ms longer for room on one of the hosts or racks that it prefers", d.until-s.now)
	r.Free = "room there, or the end of the delay (node-locality-delay)"
	return true
}
