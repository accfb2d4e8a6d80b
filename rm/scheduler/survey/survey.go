// Package survey knows what the nodes of a cluster have and how fast they are, and by that what an application could do alone: the
// denominator of Eunomia's shares (seed 000, equation 5.1). All leaves share one Cluster, as it doesn't depend on them.
package survey

import (
	"math"

	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Task is a type of tasks whose speeds on nodes are known apart.
type Task uint8

// Types of tasks. Containers that aren't reduces count as maps.
const (
	Map    Task = iota
	Reduce      // from its shuffle on
	Tasks       // how many have speeds
	// Even is a task that takes the same time on all nodes.
	Even = Tasks
)

// Interval is how long after a change of nodes sums are computed again, at the least, in ms. Until then they follow by differences.
const Interval = 100

// Cluster is the nodes. Make it with New. It isn't safe for concurrent use.
type Cluster struct {
	nodes  []node // by handle
	speeds map[string][Tasks]float64
	mean   [Tasks]float64 // of the nodes whose speed is known; that of the others
	total  records.Resource
	types  int

	sizes  []size
	number map[records.Resource]int32 // by size
	free   []int32

	stale   bool
	summed  int64 // when, in ms
	version int64
}

// node begins with what is read at each grant and each end, so that it comes from memory together.
type node struct {
	speed      [Tasks + 1]float64
	live       bool
	host       string
	capability records.Resource
}

// size is a size of tasks.
type size struct {
	of    records.Resource
	held  int32              // as often
	alone [Tasks + 1]float64 // Σ H·P
}

// New returns a cluster without nodes.
func New() *Cluster {
	c := &Cluster{speeds: map[string][Tasks]float64{}, number: map[records.Resource]int32{}, types: records.MaxResourceTypes}
	for t := range c.mean {
		c.mean[t] = 1
	}
	return c
}

// Version changes with each Refresh that has found something: shares are to be computed again then.
func (c *Cluster) Version() int64 { return c.version }

// tasks returns how many tasks of a size a node can hold: H of equation 5.1. Only the types count of which a task needs something.
func (c *Cluster) tasks(capability, size *records.Resource) float64 {
	most := int64(math.MaxInt64)
	for i := range c.types {
		if size[i] > 0 {
			most = min(most, max(0, capability[i])/size[i])
		}
	}
	if most == math.MaxInt64 {
		return 0
	}
	return float64(most)
}

// units returns how many tasks of a size a container counts as: by the type of which it has most.
func (c *Cluster) units(size, container *records.Resource) (n float64) {
	for i := range c.types {
		if size[i] > 0 {
			n = max(n, float64(container[i])/float64(size[i]))
		}
	}
	return n
}

// Share returns the dominant share of an amount in the cluster; 0 if there are no nodes.
func (c *Cluster) Share(r *records.Resource) (worst float64) {
	for i := range c.types {
		if c.total[i] > 0 {
			worst = max(worst, float64(r[i])/float64(c.total[i]))
		}
	}
	return worst
}

// Progress returns what a container on a node does, in tasks of a size at speed 1.
func (c *Cluster) Progress(n handle.Node, t Task, of int32, container *records.Resource) float64 {
	return c.speedOf(n, t) * c.units(&c.sizes[of].of, container)
}

func (c *Cluster) speedOf(n handle.Node, t Task) float64 {
	switch {
	case n >= 0 && int(n) < len(c.nodes) && c.nodes[n].live:
		return c.nodes[n].speed[t]
	case t == Even:
		return 1
	}
	return c.mean[t]
}

// Alone returns the progress of an application with tasks of a size that has the whole cluster and no constraints.
func (c *Cluster) Alone(of int32, t Task) float64 { return c.sizes[of].alone[t] }

// Hold returns the number of a size, which is good until it is dropped as often.
func (c *Cluster) Hold(of *records.Resource) int32 {
	i, ok := c.number[*of]
	if !ok {
		if n := len(c.free); n > 0 {
			i, c.free = c.free[n-1], c.free[:n-1]
		} else {
			i, c.sizes = int32(len(c.sizes)), append(c.sizes, size{})
		}
		c.sizes[i] = size{of: *of}
		c.number[*of] = i
		c.sum(&c.sizes[i])
	}
	c.sizes[i].held++
	return i
}

// HoldAgain is Hold of a size that has this number.
func (c *Cluster) HoldAgain(i int32) int32 {
	c.sizes[i].held++
	return i
}

// Size returns the size that has a number.
func (c *Cluster) Size(i int32) *records.Resource { return &c.sizes[i].of }

// Drop gives a size back.
func (c *Cluster) Drop(i int32) {
	x := &c.sizes[i]
	if x.held--; x.held == 0 {
		delete(c.number, x.of)
		c.free = append(c.free, i)
	}
}

// sum computes what an application could do with tasks of a size.
func (c *Cluster) sum(x *size) {
	x.alone = [Tasks + 1]float64{}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.live {
			c.add(x, n, 1)
		}
	}
}

