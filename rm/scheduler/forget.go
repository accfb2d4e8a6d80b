package scheduler

// Clients choose names of hosts and racks, too, by what they prefer and what they shun, so names that nobody uses any more are
// forgotten: else an application that names new ones with each call would fill the memory for good.

// intern returns the number of a host or rack, which is good until the next call of Schedule, or for as long as something of it is held.
func (s *Scheduler) intern(name string) int32 {
	id := s.names.Intern(name)
	if int(id) == len(s.sites) {
		s.sites = append(s.sites, site{})
		s.awaited = append(s.awaited, false)
	}
	return id
}

// name is the inverse of intern.
func (s *Scheduler) name(id int32) string { return s.names.Name(id) }

// forgetNames forgets the names that no node has and no application prefers or shuns.
func (s *Scheduler) forgetNames() {
	used := make([]bool, s.names.Numbers())
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
	// Whoever waited at a name that nobody uses is gone.
	s.names.Forget(used, func(id int32) { s.sites[id], s.awaited[id] = site{}, false })
}
