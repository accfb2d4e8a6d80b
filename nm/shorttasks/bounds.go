package shorttasks

import "heddle/nm/probe"

// Bounds holds the processes of all executors together to an amount: each may use all that is lent, and so may all of them only together.
type Bounds interface {
	// Set makes the amount another one. It may block. It fails, and changes nothing, while processes use more memory than that.
	Set(most probe.Amount) error
	// Memory returns how much memory the processes use, in bytes. It fails if that can't be told.
	Memory() (int64, error)
}

// bound is the amount that holds executors together. The Node's lock guards it.
type bound struct {
	now     probe.Amount // in force; zero: none was set yet
	setting bool
	refused bool // the log has told that the last one isn't in force yet
}

// hold sets the bound to the lent amount. Running tasks keep what they use until they end, and so do processes that can't give memory back: hold is
// called again and again. The lock is held.
func (n *Node) hold() {
	if n.o.Bounds == nil || n.bound.setting || n.ctx.Err() != nil {
		return
	}
	most, used := n.worker.Use()
	if !used.Fits(most) {
		most = probe.Amount{MemoryMB: max(most.MemoryMB, n.bound.now.MemoryMB), VCores: max(most.VCores, n.bound.now.VCores)}
	}
	if most == n.bound.now {
		return
	}
	n.bound.setting = true
	n.serving.Go(func() {
		err := n.o.Bounds.Set(most)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.bound.setting = false
		if err == nil {
			n.bound.now, n.bound.refused = most, false
			return
		}
		if !n.bound.refused {
			n.bound.refused = true
			n.log.WithError(err).Warnf("executors of short tasks aren't held to %d MB and %d vcores yet; trying again",
				most.MemoryMB, most.VCores)
		}
	})
}

// measured returns how much memory counts as used: the tasks' grants, or the use of the executors' processes, whichever is more. Where less is lent
// than before and they aren't held to that yet, it is all that they are held to: others may not have it.
func (n *Node) measured(lent, used, bound int64) int64 {
	if n.o.Bounds == nil {
		return used
	}
	if bound > lent {
		used = max(used, bound)
	}
	if bytes, err := n.o.Bounds.Memory(); err == nil {
		used = max(used, (bytes+1<<20-1)>>20)
	}
	return used
}
