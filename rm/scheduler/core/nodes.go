package core

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

// Node is a node with what its containers hold. What each decision touches is on the first line of the cache, as there are many
// nodes, so that each line is a miss; what they have stands elsewhere, as most have the same.
type Node struct {
	Host, Rack int32
	InRack     int32 // place in its rack's index
	Reserved   handle.Container
	containers int32
	kind       int32 // what it has, in Scheduler.kinds
	Open       Works // for which it takes new containers
	Live       bool
	late       bool // its rack's index is out of date
	Used       records.Resource
	_          [4]int64 // to whole lines
}

// Capability is what a node has.
func (s *Core) Capability(n *Node) *records.Resource { return s.kinds.Amount(n.kind) }

type Rack struct {
	Nodes  []handle.Node   // by place in index; noNode where one left
	index  nodeindex.Index // see Scheduler.indexOf
	late   []int32         // places of nodes whose room has changed
	Free   []int32
	cursor int
}

// Site is what goes by one name: nodes of a host, nodes of a rack, and demands that prefer it.
type Site struct {
	Nodes   []handle.Node // of the host
	Rack    *Rack
	waiters []*Demand // see Scheduler.awaited
	full    int       // so many waiters that those that wait no more are to be forgotten
}

// AddNode enters a node that takes containers.
func (s *Core) AddNode(spec NodeSpec) handle.Node {
	s.resized = true
	h := handle.Take(&s.Nodes, &s.freeNodes)
	n := &s.Nodes[h]
	*n = Node{
		Host: s.intern(spec.Host), Rack: s.intern(spec.Rack), kind: s.kinds.Hold(&spec.Capability), Open: AllWork, Live: true,
		Reserved: handle.NoContainer,
	}
	s.Sites[n.Host].Nodes = append(s.Sites[n.Host].Nodes, h)
	r := s.Sites[n.Rack].Rack
	if r == nil {
		r = &Rack{index: nodeindex.New(s.Calc.Types())}
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
	s.Policy.NodeChanged(h)
	s.NodeFreed(h)
	return h
}

// RemoveNode takes a node out. Its containers must have been freed.
func (s *Core) RemoveNode(h handle.Node) {
	n := &s.Nodes[h]
	if n.containers > 0 {
		panic(fmt.Sprintf("scheduler: node %d is removed with %d containers", h, n.containers))
	}
	if n.Reserved != handle.NoContainer {
		s.Withdraw(n.Reserved)
	}
	s.breakPromises(func(p *Promised) bool { return p.node == h })
	s.count(n, -1)
	s.partlyOpen -= n.partly()
	n.Open, n.Live, s.resized = NoWork, false, true
	s.reindex(h)
	s.Policy.NodeChanged(h)
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
	s.freeNodes = append(s.freeNodes, h)
}

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Core) SetCapability(h handle.Node, capability records.Resource) {
	n := &s.Nodes[h]
	s.count(n, -1)
	was := n.kind
	n.kind, s.resized, s.Recheck = s.kinds.Hold(&capability), true, true
	s.kinds.Drop(was)
	s.count(n, 1)
	s.Policy.NodeChanged(h)
	s.NodeFreed(h)
}

// SetOpen says for which kinds of work a node takes new containers; those that it has stay.
func (s *Core) SetOpen(h handle.Node, to Works) {
	n := &s.Nodes[h]
	s.count(n, -1)
	s.partlyOpen -= n.partly()
	n.Open, s.resized, s.Recheck = to, true, true
	s.partlyOpen += n.partly()
	s.count(n, 1)
	s.Policy.NodeChanged(h)
	s.NodeFreed(h)
}

// NodeFreed notes that a node may have room now.
func (s *Core) NodeFreed(h handle.Node) {
	s.reindex(h)
	n := &s.Nodes[h]
	s.Roomier = s.Roomier || len(s.Reserved) > 0
	if n.Reserved != handle.NoContainer {
		s.NoteReady(n)
		return
	}
	if n.Open == NoWork {
		return
	}
	free := s.FreeOn(n)
	s.Classes.Open(&free)
	if s.reserves() && s.Calc.Fits(&s.Calc.Least, &free) {
		most := s.Calc.Measure(*s.Capability(n))
		s.Classes.Open(&most) // it may be kept for what doesn't fit yet
	}
	if s.awaited[n.Host] {
		s.wakePlace(n.Host, true)
	}
	if s.awaited[n.Rack] {
		s.wakePlace(n.Rack, false)
	}
	s.unparkFitting(&free)
}

// FreeOn is what a node can still give, as it is measured.
func (s *Core) FreeOn(n *Node) (free records.Resource) {
	has := s.Capability(n)
	for i := range s.Calc.Types() {
		free[i] = has[i] - n.Used[i]
		if s.Calc.MemoryOnly {
			break
		}
	}
	return free
}

// HasRoom reports whether a node has room for a container.
func (s *Core) HasRoom(n *Node, size *records.Resource) bool {
	if n.Open == NoWork || n.Reserved != handle.NoContainer {
		return false
	}
	free := s.FreeOn(n)
	return s.Calc.Fits(size, &free)
}

// reindex enters a node's free resources into the indices.
func (s *Core) reindex(h handle.Node) {
	n := &s.Nodes[h]
	free := &nodeindex.Closed
	if n.Open != NoWork && n.Reserved == handle.NoContainer {
		left := s.FreeOn(n)
		free = &left
	}
	s.Index.Set(int(h), free)
	if !n.late {
		n.late = true
		r := s.Sites[n.Rack].Rack
		r.late = append(r.late, n.InRack)
	}
}

// IndexOf is the index of a rack, brought up to date: where nobody prefers racks, nothing is spent on it.
func (s *Core) IndexOf(r *Rack) *nodeindex.Index {
	for _, at := range r.late {
		h := r.Nodes[at]
		free := s.Index.At(int(h))
		r.index.Set(int(at), &free)
		s.Nodes[h].late = false
	}
	r.late = r.late[:0]
	return &r.index
}

// count adds a node to the sums over nodes, or takes it off. It is called before and after a change of what the node is;
// hold and release follow what is used.
func (s *Core) count(n *Node, times int64) {
	s.Changes++
	s.places++
	counted := n.Used
	if n.Open != NoWork {
		counted = *s.Capability(n)
		spare := counted.Sub(n.Used).Max(records.Resource{}).Times(times)
		s.Calc.Add(&s.headroom, &spare)
		s.openNodes += int(times)
	}
	counted = counted.Times(times)
	s.Calc.Add(&s.cluster, &counted)
}

// chargeNode adds to what a node holds.
func (s *Core) chargeNode(n *Node, r *records.Resource, containers int) {
	n.containers += int32(containers)
	has := s.Capability(n)
	for i := range s.Calc.Types() {
		before := n.Used[i]
		n.Used[i] += r[i]
		if n.Open != NoWork {
			s.headroom[i] += max(has[i]-n.Used[i], 0) - max(has[i]-before, 0)
		} else {
			s.cluster[i] += r[i]
		}
	}
}
