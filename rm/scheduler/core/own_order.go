package core

import (
	"slices"

	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
)

// In Fair queues what an application asks for less urgently gets nothing on nodes that its more urgent asks could have if
// they were empty: as in YARN only the first ask that may go to a node is looked at there (Hadoop: FSAppAttempt.assignContainer).
// So an application's small containers don't take each bit that becomes free from its own large ones.

// Shuns reports whether a demand of an application may not go to a node now: it is barred from the node, or a more urgent ask
// comes first there.
func (s *Core) Shuns(a *App, d *Demand, n *nodeset.Node) bool {
	if a.Bars(d, n) {
		return true
	}
	return s.Rules.OwnFirst && s.Policy.Shuns(n)
}

// heldByOwn reports whether there is room where a demand prefers its containers, and a more urgent ask of its application comes first there.
func (s *Core) heldByOwn(a *App, d *Demand) bool {
	if !s.Rules.OwnFirst {
		return false
	}
	held := func(h handle.Node) bool {
		return h != handle.NoNode && s.Nodes.HasRoom(&s.Nodes.At[h], &d.Size) && !a.Bars(d, &s.Nodes.At[h]) && s.Shuns(a, d, &s.Nodes.At[h])
	}
	for i := range d.Places {
		p := &d.Places[i]
		if p.Count == 0 {
			continue
		}
		if slices.ContainsFunc(s.Nodes.Sites[p.Name].Nodes, held) {
			return true
		}
		if r := s.Nodes.Sites[p.Name].Rack; r != nil && p.Relax && slices.ContainsFunc(r.Nodes, held) {
			return true
		}
	}
	return false
}

// unblock lets the demands of an application be tried again that its more urgent ones, or the policy of its leaf, made wait.
func (s *Core) unblock(a *App) {
	if a.Blocked == 0 {
		return
	}
	for d := range s.Demands(a) {
		if d.Why == demand.Waits {
			d.Until = 0 // of the policy, which is asked again
		}
		if d.Why.Counts() {
			d.Hosts, d.Racks = true, true // where it was held there may be room
			s.setWhy(d, demand.Untried)
		}
	}
}
