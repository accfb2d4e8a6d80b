package leader

import (
	"heddle/rm/leader/division"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// setOpen opens a node to new containers, other than long ones if it has none of these, or closes it.
func (c *core) setOpen(n *nodeSoft, open bool) {
	n.open = open
	works := scheduler.NoWork
	if open {
		works = c.division.Works(n.id)
	}
	c.sched.SetOpen(n.handle, works)
}

// redivide opens nodes to long work, or closes them, as the division has it now. It returns them.
func (c *core) redivide(changed []records.NodeID) []records.NodeID {
	for _, id := range changed {
		if n := c.nodes[id]; n != nil && n.open {
			c.setOpen(n, true)
		}
	}
	return changed
}

// markWork says of what kind an application's asks are.
func (c *core) markWork(a *appSoft, asks []scheduler.Ask) {
	if !a.long {
		return
	}
	for i := range asks {
		asks[i].Work = division.LongWork
	}
}
