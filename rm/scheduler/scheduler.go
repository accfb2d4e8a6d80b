package scheduler

import (
	"fmt"
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// NodeHandle, AppHandle and ContainerHandle name what the scheduler holds. They are reused after their object is gone.
type (
	NodeHandle      int32
	AppHandle       int32
	ContainerHandle int32
)

// Locality says how near to its preferred places a container was put.
type Locality uint8

// Localities, best first.
const (
	NodeLocal Locality = iota
	RackLocal
	OffSwitch // also where there was no preference
)

// Allocation is the decision to grant a container.
type Allocation struct {
	Container           ContainerHandle
	App                 AppHandle
	Node                NodeHandle
	Resource            records.Resource
	Priority            int32
	AllocationRequestID int64
	ExecutionType       pb.ExecutionType
	Locality            Locality
}

// NodeSpec describes a node that joins.
type NodeSpec struct {
	Host       string
	Rack       string
	Capability records.Resource
}

// AppSpec describes an application that may ask for containers.
type AppSpec struct {
	Priority int32 // higher numbers are served first
	Seq      int64 // order of submission; unique
}

type node struct {
	host, rack int32
	capability records.Resource
	used       records.Resource
	open       bool // takes new containers
	live       bool
	dirty      bool // may have room that nobody was offered
	inRack     int  // place in its rack's index
	containers int
}

type rack struct {
	nodes []NodeHandle // by place in index; noNode where one left
	index index
	free  []int
}

const noNode = NodeHandle(-1)

type app struct {
	spec      AppSpec
	live      bool
	dirty     bool // asks for something that was not tried everywhere
	demands   []*demand
	pending   int64 // containers asked for
	waits     bool  // is among Scheduler.waiting
	blacklist map[int32]struct{}
	used      records.Resource
	running   int
}

type container struct {
	app      AppHandle
	node     NodeHandle
	resource records.Resource
	live     bool
}

// Scheduler holds nodes, applications and containers. The zero value is not usable; see New.
type Scheduler struct {
	nodes     []node
	freeNodes []NodeHandle
	index     index
	cursor    int // where the next search for any node begins, so that load spreads
	openNodes int
	headroom  records.Resource // free on all open nodes
	largest   records.Resource // of any open node, by type
	resized   bool             // largest is out of date
	hosts     map[int32][]NodeHandle
	racks     map[int32]*rack

	apps     []app
	freeApps []AppHandle
	waiting  []AppHandle // applications that wait for containers, most urgent first

	containers     []container
	freeContainers []ContainerHandle

	names      map[string]int32
	spelled    []string // names by their number
	dirtyNodes []NodeHandle
	dirtyApps  []AppHandle
	out        []Allocation
}

// New returns a scheduler without nodes.
func New() *Scheduler {
	return &Scheduler{
		hosts: map[int32][]NodeHandle{},
		racks: map[int32]*rack{},
		names: map[string]int32{},
	}
}

func (s *Scheduler) intern(name string) int32 {
	id, ok := s.names[name]
	if !ok {
		id = int32(len(s.names))
		s.names[name] = id
		s.spelled = append(s.spelled, name)
	}
	return id
}

// AddNode enters a node that takes containers.
func (s *Scheduler) AddNode(spec NodeSpec) NodeHandle {
	s.resized = true
	h := take(&s.nodes, &s.freeNodes)
	n := &s.nodes[h]
	*n = node{
		host: s.intern(spec.Host), rack: s.intern(spec.Rack), capability: spec.Capability, open: true, live: true,
	}
	s.hosts[n.host] = append(s.hosts[n.host], h)
	r := s.racks[n.rack]
	if r == nil {
		r = &rack{}
		s.racks[n.rack] = r
	}
	if k := len(r.free); k > 0 {
		n.inRack, r.free = r.free[k-1], r.free[:k-1]
		r.nodes[n.inRack] = h
	} else {
		n.inRack = len(r.nodes)
		r.nodes = append(r.nodes, h)
	}
	s.freed(h)
	return h
}

// RemoveNode takes a node out. Its containers must have been freed.
func (s *Scheduler) RemoveNode(h NodeHandle) {
	n := &s.nodes[h]
	if n.containers > 0 {
		panic(fmt.Sprintf("scheduler: node %d is removed with %d containers", h, n.containers))
	}
	n.open, n.live, s.resized = false, false, true
	s.reindex(h)
	r := s.racks[n.rack]
	r.nodes[n.inRack] = noNode
	r.free = append(r.free, n.inRack)
	if len(r.free) == len(r.nodes) {
		delete(s.racks, n.rack)
	}
	at := slices.Index(s.hosts[n.host], h)
	if s.hosts[n.host] = slices.Delete(s.hosts[n.host], at, at+1); len(s.hosts[n.host]) == 0 {
		delete(s.hosts, n.host)
	}
	s.freeNodes = append(s.freeNodes, h)
}

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Scheduler) SetCapability(h NodeHandle, capability records.Resource) {
	s.nodes[h].capability, s.resized = capability, true
	s.freed(h)
}

// SetOpen says whether a node takes new containers; those that it has stay.
func (s *Scheduler) SetOpen(h NodeHandle, open bool) {
	s.nodes[h].open, s.resized = open, true
	s.freed(h)
}

// AddApp enters an application, which asks for nothing yet.
func (s *Scheduler) AddApp(spec AppSpec) AppHandle {
	h := take(&s.apps, &s.freeApps)
	s.apps[h] = app{spec: spec, live: true}
	return h
}

