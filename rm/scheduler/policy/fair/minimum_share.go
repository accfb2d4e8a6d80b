package fair

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
)

// Where preemption is on, a leaf of a Fair tree that has been below its minimum share for its timeout has nodes reserved for its
// applications also when these have their own fair shares (Hadoop: FSLeafQueue.minShareStarvation, updateStarvedApps). YARN
// marks of its applications, with each look, as many as want what is lacking, but looks at none again for a while, so that
// all that want something are marked in the end; here they are at once.

// starvedLeaves are the leaves below their minimum share, by path, and since when, in ms.
type starvedLeaves struct {
	since, before map[string]int64
}

// findStarvedLeaves notes which leaves are below their minimum share.
func (p *Policy) findStarvedLeaves() {
	w := &p.starve.starvedLeaves
	w.since, w.before = w.before, w.since
	clear(w.since)
	if !p.s.Tree.Settings.Fair.Preemption {
		clear(w.before)
		return
	}
	for h := range p.s.Queues {
		q := &p.s.Queues[h]
		if !q.Live || !q.Leaf || q.Cfg.Fair.MinTimeout == queue.Never || !belowMinimumShare(q, p.s.Calc.Types()) {
			continue
		}
		at, was := w.before[q.Cfg.Path]
		if !was {
			at = p.s.Now
		}
		if w.since == nil {
			w.since = map[string]int64{}
		}
		w.since[q.Cfg.Path] = at
	}
}

// belowMinimumShare reports whether a leaf wants more, and has less of anything than its minimum share. As in YARN, its policy isn't asked.
func belowMinimumShare(q *core.Queue, types int) bool {
	for i := range types {
		if q.Used[i] < min(q.Guaranteed[i], q.Maximum[i], q.Used[i]+q.Pending[i]) {
			return true
		}
	}
	return false
}

// leafStarves reports whether a leaf has been below its minimum share for its timeout.
func (p *Policy) leafStarves(leaf int32) bool {
	q := &p.s.Queues[leaf]
	at, ok := p.starve.since[q.Cfg.Path]
	return ok && p.s.Now-at >= q.Cfg.Fair.MinTimeout.Milliseconds() && p.crowded()
}

// crowded reports whether so much of the cluster is used that preemption may begin.
func (p *Policy) crowded() bool {
	most := p.s.Tree.Settings.Fair.UtilizationThreshold
	for i := range 2 { // memory and vcores only, as in YARN
		if has := p.s.Calc.Cluster[i]; has > 0 && float64(p.s.Queues[core.Root].Used[i])/float64(has) > most {
			return true
		}
	}
	return false
}
