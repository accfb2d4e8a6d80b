package preempt

import (
	"math"
	"slices"

	"heddle/yarn/records"
)

// fairVictims finds containers whose end makes room on one node for one that a starving application asks for.
type fairVictims struct {
	*Snapshot
	fair     *Fair
	known    map[records.ContainerID]*Container // that there are
	dying    map[records.ContainerID]bool       // to be killed in this round
	onNode   [][]ofApp                          // ApplicationMasters last
	free     []records.Resource                 // of a node, beside what it is reserved for
	assigned []records.Resource                 // of a node's free room: spoken for by asks of this round
	marked   []records.Resource                 // of an application's use: of marked containers
	off      []bool                             // a queue, or one above it, from which nothing may be taken
}

type ofApp struct {
	app       int
	container *Container
}

func newFairVictims(f *Fair, s *Snapshot) *fairVictims {
	h := &fairVictims{
		Snapshot: s, fair: f, known: map[records.ContainerID]*Container{}, dying: map[records.ContainerID]bool{},
		onNode: make([][]ofApp, len(s.Nodes)), free: make([]records.Resource, len(s.Nodes)), assigned: make([]records.Resource, len(s.Nodes)),
		marked: make([]records.Resource, len(s.Apps)), off: make([]bool, len(s.Queues)),
	}
	for i := range s.Nodes {
		h.free[i] = s.Nodes[i].Free
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		h.off[i] = q.Disabled || q.Parent >= 0 && h.off[q.Parent]
	}
	for i := range s.Apps {
		for k := range s.Apps[i].Containers {
			c := &s.Apps[i].Containers[k]
			if c.Reserved {
				h.free[c.Node] = atLeast0(h.free[c.Node].Sub(c.Resource))
				continue
			}
			h.known[c.ID] = c
			if _, ok := f.marked[c.ID]; ok {
				h.marked[i] = h.marked[i].Add(c.Resource)
			}
			h.onNode[c.Node] = append(h.onNode[c.Node], ofApp{app: i, container: c})
		}
	}
	for _, list := range h.onNode {
		slices.SortStableFunc(list, func(a, b ofApp) int {
			switch {
			case a.container.AM == b.container.AM:
				return b.container.ID.Compare(a.container.ID) // the latest first
			case a.container.AM:
				return 1
			}
			return -1
		})
	}
	return h
}

// satisfy marks containers for as many of an application's asks as it starves for.
func (h *fairVictims) satisfy(st starved) (victims []Victim) {
	lacks := st.lacks
	seen := map[Ask]bool{}
	for _, ask := range st.app.Asks {
		if lacks.IsZero() || ask.Capability.IsZero() {
			break
		}
		key := ask
		key.Name, key.Relax, key.Priority = "", false, 0
		if seen[key] { // the same containers, at another level of locality
			continue
		}
		seen[key] = true
		for range min(ask.Count, int64(fits(ask.Capability, lacks))) {
			node, found := h.best(st.app, ask, ask.Name)
			if masters(found) > 0 && ask.Name != anywhere && ask.Relax {
				node, found = h.best(st.app, ask, anywhere)
			}
			if node < 0 {
				break
			}
			h.assigned[node] = h.assigned[node].Add(ask.Capability)
			for _, p := range found {
				h.assigned[node] = h.assigned[node].Sub(p.container.Resource)
				victims = append(victims, h.take(p, st))
			}
			lacks = atLeast0(lacks.Sub(ask.Capability))
		}
	}
	return victims
}

const anywhere = "*"

// fits returns how often one amount goes into another, by memory if the ask has any (as YARN counts), else by every type.
func fits(ask, into records.Resource) float64 {
	if m := ask[records.Memory]; m > 0 {
		return math.Floor(float64(into[records.Memory]) / float64(m))
	}
	n := math.Inf(1)
	for i := range ask {
		if ask[i] > 0 {
			n = min(n, math.Floor(float64(into[i])/float64(ask[i])))
		}
	}
	return min(n, 1<<30)
}

func masters(list []ofApp) (n int) {
	for _, p := range list {
		if p.container.AM {
			n++
		}
	}
	return n
}

// best finds the node on which fewest ApplicationMasters must go for an ask, the first without any; -1 is none.
func (h *fairVictims) best(a *App, ask Ask, name string) (node int, best []ofApp) {
	node = -1
	for i := range h.Nodes {
		if n := &h.Nodes[i]; name != anywhere && name != n.Host && name != n.Rack {
			continue
		}
		list, ok := h.onOne(a, i, ask.Capability)
		if ok && (node < 0 || masters(list) < masters(best)) {
			node, best = i, list
			if masters(list) == 0 {
				break
			}
		}
	}
	return node, best
}

// onOne finds the containers that must go from a node so that an ask fits.
func (h *fairVictims) onOne(a *App, node int, need records.Resource) (list []ofApp, ok bool) {
	room := h.free[node].Sub(h.assigned[node])
	if need.FitsIn(room) {
		return nil, true
	}
	considered := map[int]records.Resource{}
	for _, p := range h.onNode[node] {
		if &h.Apps[p.app] == a || !h.spare(p, considered[p.app]) {
			continue
		}
		considered[p.app] = considered[p.app].Add(p.container.Resource)
		list = append(list, p)
		room = room.Add(p.container.Resource)
		if need.FitsIn(room) {
			return list, true
		}
	}
	return nil, false
}

// spare reports whether an application keeps its fair share without a container.
func (h *fairVictims) spare(p ofApp, considered records.Resource) bool {
	a := &h.Apps[p.app]
	if _, marked := h.fair.marked[p.container.ID]; marked || h.dying[p.container.ID] || p.container.Spared || h.off[a.Queue] {
		return false
	}
	if p.container.AM && !h.fair.Settings.takesMasters(h.Queues[a.Queue].Path) {
		return false
	}
	m := measureOf(h.Queues[a.Queue].Share.Kind, h.Cluster)
	after := a.Used.Sub(h.marked[p.app]).Sub(considered).Sub(p.container.Resource)
	return !m.less(after, a.Fair)
}

func (h *fairVictims) take(p ofApp, st starved) Victim {
	a, c := &h.Apps[p.app], p.container
	h.marked[p.app] = h.marked[p.app].Add(c.Resource)
	h.dying[c.ID] = true
	return Victim{
		App: a.ID, ID: c.ID, Queue: h.Queues[a.Queue].Path, Resource: c.Resource, AM: c.AM, Handle: c.Handle, Reason: st.reason, For: st.app.ID,
	}
}