// settle enters an application among the waiting ones, or takes it out, as it has asks pending or not.
func (s *Scheduler) settle(h AppHandle) {
	a := &s.apps[h]
	if wait := a.pending > 0; wait != a.waits {
		a.waits = wait
		at, _ := slices.BinarySearchFunc(s.waiting, h, s.compareApps)
		if wait {
			s.waiting = slices.Insert(s.waiting, at, h)
		} else {
			s.waiting = slices.Delete(s.waiting, at, at+1)
		}
	}
}

func (s *Scheduler) compareApps(a, b AppHandle) int {
	x, y := &s.apps[a].spec, &s.apps[b].spec
	if x.Priority != y.Priority {
		return int(y.Priority) - int(x.Priority)
	}
	switch {
	case x.Seq < y.Seq:
		return -1
	case x.Seq > y.Seq:
		return 1
	}
	return 0
}

// RemoveApp takes an application out. Its containers must have been freed.
func (s *Scheduler) RemoveApp(h AppHandle) {
	a := &s.apps[h]
	if a.running > 0 {
		panic(fmt.Sprintf("scheduler: application %d is removed with %d containers", h, a.running))
	}
	s.ClearAsks(h)
	a.live = false
	s.freeApps = append(s.freeApps, h)
}

// SetPriority moves an application in the order of service.
func (s *Scheduler) SetPriority(h AppHandle, priority int32) {
	a := &s.apps[h]
	pending := a.pending
	a.pending = 0
	s.settle(h)
	a.spec.Priority, a.pending = priority, pending
	s.settle(h)
}

// UpdateAsks enters rows of requests. Capabilities must not be negative.
func (s *Scheduler) UpdateAsks(h AppHandle, asks []Ask) {
	a := &s.apps[h]
	more := false
	for i := range asks {
		if a.update(&asks[i], s.intern(asks[i].Name)) {
			more = true
		}
	}
	s.settle(h)
	if more {
		s.tryApp(h)
	}
}

// ClearAsks withdraws everything that an application asks for.
func (s *Scheduler) ClearAsks(h AppHandle) {
	s.apps[h].demands, s.apps[h].pending = nil, 0
	s.settle(h)
}

// UpdateBlacklist adds and then removes hosts (or racks) on which an application wants no containers.
func (s *Scheduler) UpdateBlacklist(h AppHandle, add, remove []string) {
	a := &s.apps[h]
	if a.blacklist == nil {
		a.blacklist = map[int32]struct{}{}
	}
	for _, name := range add {
		a.blacklist[s.intern(name)] = struct{}{}
	}
	for _, name := range remove {
		delete(a.blacklist, s.intern(name))
	}
	if len(remove) > 0 && a.pending > 0 {
		s.tryApp(h)
	}
}

// Restore enters a container that was granted earlier, by another leader.
func (s *Scheduler) Restore(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	return s.hold(a, n, r)
}

// Free gives back what a container holds.
func (s *Scheduler) Free(h ContainerHandle) {
	c := &s.containers[h]
	if !c.live {
		panic(fmt.Sprintf("scheduler: container %d is freed twice", h))
	}
	c.live = false
	s.freeContainers = append(s.freeContainers, h)
	a, n := &s.apps[c.app], &s.nodes[c.node]
	a.used, a.running = a.used.Sub(c.resource), a.running-1
	n.used, n.containers = n.used.Sub(c.resource), n.containers-1
	s.freed(c.node)
}

func (s *Scheduler) hold(a AppHandle, n NodeHandle, r records.Resource) ContainerHandle {
	h := take(&s.containers, &s.freeContainers)
	s.containers[h] = container{app: a, node: n, resource: r, live: true}
	x, y := &s.apps[a], &s.nodes[n]
	x.used, x.running = x.used.Add(r), x.running+1
	y.used, y.containers = y.used.Add(r), y.containers+1
	s.reindex(n)
	return h
}

// take returns a free handle, of an object that was released or a new one.
func take[T any, H ~int32](all *[]T, free *[]H) H {
	if k := len(*free); k > 0 {
		h := (*free)[k-1]
		*free = (*free)[:k-1]
		return h
	}
	var zero T
	*all = append(*all, zero)
	return H(len(*all) - 1)
}

// freed notes that a node may have room now.
func (s *Scheduler) freed(h NodeHandle) {
	s.reindex(h)
	if n := &s.nodes[h]; n.open && !n.dirty {
		n.dirty = true
		s.dirtyNodes = append(s.dirtyNodes, h)
	}
}

func (s *Scheduler) tryApp(h AppHandle) {
	if a := &s.apps[h]; !a.dirty {
		a.dirty = true
		s.dirtyApps = append(s.dirtyApps, h)
	}
}

// reindex enters a node's free resources into the indices and sums.
func (s *Scheduler) reindex(h NodeHandle) {
	n := &s.nodes[h]
	before := s.index.at(int(h))
	free := closed
	if n.open {
		free = n.capability.Sub(n.used)
		s.openNodes++
		s.headroom = s.headroom.Add(free.Max(records.Resource{}))
	}
	if before != closed {
		s.openNodes--
		s.headroom = s.headroom.Sub(before.Max(records.Resource{}))
	}
	s.index.set(int(h), free)
	s.racks[n.rack].index.set(n.inRack, free)
}