func (c *Cluster) add(x *size, n *node, by float64) {
	tasks := by * c.tasks(&n.capability, &x.of)
	for t := range x.alone {
		x.alone[t] += tasks * n.speed[t]
	}
}

// Enter records a node, or its new capability.
func (c *Cluster) Enter(h handle.Node, host string, capability records.Resource) {
	for len(c.nodes) <= int(h) {
		c.nodes = append(c.nodes, node{})
	}
	c.Leave(h)
	x := &c.nodes[h]
	*x = node{live: true, host: host, capability: capability, speed: c.effective(host)}
	c.total = c.total.Add(capability)
	c.change(x, 1)
}

// Leave forgets a node, if it is known.
func (c *Cluster) Leave(h handle.Node) {
	if int(h) >= len(c.nodes) || !c.nodes[h].live {
		return
	}
	x := &c.nodes[h]
	c.total = c.total.Sub(x.capability)
	c.change(x, -1)
	*x = node{}
}

// change updates the sums for a node.
func (c *Cluster) change(n *node, by float64) {
	for i := range c.sizes {
		if x := &c.sizes[i]; x.held > 0 {
			c.add(x, n, by)
		}
	}
	c.stale = true
}

// SetSpeed says how fast the nodes of a host run tasks: a task that takes t at speed 1 takes t/speed. 0 is unknown. It has its effect with the
// next Refresh.
func (c *Cluster) SetSpeed(host string, t Task, speed float64) {
	s := c.speeds[host]
	if s[t] = 0; speed > 0 && !math.IsInf(speed, 0) {
		s[t] = speed
	}
	if c.speeds[host] = s; s == [Tasks]float64{} {
		delete(c.speeds, host)
	}
	c.stale = true
}

// effective returns the speed of a host's nodes by type of tasks. A node of unknown speed counts as the mean.
func (c *Cluster) effective(host string) (speed [Tasks + 1]float64) {
	known := c.speeds[host]
	for t := range known {
		if speed[t] = known[t]; speed[t] == 0 {
			speed[t] = c.mean[t]
		}
	}
	speed[Even] = 1
	return speed
}

// Refresh computes sums again that have changed, if the last time is an Interval ago, and reports whether it has. Types is how many types of
// resources count, now is in ms.
func (c *Cluster) Refresh(now int64, types int) bool {
	if types != c.types {
		c.types, c.stale = types, true
		c.summed = now - Interval
	}
	if !c.stale || now >= c.summed && now-c.summed < Interval {
		return false
	}
	c.stale, c.summed = false, now
	c.version++
	c.average()
	for i := range c.nodes {
		if n := &c.nodes[i]; n.live {
			n.speed = c.effective(n.host)
		}
	}
	for i := range c.sizes {
		if x := &c.sizes[i]; x.held > 0 {
			c.sum(x)
		}
	}
	return true
}

// average finds the mean of the speeds that are known.
func (c *Cluster) average() {
	var sum, known [Tasks]float64
	for i := range c.nodes {
		n := &c.nodes[i]
		if !n.live {
			continue
		}
		for t, s := range c.speeds[n.host] {
			if s > 0 {
				sum[t], known[t] = sum[t]+s, known[t]+1
			}
		}
	}
	for t := range c.mean {
		if c.mean[t] = 1; known[t] > 0 {
			c.mean[t] = sum[t] / known[t]
		}
	}
}
