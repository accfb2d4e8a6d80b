package core

import (
	"fmt"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/yarn/records"
)

// AddNode enters a node that takes containers.
func (s *Core) AddNode(spec nodeset.Spec) handle.Node {
	h := s.Nodes.Add(spec)
	s.entered(h)
	return h
}

// entered records a node that has come.
func (s *Core) entered(h handle.Node) {
	s.awaited.Grow(s.Nodes.Names.Numbers())
	s.surveyed(h)
	s.nodeChanged(h)
}

// RemoveNode takes a node out. Its containers must have been freed.
func (s *Core) RemoveNode(h handle.Node) {
	n := &s.Nodes.At[h]
	if n.Containers > 0 {
		panic(fmt.Sprintf("scheduler: node %d is removed with %d containers", h, n.Containers))
	}
	if n.Reserved != handle.NoContainer {
		s.Withdraw(n.Reserved)
	}
	s.forgetNode(h)
	s.Nodes.Remove(h)
}

// forgetNode closes a node that is to be taken out, and forgets what is known of it.
func (s *Core) forgetNode(h handle.Node) {
	s.forgetPreempted(func(p *preempted) bool { return p.node == h })
	s.Staged.Left(h)
	s.Changes++
	s.Survey.Leave(h)
	s.Nodes.Shut(h)
	s.Policy.NodeChanged(h)
}

// SetCapability changes what a node has. It may be less than what its containers hold: then the node takes no more until
// enough of them have ended.
func (s *Core) SetCapability(h handle.Node, capability records.Resource) {
	s.Nodes.SetCapability(h, capability)
	s.surveyed(h)
	s.Recheck = true
	s.nodeChanged(h)
}

// SetOpen says for which kinds of work a node takes new containers; those that it has stay.
func (s *Core) SetOpen(h handle.Node, to nodeset.Works) {
	s.Nodes.SetOpen(h, to)
	s.Recheck = true
	s.nodeChanged(h)
}

// surveyed enters what a node has into the survey.
func (s *Core) surveyed(h handle.Node) {
	n := &s.Nodes.At[h]
	s.Survey.Enter(h, s.Nodes.Name(n.Host), *s.Nodes.Capability(n))
}

// nodeChanged notes that a node has another size, or was opened or closed.
func (s *Core) nodeChanged(h handle.Node) {
	s.Changes++
	s.Policy.NodeChanged(h)
	s.NodeFreed(h)
}

// NodeFreed notes that a node may have room now.
func (s *Core) NodeFreed(h handle.Node) {
	s.Nodes.Reindex(h)
	n := &s.Nodes.At[h]
	s.Roomier = s.Roomier || len(s.Reserved) > 0
	if n.Reserved != handle.NoContainer {
		s.NoteReady(n)
		return
	}
	if n.Open == nodeset.NoWork {
		return
	}
	free := s.Nodes.Free(n)
	s.Classes.Open(&free)
	if s.reserves() && s.Calc.Fits(&s.Calc.Smallest, &free) {
		most := s.Calc.Measure(*s.Nodes.Capability(n))
		s.Classes.Open(&most) // it may be reserved for what doesn't fit yet
	}
	if s.awaited.At(n.Host) {
		s.wakePlace(n.Host, true)
	}
	if s.awaited.At(n.Rack) {
		s.wakePlace(n.Rack, false)
	}
	s.unparkFitting(&free)
	s.Unmet.Stir(s.Now, s.WakeAt)
}
