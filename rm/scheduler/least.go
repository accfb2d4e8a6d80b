package scheduler

import "heddle/rm/queue"

// Where preemption is on, a leaf of a Fair tree that has been below its least share for its timeout has nodes kept for its
// applications also when these have their own fair shares (Hadoop: FSLeafQueue.minShareStarvation, updateStarvedApps). YARN
// marks of its applications, with each look, as many as want what is lacking, but looks at none again for a while, so that
// all that want something are marked in the end; here they are at once.

// poorLeaves are the leaves below their least share, by path, and since when, in ms.
type poorLeaves struct {
	since, before map[string]int64
}

// lookForPoor notes which leaves are below their least share.
func (s *Scheduler) lookForPoor() {
	p := &s.starve.poorLeaves
	p.since, p.before = p.before, p.since
	clear(p.since)
	if !s.tree.Settings.Fair.Preemption {
		clear(p.before)
		return
	}
	for h := range s.queues {
		q := &s.queues[h]
		if !q.live || !q.leaf || q.cfg.Fair.MinTimeout == queue.Never || !q.belowLeast(s.calc.Types()) {
			continue
		}
		at, was := p.before[q.cfg.Path]
		if !was {
			at = s.now
		}
		if p.since == nil {
			p.since = map[string]int64{}
		}
		p.since[q.cfg.Path] = at
	}
}

// belowLeast reports whether a leaf wants more, and has less of anything than its least share. As in YARN, its policy isn't asked.
func (q *runQueue) belowLeast(types int) bool {
	for i := range types {
		if q.used[i] < min(q.guaranteed[i], q.maximum[i], q.used[i]+q.pending[i]) {
			return true
		}
	}
	return false
}

// poor reports whether a leaf has been below its least share for its timeout.
func (s *Scheduler) poor(leaf int32) bool {
	q := &s.queues[leaf]
	at, ok := s.starve.since[q.cfg.Path]
	return ok && s.now-at >= q.cfg.Fair.MinTimeout.Milliseconds() && s.crowded()
}

// crowded reports whether so much of the cluster is used that preemption may begin.
func (s *Scheduler) crowded() bool {
	most := s.tree.Settings.Fair.UtilizationThreshold
	for i := range 2 { // memory and vcores only, as in YARN
		if has := s.calc.Cluster[i]; has > 0 && float64(s.queues[root].used[i])/float64(has) > most {
			return true
		}
	}
	return false
}
