package preempt

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/yarn/records"
)

// owned is a container with its application.
type owned struct {
	app *App
	*Container
}

// site is a node with what is on it.
type site struct {
	*Node
	reserved owned // what it is reserved for; no Container: nothing
	running  []owned
}

// sites returns the nodes with their containers.
func (s *Snapshot) sites() []site {
	out := make([]site, len(s.Nodes))
	for i := range s.Nodes {
		out[i].Node = &s.Nodes[i]
	}
	for i := range s.Apps {
		for k := range s.Apps[i].Containers {
			c := owned{&s.Apps[i], &s.Apps[i].Containers[k]}
			if at := &out[c.Node]; c.Reserved {
				at.reserved = c
			} else {
				at.running = append(at.running, c)
			}
		}
	}
	return out
}

// clearing lists the containers of a node that must go so that the reserved container fits.
type clearing struct {
	reserved owned
	victims  []owned
	cost     float64 // what goes, in terms of what it is for
}

// forReservations chooses containers on reserved nodes, of queues that must give, so that the reserved containers fit: where
// least goes for most first (Hadoop: ReservedContainerCandidatesSelector). ApplicationMasters stay.
func (r *selection) forReservations() {
	ideal := idealOf(r.Snapshot, r.measure, wish{reserved: true}, r.allowed)
	due := make([]records.Resource, len(r.Queues))
	for i := range r.Queues {
		if ideal.leaf(i) {
			due[i] = r.due(i, ideal)
		}
	}
	sites := r.sites()
	type candidate struct {
		site *site
		cost float64
	}
	var candidates []candidate
	for i := range sites {
		if c, ok := r.clear(&sites[i], slices.Clone(due), r.allowed); ok {
			candidates = append(candidates, candidate{&sites[i], c.cost})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	for _, at := range candidates {
		left := slices.Clone(due)
		c, ok := r.clear(at.site, left, r.allowed)
		if !ok {
			continue
		}
		due = left
		for _, v := range c.victims {
			r.allowed = r.allowed.Sub(v.Resource)
			q := &r.Queues[v.app.Queue]
			r.pick(v.app, v.Container, fmt.Sprintf("queue %s uses %v, is guaranteed %v and should have %v; %s lacks room for %v that it is reserved for, of queue %s",
				q.Path, q.Used, q.Guaranteed, ideal.assigned[v.app.Queue], at.site.Host, c.reserved.Resource, r.Queues[c.reserved.app.Queue].Path))
		}
	}
}

// clear finds the containers of a node, the latest first, that queues must give and without which the reserved container fits.
// It fails where nothing must go, or not enough may. It uses due up.
func (r *selection) clear(at *site, due []records.Resource, allowed records.Resource) (c clearing, ok bool) {
	if at.reserved.Container == nil {
		return c, false
	}
	c.reserved = at.reserved
	room := at.Free
	for _, x := range at.running {
		if x.Killable {
			room = room.Add(x.Resource)
		}
	}
	if r.fits(c.reserved.Resource, room) {
		return c, false
	}
	latest := slices.Clone(at.running)
	slices.SortFunc(latest, func(a, b owned) int { return b.ID.Compare(a.ID) })
	var goes records.Resource
	for _, x := range latest {
		q, taken := x.app.Queue, r.taken[x.ID]
		if x.Killable || x.AM || x.Spared || !r.fits(x.Resource, due[q]) || !taken && !r.fits(x.Resource, allowed) {
			continue
		}
		due[q] = due[q].Sub(x.Resource)
		if !taken {
			allowed = allowed.Sub(x.Resource)
			c.victims = append(c.victims, x)
			goes = goes.Add(x.Resource)
		}
		if room = room.Add(x.Resource); r.fits(c.reserved.Resource, room) {
			c.cost = r.ratio(goes, c.reserved.Resource)
			return c, true
		}
	}
	return c, false
}
