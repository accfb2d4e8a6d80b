package core

import "heddle/rm/scheduler/nodeset"

// Clients choose names of hosts and racks, too, by their preferences and blacklists, so names that are no longer used are
// forgotten: else an application that names new ones with each call would fill the memory for good.

// forgetNames forgets the names that no node has and no application prefers or shuns.
func (s *Core) forgetNames() {
	used := make([]bool, s.Nodes.Names.Numbers())
	for h := range s.Nodes.At {
		if n := &s.Nodes.At[h]; n.Live {
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
	// A name that is no longer used has no waiting requests.
	s.awaited.Grow(s.Nodes.Names.Numbers())
	s.Nodes.Names.Forget(used, func(id int32) {
		s.Nodes.Sites[id] = nodeset.Site{}
		s.awaited.Forget(id)
	})
}
