package core

// Work is a kind of work, such as long or short tasks, from 0 to 7. An ask is of one kind. A node may be open to some kinds and closed
// to others: then it keeps the containers that it has, and gets new ones for asks of the former only.
type Work uint8

// Works is a set of kinds of work.
type Works uint8

// Sets of kinds.
const (
	NoWork  Works = 0
	AllWork Works = 1<<8 - 1
)

// WorkOf is the set of some kinds.
func WorkOf(kinds ...Work) (set Works) {
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// OpenIf is all kinds of work if a node is open, and none if it isn't.
func OpenIf(open bool) Works {
	if open {
		return AllWork
	}
	return NoWork
}

// Barred reports whether a demand may have no container on a node, whatever room there is: the node is closed to its kind of work, or
// the application excludes it.
func (d *Demand) Barred(a *App, n *Node) bool { return n.Open&d.Work == 0 || a.Blacklisted(n) }

// BarsSome reports whether a demand of an application may be barred from some nodes that take containers.
func (s *Core) BarsSome(a *App) bool { return s.partlyOpen > 0 || len(a.Blacklist) > 0 }

// partly counts a node for partlyOpen.
func (n *Node) partly() int {
	if n.Open == NoWork || n.Open == AllWork {
		return 0
	}
	return 1
}
