package scheduler

import (
	"fmt"
	"slices"

	"heddle/rm/queue"
	"heddle/rm/scheduler/class"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// In Fair queues what an application asks for less urgently gets nothing on nodes that its more urgent asks could have if
// they were empty: as in YARN only the first ask that may go to a node is looked at there (Hadoop: FSAppAttempt.assignContainer).
// So an application's small containers don't take each bit that becomes free from its own large ones.

// setAhead lists the demands that come before one of an application's, and reports whether one of them keeps it from all nodes.
func (s *Scheduler) setAhead(a *app, d *demand) bool {
	w := &s.starve
	if s.tree.Kind != queue.Fair {
		w.clearAhead()
		return false
	}
	// Mostly demands are asked about one after the other, between which nothing has changed.
	next := s.lines.Front(&a.demands)
	if w.upTo != nil && w.upTo.app == d.app && w.changes == s.changes && w.upTo.compare(d.priority, d.requestID) <= 0 {
		next = w.upTo.el
	} else {
		w.clearAhead()
	}
	for ; next != d.el; next = s.lines.After(next) {
		s.passed++
		e := s.demandOf[next]
		if e.pending == 0 || !s.belowMaximum(a.leaf, &e.size) {
			continue
		}
		if s.everywhere(e) {
			w.upTo, w.changes = e, s.changes
			return true
		}
		w.add(e)
	}
	w.upTo, w.changes = d, s.changes
	return false
}

// add enters a demand among those ahead. Of those that may go anywhere one of each size will do.
func (w *starve) add(e *demand) {
	if e.relaxAny && !e.choosy && e.class != class.Shared {
		if w.sizes&(1<<e.class) != 0 {
			return
		}
		w.sizes |= 1 << e.class
	}
	w.ahead = append(w.ahead, e)
}

func (w *starve) clearAhead() { w.ahead, w.upTo, w.sizes = w.ahead[:0], nil, 0 }

// everywhere reports whether all nodes are such as a demand could have a container on.
func (s *Scheduler) everywhere(e *demand) bool {
	s.measureNodes()
	return e.relaxAny && !e.choosy && s.calc.Fits(&e.size, &s.smallest)
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

// heldByOwn reports whether there is room where a demand prefers its containers, and a more urgent ask of its application comes first there.
func (s *Scheduler) heldByOwn(a *app, d *demand) bool {
	if len(s.starve.ahead) == 0 {
		return false
	}
	held := func(h handle.Node) bool {
		return h != handle.NoNode && s.takes(&s.nodes[h], &d.size) && !a.blacklisted(&s.nodes[h]) && s.shuns(a, &s.nodes[h])
	}
	for i := range d.places {
		p := &d.places[i]
		if p.count == 0 {
			continue
		}
		if slices.ContainsFunc(s.sites[p.name].nodes, held) {
			return true
		}
		if r := s.sites[p.name].rack; r != nil && p.relax && slices.ContainsFunc(r.nodes, held) {
			return true
		}
	}
	return false
}

// unblock lets the demands of an application be tried again that its more urgent ones held.
func (s *Scheduler) unblock(a *app) {
	if a.blocked == 0 {
		return
	}
	for d := range s.demands(a) {
		if d.why == behindOwn {
			d.hosts, d.racks = true, true // where it was held there may be room
			s.setWhy(d, untried)
		}
	}
}

// unblockAll does so for all applications of whom no demand holds the others everywhere: what queues may have still, and which
// nodes there are, may have changed.
func (s *Scheduler) unblockAll() {
	for h := range s.apps {
		a := &s.apps[h]
		if !a.active || a.blocked == 0 {
			continue
		}
		for d := range s.demands(a) {
			if d.why == behindOwn && !s.setAhead(a, d) {
				d.hosts, d.racks = true, true
				s.unpark(d)
			}
		}
	}
	s.starve.clearAhead()
}

func (s *Scheduler) explainOwn(a *app, d *demand, r *Reason) bool {
	if d.why != behindOwn {
		return false
	}
	s.measureNodes()
	for e := range s.demands(a) {
		if e == d {
			break
		}
		if e.pending == 0 || !s.belowMaximum(a.leaf, &e.size) || !s.calc.Fits(&e.size, &s.largest) {
			continue
		}
		r.Limit, r.Short = BehindOwn, records.Resource{}
		r.Text = fmt.Sprintf("the application's request for %s, of priority %d, is more urgent, and comes first on the nodes that are large enough for it",
			s.format(e.capability), e.priority)
		r.Free = "room for that request, or its withdrawal"
		return true
	}
	// What came first may have gone above a maximum since; that is seen with the next look at who starves.
	r.Limit, r.Short = BehindOwn, records.Resource{}
	r.Text = "a more urgent request of the application came first when it was last looked at; it is looked at again at the next update of shares"
	r.Free = "the next update of shares"
	return true
}
