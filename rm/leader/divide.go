package leader

import (
	"heddle/rm/leader/division"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// setOpen opens a node to new containers, other than long ones if it has none of these, or closes it.
func (c *core) setOpen(n *nodeSoft, open bool) {
	n.open = open
	c.arrived.Forget(n.id)
	works := scheduler.NoWork
	if open {
		works = c.division.Works(n.id)
	}
	opened := eventlog.Opened(n.handle, works)
	c.sched.Apply(&opened)
}

// redivide opens nodes to long work, or closes them, as the division has it now. It returns them.
func (c *core) redivide(changed []records.NodeID) []records.NodeID {
	for _, id := range changed {
		if n := c.nodes[id]; n != nil && n.open {
			c.setOpen(n, true)
		}
	}
	return c.loans.SetShort(changed, c.division.Short)
}

// Place returns what a node is for; ok is false where nothing is long.
func (c *core) Place(id records.NodeID) (p division.Place, ok bool) { return c.division.Place(id) }
