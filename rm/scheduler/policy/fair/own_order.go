package fair

import (
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/nodeset"
)

// HeldByOwn lists the demands that come before one of an application's, and reports whether one of them keeps it from all nodes.
func (p *Policy) HeldByOwn(a *core.App, d *core.Demand) bool {
	w := &p.starve
	if a.Sole != nil {
		w.clearAhead()
		return false
	}
	// Mostly demands are asked about one after the other, between which nothing has changed.
	next := p.s.Demanded.Front(&a.Set)
	if w.upTo != nil && w.upTo.App == d.App && w.changes == p.s.Changes && w.upTo.Compare(d.Priority, d.RequestID) <= 0 {
		next = w.upTo
	} else {
		w.clearAhead()
	}
	for ; next != d; next = p.s.Demanded.After(next) {
		p.s.Demanded.Passed++
		if next.Pending == 0 || next.Why == demand.Waits || !p.s.BelowMaximum(a.Leaf, &next.Size) {
			continue
		}
		if p.everywhere(next) {
			w.upTo, w.changes = next, p.s.Changes
			return true
		}
		w.add(next)
	}
	w.upTo, w.changes = d, p.s.Changes
	return false
}

// add enters a demand among those ahead. Of those that may go anywhere one of each size will do.
func (w *starve) add(e *core.Demand) {
	if e.RelaxAny && !e.Choosy && e.Class != class.Shared {
		if w.sizes&(1<<e.Class) != 0 {
			return
		}
		w.sizes |= 1 << e.Class
	}
	w.ahead = append(w.ahead, e)
}

func (w *starve) clearAhead() { w.ahead, w.upTo, w.sizes = w.ahead[:0], nil, 0 }

// everywhere reports whether all nodes are such as a demand could have a container on.
func (p *Policy) everywhere(e *core.Demand) bool {
	smallest := p.s.Nodes.Smallest()
	return e.RelaxAny && !e.Choosy && p.s.Calc.Fits(&e.Size, &smallest)
}

// unblockAll does so for all applications without a demand that holds the others everywhere: the room of queues, and the
// nodes, may have changed.
func (p *Policy) unblockAll() {
	for h := range p.s.Apps {
		a := &p.s.Apps[h]
		if p.s.Demanded.Blocked == 0 {
			break // nobody's, of very many who may be there
		}
		if !a.Active || a.Blocked == 0 {
			continue
		}
		for d := range p.s.Demands(a) {
			if d.Why == demand.BehindOwn && !p.HeldByOwn(a, d) {
				d.Hosts, d.Racks = true, true
				p.s.Unpark(d)
			}
		}
	}
	p.starve.clearAhead()
}

// Shuns reports whether a more urgent demand of the application whose turn it is comes first on a node.
func (p *Policy) Shuns(n *nodeset.Node) bool {
	for _, e := range p.starve.ahead {
		if _, ok := p.admits(e, n); ok && e.Size.FitsIn(*p.s.Nodes.Capability(n)) {
			return true
		}
	}
	return false
}
