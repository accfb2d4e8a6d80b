package mapreduce

import (
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/sim"
	"heddle/yarn/records"
)

// node is a node of a cluster.
type node struct {
	name     string
	is       *Nodes
	handle   scheduler.NodeHandle
	known    bool // to the scheduler
	down     bool
	since    sim.Time
	factor   float64    // of its speed, by changes
	attempts []*attempt // that run there, in the order in which they began
	slots    []holder   // that are there
}

func (c *cluster) addNode(is *Nodes, name string) {
	n := &node{name: name, is: is, factor: 1}
	c.nodes = append(c.nodes, n)
	if c.s.Settings.Classes == "configured" {
		if c.classes == nil {
			c.classes = map[string]int{}
		}
		c.classes[name] = is.Class
	}
	c.enter(n)
	c.capacity = c.capacity.Add(records.NewResource(is.Memory, is.VCores))
}

// enter makes a node known to the scheduler.
func (c *cluster) enter(n *node) {
	n.handle = c.sched.AddNode(scheduler.NodeSpec{Host: n.name, Rack: rack, Capability: records.NewResource(n.is.Memory, n.is.VCores)})
	n.known = true
	if c.s.Settings.Freezes {
		c.sched.SetAbility(n.handle, drive.Ability{Suspend: true, Shrink: true, Reclaim: true})
	}
	for len(c.at) <= int(n.handle) {
		c.at = append(c.at, nil)
	}
	c.at[n.handle] = n
}

const rack = "/default-rack"

// speed returns how fast a node does tasks of a type.
func (n *node) speed(kind, stage string) float64 {
	if n.down {
		return 0
	}
	s := n.is.Speed
	if s == 0 {
		s = 1
	}
	for _, name := range []string{kind + "." + stage, kind, stage} {
		if v, ok := n.is.Speeds[name]; ok {
			s = v
			break
		}
	}
	return s * n.factor * n.part()
}

// part returns which part of its speed each task has that works there: tasks beyond Nodes.Parallel share what these would do.
func (n *node) part() float64 {
	if n.is.Parallel == 0 {
		return 1
	}
	working := 0
	for _, a := range n.attempts {
		if a.works() {
			working++
		}
	}
	return min(1, n.is.Parallel/float64(max(1, working)))
}

// share changes what works at a node, whose tasks may get on more quickly or more slowly for it.
func (n *node) share(change func()) {
	if n.is.Parallel == 0 {
		change()
		return
	}
	for _, a := range n.attempts {
		a.settle()
	}
	change()
	for _, a := range n.attempts {
		a.plan()
	}
}

// fetches returns which part of the bandwidth a reduce has there.
func (n *node) fetches() float64 {
	if n.down {
		return 0
	}
	return min(n.factor, 1)
}

// changed makes a change of the scenario.
type changed struct{ *cluster }

func (c changed) Handle(i int64) {
	c.changes++
	x := &c.s.Changes[i]
	for _, n := range c.nodes {
		if n.name != x.Node && n.is.Name != x.Node {
			continue
		}
		for _, a := range n.attempts {
			a.settle()
		}
		if x.Speed != nil {
			n.factor = *x.Speed
		}
		if x.Down != nil && *x.Down != n.down {
			if n.down = *x.Down; n.down {
				n.since = c.engine.Now()
				c.engine.At(n.since+seconds(c.setting(c.s.Settings.Expiry, defaultExpiry)), expired(c), c.indexOf(n))
			} else {
				c.back(n)
			}
		}
		for _, a := range n.attempts {
			a.plan()
		}
	}
}

func (c *cluster) indexOf(n *node) int64 {
	for i := range c.nodes {
		if c.nodes[i] == n {
			return int64(i)
		}
	}
	return -1
}

// expired notices that a node is lost, if it still is.
type expired struct{ *cluster }

func (c expired) Handle(i int64) {
	n := c.nodes[i]
	if n.down && n.known && c.engine.Now()-n.since >= seconds(c.setting(c.s.Settings.Expiry, defaultExpiry)) {
		c.lose(n)
		c.sched.RemoveNode(n.handle)
		n.known = false
	}
}

// back is a node that registers again: nothing of what ran there is left.
func (c *cluster) back(n *node) {
	c.lose(n)
	if !n.known {
		c.enter(n)
	}
}

// lose ends what runs on a node, and tells all jobs.
func (c *cluster) lose(n *node) {
	slots := n.slots
	n.slots = nil
	for _, h := range slots {
		h.job.lost(h.slot, true)
	}
	for _, j := range slices.Clone(c.live) { // some may end
		j.nodeLost(n)
	}
}
