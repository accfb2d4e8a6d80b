package core

import "heddle/rm/scheduler/nodeset"

// Bars reports whether a demand may have no container on a node that has room: it is closed to the work, or the application or a constraint excludes it.
func (a *App) Bars(d *Demand, n *nodeset.Node) bool {
	return n.Open&d.Work == 0 || (a.excludes || d.Placed) && a.bars(d, n)
}

func (a *App) bars(d *Demand, n *nodeset.Node) bool { return a.Blacklisted(n) || !d.Admits(n.Self) }

// BarsSome reports whether a demand of an application may be barred from some nodes that take containers, but for its constraint.
func (s *Core) BarsSome(a *App) bool { return s.Nodes.PartlyOpen > 0 || a.excludes }
