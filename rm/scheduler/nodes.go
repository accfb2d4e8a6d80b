package scheduler

import (
	"fmt"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
	"heddle/yarn/records"
)

// NodeSpec describes a node that joins.
type NodeSpec struct {
	Host       string
	Rack       string
	Capability records.Resource
}

// node is a node with what its containers hold. What each decision touches is on the first line of the cache, as there are many
// nodes, so that each line is a miss; what they have stands elsewhere, as most have the same.
type node struct {
	host, rack int32
	inRack     int32 // place in its rack's index
	reserved   handle.Container
	containers int32
	kind       int32 // what it has, in Scheduler.kinds
	open       bool  // takes new containers
	live       bool
	late       bool // its rack's index is out of date
	used       records.Resource
	_          [4]int64 // to whole lines
}

// capability is what a node has.
func (s *Scheduler) capability(n *node) *records.Resource { return s.kinds.Amount(n.kind) }

type rack struct {
	nodes  []handle.Node   // by place in index; noNode where one left
	index  nodeindex.Index // see Scheduler.indexOf
	late   []int32         // places of nodes whose room has changed
	free   []int32
	cursor int
}

// site is what goes by one name: nodes of a host, nodes of a rack, and demands that prefer it.
type site struct {
	nodes   []handle.Node // of the host
	rack    *rack
	waiters []*demand // see Scheduler.awaited
	full    int       // so many waiters that those that wait no more are to be forgotten
}

// AddNode enters a node that takes containers.
func (s *Scheduler) AddNode(spec NodeSpec) handle.Node {
	s.resized = true
	h := handle.Take(&s.nodes, &s.freeNodes)
	n := &s.nodes[h]
	*n = node{
		host: s.intern(spec.Host), rack: s.intern(spec.Rack), kind: s.kinds.Hold(&spec.Capability), open: true, live: true,
		reserved: handle.NoContainer,
	}
	s.sites[n.host].nodes = append(s.sites[n.host].nodes, h)
	r := s.sites[n.rack].rack
	if r == nil {
		r = &rack{index: nodeindex.New(s.calc.Types())}
		s.sites[n.rack].rack = r
	}
	if k := len(r.free); k > 0 {
		n.inRack, r.free = r.free[k-1], r.free[:k-1]
		r.nodes[n.inRack] = h
	} else {
		n.inRack = int32(len(r.nodes))
		r.nodes = append(r.nodes, h)
	}
	s.count(n, 1)
	s.reindexWhole(h)
	s.freed(h)
	return h
}

// RemoveNode takes a node out. Its containers must have been freed.
func (s *Scheduler) RemoveNode(h handle.Node) {
	n := &s.nodes[h]
	if n.containers > 0 {
		panic(fmt.Sprintf("scheduler: node %d is removed with %d containers", h, n.containers))
	}
	if n.reserved != handle.NoContainer {
		s.unreserve(n.reserved)
	}
	s.breakPromises(func(p *promise) bool { return p.node == h })
	s.count(n, -1)
	n.open, n.live, s.resized = false, false, true
	s.reindex(h)
	s.reindexWhole(h)
	r := s.sites[n.rack].rack
	s.indexOf(r)
	r.nodes[n.inRack] = handle.NoNode
	r.free = append(r.free, n.inRack)
	if len(r.free) == len(r.nodes) {
		s.sites[n.rack].rack = nil
	}
	nodes := s.sites[n.host].nodes
	at := slices.Index(nodes, h)
	s.sites[n.host].nodes = slices.Delete(nodes, at, at+1)
	s.kinds.Drop(n.kind)
	s.freeNodes = append(s.freeNodes, h)
}

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Scheduler) SetCapability(h handle.Node, capability records.Resource) {
	n := &s.nodes[h]
	s.count(n, -1)
	was := n.kind
	n.kind, s.resized, s.recheck = s.kinds.Hold(&capability), true, true
	s.kinds.Drop(was)
	s.count(n, 1)
	s.reindexWhole(h)
	s.freed(h)
}

// SetOpen says whether a node takes new containers; those that it has stay.
func (s *Scheduler) SetOpen(h handle.Node, open bool) {
	n := &s.nodes[h]
	s.count(n, -1)
	n.open, s.resized, s.recheck = open, true, true
	s.count(n, 1)
	s.reindexWhole(h)
	s.freed(h)
}

// freed notes that a node may have room now.
func (s *Scheduler) freed(h handle.Node) {
	s.reindex(h)
	n := &s.nodes[h]
	s.roomier = s.roomier || len(s.reserved) > 0
	if n.reserved != handle.NoContainer {
		s.noteReady(n)
		return
	}
	if !n.open {
		return
	}
	free := s.free(n)
	s.classes.Open(&free)
	if s.reserves() && s.calc.Fits(&s.calc.Least, &free) {
		most := s.calc.Measure(*s.capability(n))
		s.classes.Open(&most) // it may be kept for what doesn't fit yet
	}
	if s.awaited[n.host] {
		s.wake(n.host, true)
	}
	if s.awaited[n.rack] {
		s.wake(n.rack, false)
	}
	s.unparkFitting(&free)
}

// free is what a node can still give, as it is measured.
func (s *Scheduler) free(n *node) (free records.Resource) {
	has := s.capability(n)
	for i := range s.calc.Types() {
		free[i] = has[i] - n.used[i]
		if s.calc.MemoryOnly {
			break
		}
	}
	return free
}

// takes reports whether a node has room for a container.
func (s *Scheduler) takes(n *node, size *records.Resource) bool {
	if !n.open || n.reserved != handle.NoContainer {
		return false
	}
	free := s.free(n)
	return s.calc.Fits(size, &free)
}

// reindex enters a node's free resources into the indices.
func (s *Scheduler) reindex(h handle.Node) {
	n := &s.nodes[h]
	free := &nodeindex.Closed
	if n.open && n.reserved == handle.NoContainer {
		left := s.free(n)
		free = &left
	}
	s.index.Set(int(h), free)
	if !n.late {
		n.late = true
		r := s.sites[n.rack].rack
		r.late = append(r.late, n.inRack)
	}
}

// indexOf is the index of a rack, brought up to date: where nobody prefers racks, nothing is spent on it.
func (s *Scheduler) indexOf(r *rack) *nodeindex.Index {
	for _, at := range r.late {
		h := r.nodes[at]
		free := s.index.At(int(h))
		r.index.Set(int(at), &free)
		s.nodes[h].late = false
	}
	r.late = r.late[:0]
	return &r.index
}

// count adds a node to the sums over nodes, or takes it off. It is called before and after a change of what the node is;
// hold and release follow what is used.
func (s *Scheduler) count(n *node, times int64) {
	s.changes++
	s.places++
	counted := n.used
	if n.open {
		counted = *s.capability(n)
		spare := counted.Sub(n.used).Max(records.Resource{}).Times(times)
		s.calc.Add(&s.headroom, &spare)
		s.openNodes += int(times)
	}
	counted = counted.Times(times)
	s.calc.Add(&s.cluster, &counted)
}

// chargeNode adds to what a node holds.
func (s *Scheduler) chargeNode(n *node, r *records.Resource, containers int) {
	n.containers += int32(containers)
	has := s.capability(n)
	for i := range s.calc.Types() {
		before := n.used[i]
		n.used[i] += r[i]
		if n.open {
			s.headroom[i] += max(has[i]-n.used[i], 0) - max(has[i]-before, 0)
		} else {
			s.cluster[i] += r[i]
		}
	}
}
