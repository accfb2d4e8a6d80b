package scheduler

import (
	"fmt"

	"heddle/rm/queue"
	"heddle/yarn/records"
)

// In Fair queues what an application asks for less urgently gets nothing on nodes that its more urgent asks could have if
// they were empty: as in YARN only the first ask that may go to a node is looked at there (Hadoop: FSAppAttempt.assignContainer).
// So an application's small containers don't take each bit that becomes free from its own large ones.

// setAhead lists the demands that come before one of an application's, and reports whether one of them keeps it from all nodes.
func (s *Scheduler) setAhead(a *app, i int) bool {
	s.starve.ahead = s.starve.ahead[:0]
	if s.tree.Kind != queue.Fair {
		return false
	}
	for _, e := range a.demands[:i] {
		if e.pending == 0 || !s.belowMaximum(a.leaf, &e.size) {
			continue
		}
		if s.everywhere(e) {
			return true
		}
		s.starve.ahead = append(s.starve.ahead, e)
	}
	return false
}

// everywhere reports whether all nodes are such as a demand could have a container on.
func (s *Scheduler) everywhere(e *demand) bool {
	s.measureNodes()
	return e.relaxAny && !e.choosy && s.fits(&e.size, &s.smallest)
}

// shuns reports whether nothing of what an application asks for now may go to a node: it excludes the node, or a more urgent
// ask comes first there.
func (s *Scheduler) shuns(a *app, n *node) bool {
	if a.blacklisted(n) {
		return true
	}
	for _, e := range s.starve.ahead {
		if _, ok := s.admits(e, n); ok && e.size.FitsIn(*s.capability(n)) {
			return true
		}
	}
	return false
}

// unblock lets the demands of an application be tried again that its more urgent ones held.
func (s *Scheduler) unblock(a *app) {
	for _, d := range a.demands {
		if d.state.why == behindOwn {
			d.state.why = untried
		}
	}
}

// unblockAll does so for all applications of whom no demand holds the others everywhere: what queues may have still, and which
// nodes there are, may have changed.
func (s *Scheduler) unblockAll() {
	for h := range s.apps {
		a := &s.apps[h]
		if !a.active || len(a.demands) < 2 {
			continue
		}
		for i, d := range a.demands {
			if d.state.why == behindOwn && !s.setAhead(a, i) {
				s.unpark(d)
			}
		}
	}
	s.starve.ahead = s.starve.ahead[:0]
}

func (s *Scheduler) explainOwn(a *app, d *demand, r *Reason) bool {
	if d.state.why != behindOwn {
		return false
	}
	s.measureNodes()
	for _, e := range a.demands {
		if e == d {
			break
		}
		if e.pending == 0 || !s.belowMaximum(a.leaf, &e.size) || !s.fits(&e.size, &s.largest) {
			continue
		}
		r.Limit, r.Short = BehindOwn, records.Resource{}
		r.Text = fmt.Sprintf("the application's request for %s, of priority %d, is more urgent, and comes first on the nodes that are large enough for it",
			s.format(e.capability), e.priority)
		r.Free = "room for that request, or its withdrawal"
		return true
	}
	return false
}
