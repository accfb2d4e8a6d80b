package sim

import (
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Paging is what it costs nodes to take memory from containers. The zero Paging costs nothing.
type Paging struct {
	// Out and In are bytes a second at which a node pages out and in. 0: at once.
	Out, In int64
	// Resident is the part of its memory that a task uses, 0 to 1. A container that is left no less than that continues at full rate, and
	// nothing is paged out. 0 is all of it.
	Resident float64
}

// resident returns how many bytes a task uses of what its container claims.
func (p Paging) resident(claim records.Resource) int64 {
	bytes := claim.MemoryMB() << 20
	if p.Resident > 0 {
		return int64(p.Resident * float64(bytes))
	}
	return bytes
}

// rate returns how quickly a task continues with what its container holds: as quickly as the scarcest of that allows.
func (p Paging) rate(held, claim records.Resource) float64 {
	rate := 1.0
	for i := range claim {
		switch {
		case claim[i] <= 0:
		case i == records.Memory:
			rate = min(rate, float64(held.MemoryMB()<<20)/float64(p.resident(claim)))
		default:
			rate = min(rate, float64(held[i])/float64(claim[i]))
		}
	}
	return rate
}

// node is the memory of a node.
type node struct {
	free int64 // bytes that no container is to hold
	busy Time  // until then its disk pages out what they are not to hold any more
}

// page pages out or in what follows from what a container holds from now on, and returns how long the task waits for pages. What is
// paged out goes through the node's disk one after the other.
func (c *Cluster) page(h scheduler.NodeHandle, l *lack, held, claim records.Resource) (wait Time) {
	out := max(c.paging.resident(claim)-held.MemoryMB()<<20, 0)
	moved := out - l.swapped
	l.swapped = out
	n := &c.nodes[h]
	switch {
	case moved > 0 && c.paging.Out > 0:
		n.busy = max(n.busy, c.engine.Now()) + lasting(moved, c.paging.Out)
	case moved < 0 && c.paging.In > 0:
		return lasting(-moved, c.paging.In)
	}
	return 0
}

// admission returns how long a container that was just granted waits on its node, until memory that others hold no more has been paged out.
func (c *Cluster) admission(h scheduler.NodeHandle) Time {
	if c.paging.Out == 0 {
		return 0
	}
	n := &c.nodes[h]
	paging := n.busy - c.engine.Now()
	if paging <= 0 {
		return 0
	}
	return max(paging-lasting(max(n.free, 0), c.paging.Out), 0)
}

// lasting returns how long bytes take at a rate.
func lasting(bytes, rate int64) Time { return Time(float64(bytes) / float64(rate) * 1e9) }
