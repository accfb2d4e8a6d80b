package core

// Clients choose names of hosts and racks, too, by what they prefer and what they shun, so names that nobody uses any more are
// forgotten: else an application that names new ones with each call would fill the memory for good.

// intern returns the number of a host or rack, which is good until the next call of Schedule, or for as long as something of it is held.
func (s *Core) intern(name string) int32 {
	id := s.Names.Intern(name)
	if int(id) == len(s.Sites) {
		s.Sites = append(s.Sites, Site{})
		s.awaited = append(s.awaited, false)
	}
	return id
}

// Name is the inverse of intern.
func (s *Core) Name(id int32) string { return s.Names.Name(id) }

// forgetNames forgets the names that no node has and no application prefers or shuns.
func (s *Core) forgetNames() {
	used := make([]bool, s.Names.Numbers())
	for h := range s.Nodes {
		if n := &s.Nodes[h]; n.Live {
			used[n.Host], used[n.Rack] = true, true
		}
	}
	for h := range s.Apps {
		a := &s.Apps[h]
		if !a.Live {
			continue
		}
		for id := range a.Blacklist {
			used[id] = true
		}
		for d := range s.Demands(a) {
			for i := range d.Places {
				used[d.Places[i].Name] = true
			}
		}
	}
	// Whoever waited at a name that nobody uses is gone.
	s.Names.Forget(used, func(id int32) { s.Sites[id], s.awaited[id] = Site{}, false })
}
