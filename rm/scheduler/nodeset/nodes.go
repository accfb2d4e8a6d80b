package nodeset

import (
	"slices"

	"heddle/internal/prefetch"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/intern"
	"heddle/rm/scheduler/measure"
	"heddle/rm/scheduler/nodeindex"
	"heddle/yarn/records"
)

// Spec describes a node that joins.
type Spec struct {
	Host       string
	Rack       string
	Capability records.Resource
	Label      string // of its partition, which the set doesn't look at; empty: none
}

// Node is a node with what its containers hold. Fields that each decision touches are on the first line of the cache, as there
// are many nodes, so that each line is a miss; totals stand elsewhere, as most nodes have the same.
type Node struct {
	Host, Rack int32
	InRack     int32 // place in its rack's index
	Reserved   handle.Container
	Containers int32
	kind       int32 // what it has, in Set.kinds
	Open       Works // for which it takes new containers
	Live       bool
	late       bool // its rack's index is out of date
	Used       records.Resource
	Self       handle.Node
	_          [3]int64 // to whole lines
}

// Capability returns what a node has.
func (s *Set) Capability(n *Node) *records.Resource { return s.kinds.Amount(n.kind) }

// Rack is the nodes of a rack.
type Rack struct {
	Nodes  []handle.Node   // by place in index; handle.NoNode where one left
	index  nodeindex.Index // see Set.IndexOf
	late   []int32         // places of nodes whose room has changed
	Free   []int32
	Cursor int
}

// Site is the nodes that share one name: those of a host, and those of a rack.
type Site struct {
	Nodes []handle.Node // of the host
	Rack  *Rack
}

// Set is the nodes of a cluster, with sums over them. Make it with New.
type Set struct {
	At         []Node
	handles    *handle.Space[handle.Node]
	kinds      intern.Amounts // what nodes have
	Index      nodeindex.Index
	sorted     *sorted          // nil until a queue wants it
	openNodes  int              // that take containers
	PartlyOpen int              // of those, for some kinds of work only
	headroom   records.Resource // free on all open nodes
	largest    records.Resource // of any open node, by type
	smallest   records.Resource
	resized    bool             // largest and smallest are out of date
	Cluster    records.Resource // of all open nodes, and what is still used on closed ones
	Places     int64            // changes of which nodes there are, and of Cluster
	Names      intern.Names     // of hosts and racks
	Sites      []Site           // hosts and racks by their name's number
	calc       *measure.Calculator
}

// New returns a set without nodes, whose amounts a calculator measures. Sets that share their handles have different nodes; where
// another one has a node this one has none that is live.
func New(calc *measure.Calculator, handles *handle.Space[handle.Node]) Set {
	return Set{calc: calc, handles: handles, Index: nodeindex.New(calc.Types()), Names: intern.NewNames(), kinds: intern.NewAmounts()}
}

// Add enters a node that takes containers.
func (s *Set) Add(spec Spec) handle.Node {
	h := s.handles.Take()
	s.Enter(h, spec)
	return h
}

// Enter enters a node that has a handle, and is in no set.
func (s *Set) Enter(h handle.Node, spec Spec) {
	s.resized = true
	s.At = handle.Fit(s.At, h, Node{Reserved: handle.NoContainer})
	n := &s.At[h]
	*n = Node{
		Host: s.Intern(spec.Host), Rack: s.Intern(spec.Rack), kind: s.kinds.Hold(&spec.Capability), Open: AllWork, Live: true,
		Reserved: handle.NoContainer, Self: h,
	}
	s.Sites[n.Host].Nodes = append(s.Sites[n.Host].Nodes, h)
	r := s.Sites[n.Rack].Rack
	if r == nil {
		r = &Rack{index: nodeindex.New(s.calc.Types())}
		s.Sites[n.Rack].Rack = r
	}
	if k := len(r.Free); k > 0 {
		n.InRack, r.Free = r.Free[k-1], r.Free[:k-1]
		r.Nodes[n.InRack] = h
	} else {
		n.InRack = int32(len(r.Nodes))
		r.Nodes = append(r.Nodes, h)
	}
	s.count(n, 1)
}

// Shut has a node that is to be removed take nothing any more.
func (s *Set) Shut(h handle.Node) {
	n := &s.At[h]
	s.count(n, -1)
	s.PartlyOpen -= n.Partly()
	n.Open, n.Live, s.resized = NoWork, false, true
	s.Reindex(h)
}

// Remove takes a node out that was shut, for good.
func (s *Set) Remove(h handle.Node) {
	s.Leave(h)
	s.handles.Give(h)
}

// Leave takes a node out that was shut, and is to be entered into another set.
func (s *Set) Leave(h handle.Node) {
	n := &s.At[h]
	r := s.Sites[n.Rack].Rack
	s.IndexOf(r)
	r.Nodes[n.InRack] = handle.NoNode
	r.Free = append(r.Free, n.InRack)
	if len(r.Free) == len(r.Nodes) {
		s.Sites[n.Rack].Rack = nil
	}
	nodes := s.Sites[n.Host].Nodes
	at := slices.Index(nodes, h)
	s.Sites[n.Host].Nodes = slices.Delete(nodes, at, at+1)
	s.kinds.Drop(n.kind)
}

// SetCapability changes what a node has.
func (s *Set) SetCapability(h handle.Node, capability records.Resource) {
	n := &s.At[h]
	s.count(n, -1)
	was := n.kind
	n.kind, s.resized = s.kinds.Hold(&capability), true
	s.kinds.Drop(was)
	s.count(n, 1)
}

