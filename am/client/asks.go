package client

import (
	"cmp"
	"maps"
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// asks holds what an ApplicationMaster wants, and what it has sent to the ResourceManager.
//
// For every pair of priority and allocation request id, ResourceManagers keep one capability and a number of rows: for
// hosts, for racks, and "*", which counts all containers. A row has an absolute count. An allocation takes one off "*",
// and one off the rows of its host and rack if they exist. (A stock ResourceManager allocates on a requested host only
// if the host's rack has a row as well.)
//
// Requests that share such a set of rows form a class. They have the same priority, resource and execution type. Either
// all may go anywhere, or all are confined to the same places. Each class of a priority has its own allocation request
// id, which comes back with the containers. match decides on arrival which request of the class a container serves.
type asks struct {
	rack    func(host string) string
	classes map[classKey]*class
	byID    map[wireID]*class
	wanted  map[RequestID]*pending
	last    RequestID
}

type classKey struct {
	priority  int32
	resource  records.Resource
	execution pb.ExecutionType
	places    string // of strict requests
}

// wireID identifies a class to the ResourceManager.
type wireID struct {
	priority  int32
	requestID int64
}

type class struct {
	classKey
	wireID wireID
	rows   map[string]*row
	// Waiting requests, oldest first: all of them, those without any preference, and those by preferred host and rack.
	// Readers drop served requests when they come across them.
	all, free queue
	at        map[string]*queue
}

type row struct {
	want int32
	// sent is the count in the ResourceManager's row, as far as the Master can know.
	sent  int32
	relax bool
}

type pending struct {
	id RequestID
	Request
	racks []string // the racks of Hosts, and Racks
	left  int32
	class *class
}

func newAsks(rack func(host string) string) *asks {
	return &asks{
		rack: rack, classes: map[classKey]*class{}, byID: map[wireID]*class{}, wanted: map[RequestID]*pending{},
	}
}

// add enters a request, and returns its id.
func (a *asks) add(r Request) RequestID {
	r = r.normalized()
	a.last++
	p := &pending{id: a.last, Request: r, left: int32(r.Count), class: a.class(&r)}
	p.racks = slices.Clone(r.Racks)
	for _, h := range r.Hosts {
		p.racks = append(p.racks, a.rack(h))
	}
	p.racks = set(p.racks)
	a.wanted[p.id] = p
	c := p.class
	c.all.push(p)
	if len(p.Hosts)+len(p.racks) == 0 {
		c.free.push(p)
	}
	for _, name := range slices.Concat(p.Hosts, p.racks) {
		q := c.at[name]
		if q == nil {
			q = &queue{}
			c.at[name] = q
		}
		q.push(p)
	}
	c.count(p, p.left)
	return p.id
}

func (a *asks) class(r *Request) *class {
	key := classKey{r.Priority, r.Resource, r.ExecutionType, r.places()}
	if c := a.classes[key]; c != nil {
		return c
	}
	id := wireID{priority: r.Priority}
	for a.byID[id] != nil {
		id.requestID++
	}
	c := &class{classKey: key, wireID: id, rows: map[string]*row{}, at: map[string]*queue{}}
	a.classes[key], a.byID[id] = c, c
	return c
}

// count adds n containers to the rows of a request.
func (c *class) count(p *pending, n int32) {
	c.row(anyNode, p.RelaxLocality).want += n
	for _, h := range p.Hosts {
		c.row(h, true).want += n
	}
	for _, r := range p.racks {
		// The rack of a host has a row only because the host's row needs it, unless the rack may be used itself.
		_, named := slices.BinarySearch(p.Racks, r)
		c.row(r, p.RelaxLocality || named).want += n
	}
}

func (c *class) row(name string, relax bool) *row {
	r := c.rows[name]
	if r == nil {
		r = &row{relax: relax}
		c.rows[name] = r
	}
	return r
}

// withdraw takes back n containers of a request, or as many as are left. It returns how many it took back.
func (a *asks) withdraw(id RequestID, n int) int {
	p := a.wanted[id]
	if p == nil || n <= 0 {
		return 0
	}
	took := int32(min(n, int(p.left)))
	a.take(p, took)
	return int(took)
}

func (a *asks) take(p *pending, n int32) {
	p.left -= n
	p.class.count(p, -n)
	if p.left == 0 {
		delete(a.wanted, p.id)
	}
}

// outstanding returns the number of containers that are asked for and haven't arrived.
func (a *asks) outstanding() int {
	n := 0
	for _, c := range a.classes {
		if r := c.rows[anyNode]; r != nil {
			n += int(r.want)
		}
	}
	return n
}

// match finds the request that an allocated container serves, and counts the container off. It returns nil if no
// request needs it. The rows in sent were sent after the ResourceManager had allocated the container.
func (a *asks) match(id wireID, host string, has records.Resource, sent map[*row]bool) *pending {
	c := a.byID[id]
	if c == nil || !serves(has, c.resource) {
		// ResourceManagers before Hadoop 3 don't know allocation request ids.
		if c = a.fitting(id.priority, has); c == nil {
			return nil
		}
	}
	rack := a.rack(host)
	for _, name := range []string{anyNode, rack, host} {
		if r := c.rows[name]; r != nil && r.sent > 0 && !sent[r] {
			r.sent--
		}
	}
	p := c.find(host, rack)
	if p != nil {
		a.take(p, 1)
	}
	return p
}

// serves reports whether a container is large enough for a request. Where only memory counts (YARN's DefaultResourceCalculator, the
// default), each container has one core, however many were asked for.
func serves(has, want records.Resource) bool {
	if has[records.VCores] == 1 {
		want[records.VCores] = min(want[records.VCores], 1)
	}
	return want.FitsIn(has)
}

func (a *asks) fitting(priority int32, has records.Resource) *class {
	var best *class
	for _, c := range a.classes {
		if c.priority == priority && serves(has, c.resource) && c.all.first() != nil &&
			(best == nil || best.resource.FitsIn(c.resource) && best.resource != c.resource) {
			best = c
		}
	}
	return best
}

// find returns the request that a host serves best: first one that prefers the host, then one that prefers its rack,
// then one without preferences, and last any that may run there.
func (c *class) find(host, rack string) *pending {
	if p := c.at[host].first(); p != nil {
		return p
	}
	if p := c.at[rack].first(); p != nil {
		if _, named := slices.BinarySearch(p.Racks, rack); named || p.RelaxLocality {
			return p
		}
	}
	if p := c.free.first(); p != nil {
		return p
	}
	if p := c.all.first(); p != nil && p.RelaxLocality {
		return p
	}
	return nil
}

// changes returns the rows whose counts differ from those that the ResourceManager has.
func (a *asks) changes(types records.ResourceTypes) []change {
	var out []change
	for _, c := range a.classes {
		for name, r := range c.rows {
			if r.want != r.sent {
				out = append(out, change{c, r, name, r.want, c.message(name, r, types)})
			}
		}
	}
	slices.SortFunc(out, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.class.priority, b.class.priority),
			cmp.Compare(a.class.wireID.requestID, b.class.wireID.requestID), cmp.Compare(a.name, b.name))
	})
	return out
}

