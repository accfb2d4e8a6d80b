package sched

import "time"

// Quote is when a node expects that a probe which it has accepted has its turn, from then on.
type Quote struct {
	P50, P95 time.Duration
	Memory   bool // an input of its tasks will be in memory there by then
}

// Quoted takes the quote of a node that has accepted probes of a job; Answered was called for each of them. If they would wait for longer than Config.Decline, and the
// job has probes elsewhere, all of the job's probes there are declined: the caller tells the node to drop them, and sends probes to the nodes that Quoted returns. A node
// with an input in memory keeps them for up to twice as long: elsewhere the tasks would wait for a disk. A job declines at most as many as it sends for its tasks, so
// that a busy cluster isn't probed without end.
//
// A job of which nodes lately expect waits of Config.CloneBelow or more in the mean gets no clones.
func (s *Scheduler) Quoted(id ID, node Node, q Quote) (next []Node, declined bool) {
	j := s.find(id)
	if j == nil {
		return nil, false
	}
	j.quotes = min(j.quotes+1, meanOf)
	j.quoted += (float64(q.P50) - j.quoted) / float64(j.quotes)
	bound := s.cfg.Decline
	if q.Memory {
		bound *= 2
	}
	if bound <= 0 || q.P50 <= bound || j.left == 0 || j.where != nil {
		return nil, false
	}
	here := 0
	for _, n := range j.probed {
		if n == node {
			here++
		}
	}
	if here == 0 || int(j.out) <= here || int(j.declined)+here > s.probes(len(j.tasks)) {
		return nil, false
	}
	elsewhere := s.draw(j, 2*here, s.known)[:0]
	for _, n := range s.draws {
		if n != node && len(elsewhere) < here {
			elsewhere = append(elsewhere, n)
		}
	}
	if len(elsewhere) == 0 {
		return nil, false
	}
	s.GaveBack(id, node, here)
	j.declined += int32(here)
	return s.sent(j, elsewhere), true
}