// SetOpen says for which kinds of work a node takes new containers.
func (s *Set) SetOpen(h handle.Node, to Works) {
	n := &s.At[h]
	s.count(n, -1)
	s.PartlyOpen -= n.Partly()
	n.Open, s.resized = to, true
	s.PartlyOpen += n.Partly()
	s.count(n, 1)
}

// Free returns what a node can still give, as it is measured.
func (s *Set) Free(n *Node) (free records.Resource) {
	has := s.Capability(n)
	for i := range s.calc.Types() {
		free[i] = has[i] - n.Used[i]
		if s.calc.MemoryOnly {
			break
		}
	}
	return free
}

// HasRoom reports whether a node has room for a container.
func (s *Set) HasRoom(n *Node, size *records.Resource) bool {
	if n.Open == NoWork || n.Reserved != handle.NoContainer {
		return false
	}
	free := s.Free(n)
	return s.calc.Fits(size, &free)
}

// Reindex enters a node's free resources into the indices.
func (s *Set) Reindex(h handle.Node) {
	n := &s.At[h]
	free := &nodeindex.Closed
	if n.Open != NoWork && n.Reserved == handle.NoContainer {
		left := s.Free(n)
		free = &left
	}
	s.Index.Set(int(h), free)
	if s.sorted != nil {
		s.sorted.changed(h, s)
	}
	if !n.late {
		n.late = true
		r := s.Sites[n.Rack].Rack
		r.late = append(r.late, n.InRack)
	}
}

// IndexOf returns the index of a rack, brought up to date: without requests for racks, nothing is spent on it.
func (s *Set) IndexOf(r *Rack) *nodeindex.Index {
	for _, at := range r.late {
		h := r.Nodes[at]
		free := s.Index.At(int(h))
		r.index.Set(int(at), &free)
		s.At[h].late = false
	}
	r.late = r.late[:0]
	return &r.index
}

// count adds a node to the sums over nodes, or takes it off. It is called before and after a change of what the node is;
// hold and release follow what is used.
func (s *Set) count(n *Node, times int64) {
	s.Places++
	counted := n.Used
	if n.Open != NoWork {
		counted = *s.Capability(n)
		spare := counted.Sub(n.Used).Max(records.Resource{}).Times(times)
		s.calc.Add(&s.headroom, &spare)
		s.openNodes += int(times)
	}
	counted = counted.Times(times)
	s.calc.Add(&s.Cluster, &counted)
}

// Charge adds to what a node holds.
func (s *Set) Charge(n *Node, r *records.Resource, containers int) {
	n.Containers += int32(containers)
	has := s.Capability(n)
	for i := range s.calc.Types() {
		before := n.Used[i]
		n.Used[i] += r[i]
		if n.Open != NoWork {
			s.headroom[i] += max(has[i]-n.Used[i], 0) - max(has[i]-before, 0)
		} else {
			s.Cluster[i] += r[i]
			s.Places++
		}
	}
}

// Fetch has memory come of a node that will change soon.
func (s *Set) Fetch(h handle.Node) {
	prefetch.Of(&s.At[h])
	s.Index.Fetch(int(h))
}

// Intern returns the number of a host or rack, which is good until it is forgotten.
func (s *Set) Intern(name string) int32 {
	id := s.Names.Intern(name)
	if int(id) == len(s.Sites) {
		s.Sites = append(s.Sites, Site{})
	}
	return id
}

// Largest is, for each type, the most that any node that takes containers has.
func (s *Set) Largest() records.Resource {
	s.measureNodes()
	return s.largest
}

func (s *Set) measureNodes() {
	if !s.resized {
		return
	}
	s.resized, s.largest, s.smallest = false, records.Resource{}, records.Resource{}
	first := true
	for i := range s.At {
		n := &s.At[i]
		if n.Open == NoWork {
			continue
		}
		has := *s.Capability(n)
		s.largest = s.largest.Max(has)
		if s.smallest = s.smallest.Min(has); first {
			s.smallest, first = has, false
		}
	}
}

// OpenNodes counts the nodes that take containers.
func (s *Set) OpenNodes() int { return s.openNodes }

// Headroom returns what new asks could get at most: the free resources of all open nodes.
func (s *Set) Headroom() records.Resource { return s.headroom }

// Smallest is, for each type, the least that any node that takes containers has.
func (s *Set) Smallest() records.Resource {
	s.measureNodes()
	return s.smallest
}

// Name returns the inverse of intern.
func (s *Set) Name(id int32) string { return s.Names.Name(id) }

// Works is a set of kinds of work.
type Works uint8

// Sets of kinds.
const (
	NoWork  Works = 0
	AllWork Works = 1<<8 - 1
)

// WorkOf returns the set of some kinds.
func WorkOf(kinds ...Work) (set Works) {
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// OpenIf returns all kinds of work if a node is open, and none if it isn't.
func OpenIf(open bool) Works {
	if open {
		return AllWork
	}
	return NoWork
}

// Partly counts a node for partlyOpen.
func (n *Node) Partly() int {
	if n.Open == NoWork || n.Open == AllWork {
		return 0
	}
	return 1
}

// Work is a kind of work, such as long or short tasks, from 0 to 7. An ask is of one kind. A node may be open to some kinds and closed
// to others: then it keeps the containers that it has, and gets new ones for asks of the former only.
type Work uint8