// change is a row on its way to the ResourceManager.
type change struct {
	class   *class
	row     *row
	name    string
	want    int32
	message *pb.ResourceRequest
}

func (c *class) message(name string, r *row, types records.ResourceTypes) *pb.ResourceRequest {
	m := &pb.ResourceRequest{}
	p := &pb.Priority{}
	p.SetPriority(c.priority)
	m.SetPriority(p)
	m.SetResourceName(name)
	m.SetCapability(types.PB(c.resource))
	m.SetNumContainers(r.want)
	m.SetRelaxLocality(r.relax)
	m.SetAllocationRequestId(c.wireID.requestID)
	e := &pb.ExecutionTypeRequest{}
	e.SetExecutionType(c.execution)
	e.SetEnforceExecutionType(true)
	m.SetExecutionTypeRequest(e)
	return m
}

// markSent records that the ResourceManager has got the rows.
func (a *asks) markSent(changes []change) {
	for _, ch := range changes {
		ch.row.sent = ch.want
	}
	a.tidy()
}

// tidy drops rows, classes and requests that are no longer needed.
func (a *asks) tidy() {
	for key, c := range a.classes {
		for name, r := range c.rows {
			if r.want == 0 && r.sent == 0 {
				delete(c.rows, name)
				if c.at[name].first() == nil {
					delete(c.at, name)
				}
			}
		}
		if len(c.rows) == 0 {
			delete(a.classes, key)
			delete(a.byID, c.wireID)
		}
	}
}

// forget makes everything unsent, for a ResourceManager that knows nothing.
func (a *asks) forget() {
	for _, c := range a.classes {
		for _, r := range c.rows {
			r.sent = 0
		}
	}
	a.tidy()
}

// refuse drops the classes whose rows the ResourceManager rejected, and returns their requests.
func (a *asks) refuse(changes []change) []RequestID {
	var ids []RequestID
	for _, ch := range changes {
		for _, p := range ch.class.all.waiting() {
			a.take(p, p.left)
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// byClass groups changes by their class.
func byClass(changes []change) [][]change {
	groups := map[*class][]change{}
	for _, ch := range changes {
		groups[ch.class] = append(groups[ch.class], ch)
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b []change) int {
		return cmp.Or(cmp.Compare(a[0].class.priority, b[0].class.priority),
			cmp.Compare(a[0].class.wireID.requestID, b[0].class.wireID.requestID))
	})
}

func rowsOf(changes []change) map[*row]bool {
	rows := make(map[*row]bool, len(changes))
	for _, ch := range changes {
		rows[ch.row] = true
	}
	return rows
}

// queue holds requests in the order of their arrival. It drops served requests when it comes across them, or when they
// are more than half of it.
type queue struct {
	items []*pending
	pops  int
}

func (q *queue) push(p *pending) { q.items = append(q.items, p) }

// first returns the oldest waiting request, or nil. A nil queue is empty.
func (q *queue) first() *pending {
	if q == nil {
		return nil
	}
	for q.pops < len(q.items) && q.items[q.pops].left == 0 {
		q.items[q.pops] = nil
		q.pops++
	}
	if q.pops == len(q.items) {
		q.items, q.pops = q.items[:0], 0
		return nil
	}
	if q.pops > 32 && q.pops > len(q.items)/2 {
		q.items = slices.Delete(q.items, 0, q.pops)
		q.pops = 0
	}
	return q.items[q.pops]
}

// waiting returns all waiting requests, oldest first.
func (q *queue) waiting() []*pending {
	if q.first() == nil {
		return nil
	}
	q.items = slices.DeleteFunc(q.items[q.pops:], func(p *pending) bool { return p.left == 0 })
	q.pops = 0
	return q.items
}
