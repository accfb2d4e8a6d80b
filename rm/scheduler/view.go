package scheduler

import (
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// View answers questions about a scheduler, and changes nothing. The claim of a container is what its application and user are charged; what it
// holds is what it takes on its node, and what node and queues are charged. The two differ while the container is suspended or shrunk.
type View struct{ *partitions }

// with returns the core that has a container.
func (v View) with(h ContainerHandle) *core.Core {
	if len(v.parts) == 1 {
		return v.core
	}
	return v.noted(v.containers, int32(h)).core
}

// Pending returns how many containers an application waits for.
func (v View) Pending(h handle.App) (n int64) {
	for x := range v.partsOf(h) {
		n += x.core.Apps[h].Pending
	}
	return n
}

// PendingResource returns the sum of what an application waits for.
func (v View) PendingResource(h handle.App) (sum records.Resource) {
	for x := range v.partsOf(h) {
		sum = sum.Add(x.core.Apps[h].PendingSum)
	}
	return sum
}

// Asks returns the rows of requests that an application still waits for, by priority, the one for Any first, those without a label first.
func (v View) Asks(h handle.App) []core.Ask {
	var rows []core.Ask
	for i := range v.parts {
		if x := &v.parts[i]; x.core.Has(h) {
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
func (v View) Blacklist(h handle.App) []string {
	return v.core.BlacklistOf(&v.core.Apps[h])
}

// Excluded returns how many names there are on an application's blacklist.
func (v View) Excluded(h handle.App) int { return len(v.core.Apps[h].Blacklist) }

// HeadroomOf returns what an application could get at most: what is free, as far as the limits of its queues and its user go, in the partitions in
// which it asks for something (Hadoop: CapacityHeadroomProvider.getHeadroom).
func (v View) HeadroomOf(h handle.App) (sum records.Resource) {
	asks := false
	for i := range v.parts[1:] {
		if x := &v.parts[i+1]; x.core.Has(h) && x.core.Apps[h].Pending > 0 {
			asks, sum = true, sum.Add(x.headroomOf(h))
		}
	}
	if !asks || v.core.Apps[h].Pending > 0 {
		sum = sum.Add(v.parts[0].headroomOf(h))
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

// Activities tells what each queue, application and request that is looked at comes to where containers are given out on a
// node now. Only capacity queues are told of.
func (v View) Activities(h NodeHandle) explain.Activity {
	if p, ok := v.noted(v.nodes, int32(h)).core.Policy.(interface {
		Activities(handle.Node) explain.Activity
	}); ok {
		return p.Activities(h)
	}
	return explain.Activity{}
}

// Headroom returns what new asks could get at most: the free resources of all open nodes.
func (v View) Headroom() (sum records.Resource) {
	for i := range v.parts {
		sum = sum.Add(v.parts[i].core.Nodes.Headroom())
	}
	return sum
}

// Largest is, for each type, the most that any node that takes containers has.
func (v View) Largest() (most records.Resource) {
	for i := range v.parts {
		most = most.Max(v.parts[i].core.Nodes.Largest())
	}
	return most
}

// OpenNodes counts the nodes that take containers.
func (v View) OpenNodes() (n int) {
	for i := range v.parts {
		n += v.parts[i].core.Nodes.OpenNodes()
	}
	return n
}

// Requests returns how many requests an application has that differ in priority or allocation request id, and how many rows for hosts
// and racks these have. Served ones count while anything of their request is left.
func (v View) Requests(h handle.App) (requests, places int) {
	requests, places = v.core.Requests(h)
	for i := range v.parts[1:] {
		if c := v.parts[i+1].core; c.Has(h) {
			more, at := ownRequests(c, h)
			requests, places = requests+more, places+at
		}
	}
	return requests, places
}

// RequestsWith returns what Requests would return, at most, if asks were entered.
func (v View) RequestsWith(h handle.App, asks []core.Ask) (requests, places int) {
	type id struct {
		priority int32
		request  int64
	}
	type row struct {
		id
		name string
	}
	requests, places = v.Requests(h)
	known, rows := map[id]*core.Demand{}, map[row]struct{}{}
	for i := range asks {
		ask := &asks[i]
		if ask.Count == 0 {
			continue
		}
		of := id{ask.Priority, ask.AllocationRequestID}
		d, seen := known[of]
		if !seen {
			if _, d = v.holder(h, of.priority, of.request); d == nil {
				requests++
			}
			known[of] = d
		}
		if ask.Name == core.Any {
			continue
		}
		holder, _ := v.holder(h, of.priority, of.request)
		if name, named := v.parts[holder].core.Nodes.Names.Find(ask.Name); named && d != nil && d.Prefers(name) {
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
func (v View) TakesApps(path string) bool { return v.core.TakesApps(path) }

// Reservations returns all reservations, the oldest first in each partition.
func (v View) Reservations() (out []Reservation) {
	for i := range v.parts {
		c := v.parts[i].core
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

// Waits reports whether any request waits for a container.
func (v View) Waits() bool {
	for i := range v.parts {
		if !v.parts[i].core.Queues[core.Root].Pending.IsZero() {
			return true
		}
	}
	return false
}

// LabelOf returns the label of a node.
func (v View) LabelOf(h NodeHandle) string {
	if int(h) >= len(v.nodes) {
		return ""
	}
	return v.parts[v.nodes[h]].label
}

// Starving reports whether a leaf waits for something that is below its guarantee, and for which there was no room when Schedule was
// called last, as what is reserved isn't there yet. Of Fair queues it reports whether any leaf waits.
func (v View) Starving() bool {
	for i := range v.parts {
		if v.parts[i].starving() {
			return true
		}
	}
	return false
}

func (s *part) starving() bool {
	rules, calc := &s.core.Rules, &s.core.Calc
	for i := range s.core.Queues {
		q, has := &s.core.Queues[i], s.core.Queues[i].Used.Sub(s.core.Queues[i].Reserved)
		if q.Live && q.Leaf && !q.Pending.IsZero() && (rules.DueByRound || calc.Share(&has) < calc.Share(&q.Guaranteed)) {
			return true
		}
	}
	return false
}

// Changes counts changes of what applications ask for and hold, of limits and of nodes.
func (v View) Changes() (n int64) {
	for i := range v.parts {
		n += v.parts[i].core.Changes
	}
	return n
}

// NextWake returns when Schedule must be called again even if nothing happens, in ms; 0 if it needn't.
func (v View) NextWake() (next int64) {
	for i := range v.parts {
		if t := v.parts[i].core.NextWake(); t != 0 && (next == 0 || t < next) {
			next = t
		}
	}
	return next
}

// Claim returns what the application and the user of a container are charged for it.
func (v View) Claim(h ContainerHandle) records.Resource {
	c := v.with(h)
	return *c.Holds(&c.Containers[h])
}

// Withheld returns what the containers of a queue lack of their claims together, as they are suspended or shrunk.
func (v View) Withheld(path string) (sum records.Resource) {
	for i := range v.parts {
		if h, ok := v.parts[i].core.ByPath[path]; ok {
			sum = sum.Add(v.parts[i].core.Withheld(h))
		}
	}
	return sum
}

// Means returns how preemption takes from the queue of a container, and that queue's path.
func (v View) Means(h ContainerHandle) (suspension.Means, string) {
	core := v.with(h)
	cfg := core.Queues[core.Apps[core.Containers[h].App].Leaf].Cfg
	return cfg.Means, cfg.Path
}

// NodeOf returns where a container runs.
func (v View) NodeOf(h ContainerHandle) NodeHandle { return v.with(h).Containers[h].Node }

// Held returns what a container takes on its node.
func (v View) Held(h ContainerHandle) records.Resource { return v.with(h).Held(h) }

// CopiesOf returns how many containers an application may have for copies of its tasks, besides those for the tasks. It is false where no policy
// says so.
func (v View) CopiesOf(h AppHandle) (n int64, known bool) {
	for x := range v.partsOf(h) {
		if g, a := x.core.PolicyOf(&x.core.Apps[h]); g != nil {
			more, some := g.Copies(a)
			n, known = n+more, known || some
		}
	}
	return n, known
}

// TagsOf returns the allocation tags of a container, each once. They are not to be changed.
func (v View) TagsOf(h ContainerHandle) []string { return v.cfg.Placing.TagsOf(h) }

// Outstanding returns a function that returns the row of a request of an application for any node, if anything of it is pending. over says that a limit of
// its queues or its user keeps it from containers, although a node has room. tried is false while it is yet to be searched for.
func (v View) Outstanding(h AppHandle) func(priority int32, id int64) (row Ask, over, tried bool) {
	return func(priority int32, id int64) (row Ask, over, tried bool) {
		i, d := v.holder(h, priority, id)
		if d == nil || d.Pending == 0 {
			return Ask{}, false, true
		}
		row = d.Row()
		row.Label = v.parts[i].label
		limited := d.Why == demand.OverLimit || d.Why == demand.Untried
		return row, limited && v.parts[i].core.Nodes.Index.Has(&d.Size), d.WasTried()
	}
}
