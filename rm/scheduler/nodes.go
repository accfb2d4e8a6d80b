package scheduler

import (
	"fmt"
	"slices"

	"heddle/yarn/records"
)

// NodeSpec describes a node that joins.
type NodeSpec struct {
	Host       string
	Rack       string
	Capability records.Resource
}

type node struct {
	host, rack int32
	capability records.Resource
	used       records.Resource
	counted    records.Resource // what of it is in Scheduler.cluster
	spare      records.Resource // and in Scheduler.headroom
	open       bool             // takes new containers
	wasOpen    bool             // is counted in Scheduler.openNodes
	live       bool
	reserved   ContainerHandle
	inRack     int // place in its rack's index
	containers int
}

type rack struct {
	nodes  []NodeHandle // by place in index; noNode where one left
	index  index
	free   []int
	cursor int
}

const noNode = NodeHandle(-1)

// site is what goes by one name: nodes of a host, nodes of a rack, and demands that prefer it.
type site struct {
	nodes   []NodeHandle // of the host
	rack    *rack
	waiters []*demand
}

// AddNode enters a node that takes containers.
func (s *Scheduler) AddNode(spec NodeSpec) NodeHandle {
	s.resized = true
	h := take(&s.nodes, &s.freeNodes)
	n := &s.nodes[h]
	*n = node{
		host: s.intern(spec.Host), rack: s.intern(spec.Rack), capability: spec.Capability, open: true, live: true,
		reserved: nobody,
	}
	s.sites[n.host].nodes = append(s.sites[n.host].nodes, h)
	r := s.sites[n.rack].rack
	if r == nil {
		r = &rack{index: index{types: s.types()}}
		s.sites[n.rack].rack = r
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
	if n.reserved != nobody {
		s.unreserve(n.reserved)
	}
	n.open, n.live, s.resized = false, false, true
	s.reindex(h)
	r := s.sites[n.rack].rack
	r.nodes[n.inRack] = noNode
	r.free = append(r.free, n.inRack)
	if len(r.free) == len(r.nodes) {
		s.sites[n.rack].rack = nil
	}
	nodes := s.sites[n.host].nodes
	at := slices.Index(nodes, h)
	s.sites[n.host].nodes = slices.Delete(nodes, at, at+1)
	s.freeNodes = append(s.freeNodes, h)
}

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Scheduler) SetCapability(h NodeHandle, capability records.Resource) {
	s.nodes[h].capability, s.resized, s.recheck = capability, true, true
	s.freed(h)
}

// SetOpen says whether a node takes new containers; those that it has stay.
func (s *Scheduler) SetOpen(h NodeHandle, open bool) {
	s.nodes[h].open, s.resized, s.recheck = open, true, true
	s.freed(h)
}

// freed notes that a node may have room now.
func (s *Scheduler) freed(h NodeHandle) {
	s.reindex(h)
	n := &s.nodes[h]
	s.roomier = s.roomier || len(s.reserved) > 0
	if n.reserved != nobody {
		s.noteReady(n)
		return
	}
	if !n.open {
		return
	}
	free := s.free(n)
	s.classes.room(&free)
	if least := s.measure(s.cfg.Minimum); s.reserves() && least.FitsIn(free) {
		most := s.measure(n.capability)
		s.classes.room(&most) // it may be kept for what doesn't fit yet
	}
	s.wake(n.host, true)
	s.wake(n.rack, false)
	s.unparkFitting(&free)
}

// free is what a node can still give, as it is measured.
func (s *Scheduler) free(n *node) records.Resource { return s.measure(n.capability.Sub(n.used)) }

// takes reports whether a node has room for a container.
func (s *Scheduler) takes(n *node, size *records.Resource) bool {
	return n.open && n.reserved == nobody && size.FitsIn(s.free(n))
}

// reindex enters a node's free resources into the indices and sums.
func (s *Scheduler) reindex(h NodeHandle) {
	n := &s.nodes[h]
	free := closed
	var spare records.Resource
	counted := n.used
	if n.open {
		counted = n.capability
		if n.reserved == nobody {
			free = s.free(n)
		}
		spare = n.capability.Sub(n.used).Max(spare)
	}
	if !n.live {
		counted = records.Resource{}
	}
	if counted != n.counted {
		s.cluster = s.cluster.Add(counted).Sub(n.counted)
		n.counted = counted
	}
	if spare != n.spare {
		s.headroom = s.headroom.Add(spare).Sub(n.spare)
		n.spare = spare
	}
	if n.open != n.wasOpen {
		n.wasOpen = n.open
		if n.open {
			s.openNodes++
		} else {
			s.openNodes--
		}
	}
	s.index.set(int(h), &free)
	s.sites[n.rack].rack.index.set(n.inRack, &free)
}
