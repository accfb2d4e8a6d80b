package core

import "heddle/rm/scheduler/nodeset"

// Bars reports whether a demand may have no container on a node, whatever room there is: the node is closed to its kind of work,
// the application excludes it, or the demand's constraint does.
func (a *App) Bars(d *Demand, n *nodeset.Node) bool {
	return n.Open&d.Work == 0 || a.Blacklisted(n) || d.Placed && !d.Admits(n.Self)
}

// BarsSome reports whether a demand of an application may be barred from some nodes that take containers, but for its constraint.
func (s *Core) BarsSome(a *App) bool { return s.Nodes.PartlyOpen > 0 || a.excludes }
