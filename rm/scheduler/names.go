package scheduler

// Hosts and racks are numbers in here. Clients choose names, too, by what they prefer and what they shun, so names that nobody uses any
// more are forgotten: else an application that names new ones with each call would fill the memory for good.

// minNames is the number of names below which forgetting some isn't worth it.
const minNames = 4096

// intern returns the number of a name, which is good until the next call of Schedule, or for as long as something of it is held.
func (s *Scheduler) intern(name string) int32 {
	if id, ok := s.names[name]; ok {
		return id
	}
	id := int32(len(s.spelled))
	if n := len(s.freeNames); n > 0 {
		id, s.freeNames = s.freeNames[n-1], s.freeNames[:n-1]
		s.spelled[id] = name
	} else {
		s.spelled = append(s.spelled, name)
		s.sites = append(s.sites, site{})
		s.awaited = append(s.awaited, false)
	}
	s.names[name] = id
	return id
}

// name is the inverse of intern.
func (s *Scheduler) name(id int32) string { return s.spelled[id] }

// forgetNames forgets the names that no node has and no application prefers or shuns, once there are twice as many as were left the last
// time.
func (s *Scheduler) forgetNames() {
	used := make([]bool, len(s.spelled))
	for h := range s.nodes {
		if n := &s.nodes[h]; n.live {
			used[n.host], used[n.rack] = true, true
		}
	}
	for h := range s.apps {
		a := &s.apps[h]
		if !a.live {
			continue
		}
		for id := range a.blacklist {
			used[id] = true
		}
		for d := range s.demands(a) {
			for i := range d.places {
				used[d.places[i].name] = true
			}
		}
	}
	for id, name := range s.spelled {
		if held, ok := s.names[name]; used[id] || !ok || held != int32(id) {
			continue
		}
		delete(s.names, name)
		// those who wait there are gone: who is not has the place
		s.spelled[id], s.sites[id], s.awaited[id] = "", site{}, false
		s.freeNames = append(s.freeNames, int32(id))
	}
	s.mostNames = max(s.leastNames, 2*len(s.names))
}
