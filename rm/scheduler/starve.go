package scheduler

import (
	"fmt"
	"math"
	"slices"

	"heddle/rm/queue"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// In Fair queues nodes are kept for applications that have less than their fair share, for containers of some size (Hadoop:
// FSAppAttempt.isReservable; for others see least.go). Any node may be, also one without anything free, and several for one container: whichever has
// room first. YARN looks at one node with each heartbeat; here all are looked at once, as often as shares are computed anew,
// and only for applications that nothing else could be found for.

// starve is what is known of who might have nodes kept.
type starve struct {
	whole  nodeindex.Index // what nodes have that take containers and are kept for nobody
	at     int64           // ms: when it was looked last who starves
	looked bool
	hungry []handle.App
	// See setAhead: the demands ahead of one, the classes of those that may go anywhere, and since when nothing has changed.
	ahead   []*demand
	upTo    *demand
	sizes   order.Mask
	changes int64
	poorLeaves
}

// reindexWhole enters a node into the index of those that may be kept.
func (s *Scheduler) reindexWhole(h handle.Node) {
	if s.tree.Kind != queue.Fair {
		return
	}
	has := &nodeindex.Closed
	if n := &s.nodes[h]; n.open && n.reserved == handle.NoContainer {
		has = s.capability(n)
	}
	s.starve.whole.Set(int(h), has)
}

// review reports whether it is time to look who starves, and has reservations looked at then. If it isn't yet, the scheduler
// wakes up for it.
func (s *Scheduler) review() bool {
	if s.tree.Kind != queue.Fair {
		return false
	}
	if s.queues[root].pending.IsZero() {
		clear(s.starve.since)
		return false
	}
	if due := s.starve.at + s.fairInterval(); s.starve.looked && s.now < due {
		s.wakeAt(due)
		return false
	}
	s.starve.at, s.starve.looked = s.now, true
	s.lookForPoor()
	s.unblockAll()
	if len(s.reserved) > 0 {
		s.recheck, s.roomier = true, true
	}
	return true
}

// keepForStarved keeps nodes for those who starve, in the order of their turns.
func (s *Scheduler) keepForStarved() {
	w := &s.starve
	w.hungry = w.hungry[:0]
	for h := range s.apps {
		if a := &s.apps[h]; a.active && a.pending > 0 && s.wantsLarge(a) {
			w.hungry = append(w.hungry, handle.App(h))
		}
	}
	if len(w.hungry) == 0 {
		return
	}
	s.keepFairDue()
	w.hungry = slices.DeleteFunc(w.hungry, func(h handle.App) bool { return !s.starves(h) })
	slices.SortFunc(w.hungry, s.compareTurns)
	for _, h := range w.hungry {
		for d := range s.demands(&s.apps[h]) {
			if s.setAhead(&s.apps[h], d) {
				break
			}
			if d.pending > 0 && s.isLarge(&s.apps[h], d) && s.belowMaximum(s.apps[h].leaf, &d.size) {
				s.keepNodes(h, d)
			}
		}
	}
	w.clearAhead()
}

// wantsLarge reports whether an application asks for something that nodes are kept for.
func (s *Scheduler) wantsLarge(a *app) bool {
	for d := range s.demands(a) {
		if d.pending > 0 && s.isLarge(a, d) {
			return true
		}
	}
	return false
}

// isLarge reports whether nodes are kept for a demand of this size. Where dominant resources count, the others decide among
// equals.
func (s *Scheduler) isLarge(a *app, d *demand) bool {
	least := &s.tree.Settings.Fair.ReservedFrom
	if s.queues[a.leaf].apps == order.ByDominance {
		return !s.calc.Less(&d.capability, least)
	}
	return d.capability[records.Memory] >= least[records.Memory]
}

// isBelow reports whether an application has less than an amount by its leaf's policy: of the dominant resource, or of memory.
func (s *Scheduler) isBelow(a *app, due *records.Resource) bool {
	if s.queues[a.leaf].apps == order.ByDominance {
		return s.calc.Share(&a.used) < s.calc.Share(due)
	}
	return a.used[records.Memory] < due[records.Memory]
}

// starves reports whether an application has less than its fair share, or its leaf less than its least share.
func (s *Scheduler) starves(h handle.App) bool {
	a := &s.apps[h]
	due := s.dueTo(h, s.fair.of)
	return s.isBelow(a, &due) || s.poor(a.leaf)
}

// dueTo is the fair share of an application.
func (s *Scheduler) dueTo(h handle.App, of map[int32]*fairshare.Queue) (due records.Resource) {
	q := of[s.apps[h].leaf]
	if q == nil {
		return due
	}
	at, ok := slices.BinarySearchFunc(q.Apps, int32(h), func(p fairshare.App, h int32) int { return int(p.Handle - h) })
	if ok {
		due = q.Apps[at].Fair
	}
	return due
}

// compareTurns says whose turn is earlier.
func (s *Scheduler) compareTurns(x, y handle.App) int {
	a, b := &s.apps[x], &s.apps[y]
	if x == y {
		return 0
	}
	if a.leaf == b.leaf {
		return s.compareIn(s.queues[a.leaf].apps, a.el, b.el)
	}
	p, q := a.leaf, b.leaf
	for s.depth(p) > s.depth(q) {
		p = s.queues[p].parent
	}
	for s.depth(q) > s.depth(p) {
		q = s.queues[q].parent
	}
	for s.queues[p].parent != s.queues[q].parent {
		p, q = s.queues[p].parent, s.queues[q].parent
	}
	return s.compareIn(s.queues[s.queues[p].parent].inner.Rule, s.queues[p].el, s.queues[q].el)
}

func (s *Scheduler) compareIn(r order.Rule, i, j int32) int {
	if s.el.Less(r, i, j) {
		return -1
	}
	return 1
}

func (s *Scheduler) depth(h int32) (n int) {
	for ; s.queues[h].parent != order.Nothing; h = s.queues[h].parent {
		n++
	}
	return n
}

// keepNodes keeps nodes for a demand that has room nowhere: any number where it prefers to be, of others no more than the
// share that one application may have.
func (s *Scheduler) keepNodes(h handle.App, d *demand) {
	a := &s.apps[h]
	s.startDelay(d)
	for i := range d.places {
		p := &d.places[i]
		if p.count == 0 {
			continue
		}
		site := &s.sites[p.name]
		for _, nh := range site.nodes {
			s.keepNode(h, a, d, nh, NodeLocal)
		}
		if site.rack != nil {
			for _, nh := range site.rack.nodes {
				if nh != handle.NoNode && s.keptInRack(h, s.nodes[nh].rack) < s.mayKeep(len(site.rack.nodes)-len(site.rack.free)) {
					s.keepNode(h, a, d, nh, RackLocal)
				}
			}
		}
	}
	most := s.mayKeep(s.openNodes)
	for at := 0; s.keptFor(a) < most; at++ {
		if at = s.starve.whole.Next(at, &d.size); at < 0 {
			return
		}
		s.keepNode(h, a, d, handle.Node(at), OffSwitch)
	}
}

// startDelay has the delay for locality begin with the first time that a demand is looked at, whether or not any node has room.
func (s *Scheduler) startDelay(d *demand) {
	_, anywhere := s.delays(d)
	if anywhere == 0 {
		return
	}
	if d.since == 0 {
		d.since = s.now
		if s.now == 0 {
			d.since = -1
		}
	}
	if s.now < d.since+anywhere {
		s.wakeAt(s.now + s.fairInterval())
	}
}

// keepNode keeps a node for a demand, if it may go there and is so near.
func (s *Scheduler) keepNode(h handle.App, a *app, d *demand, nh handle.Node, level Locality) {
	n := &s.nodes[nh]
	if !s.reservable(n, &d.size) || s.shuns(a, n) {
		return
	}
	if is, ok := s.admits(d, n); ok && is == level {
		s.keep(h, a, d, nh)
	}
}

// mayKeep is on how many of some nodes one application may have reservations.
func (s *Scheduler) mayKeep(nodes int) int {
	return int(math.Ceil(float64(float32(nodes) * float32(s.tree.Settings.Fair.ReservableNodes))))
}

func (s *Scheduler) keptFor(a *app) (n int) {
	for d := range s.demands(a) {
		n += int(d.reservations)
	}
	return n
}

func (s *Scheduler) keptInRack(h handle.App, rack int32) (n int) {
	for _, c := range s.reserved {
		if x := &s.containers[c]; x.app == h && s.nodes[x.node].rack == rack {
			n++
		}
	}
	return n
}

// admits reports whether a demand may have a container on a node now, as far as places and their delays go, and how near the
// node is then (Hadoop: FSAppAttempt.hasContainerForNode, assignContainer).
func (s *Scheduler) admits(d *demand, n *node) (Locality, bool) {
	if !d.choosy {
		return OffSwitch, d.relaxAny
	}
	host, rack := d.wants(n.host) > 0, d.wants(n.rack) > 0
	if !d.relaxAny && !host && !rack || rack && !host && !d.relaxes(n.rack) {
		return OffSwitch, false
	}
	if host {
		return NodeLocal, true
	}
	near, anywhere := s.delays(d)
	waited := int64(0)
	if d.since != 0 {
		waited = s.now - d.since
	}
	switch {
	case rack && waited >= near:
		return RackLocal, true
	case d.relaxAny && waited >= anywhere:
		return OffSwitch, true
	}
	return OffSwitch, false
}

// explainUnkept says why no node is kept for an ask that finds no room in Fair queues.
func (s *Scheduler) explainUnkept(a *app, d *demand, r *Reason) {
	if s.tree.Kind != queue.Fair || !a.live {
		return
	}
	f := &s.tree.Settings.Fair
	due := s.dueTo(handle.App(s.el.Ref(a.el)), s.fairDue())
	switch kept, most := s.keptFor(a), s.mayKeep(s.openNodes); {
	case !s.isLarge(a, d):
		r.Text += fmt.Sprintf("; none is kept for it, as it is smaller than %s (reservation-threshold.increment-multiple)", s.format(f.ReservedFrom))
	case !s.isBelow(a, &due) && !s.poor(a.leaf):
		r.Text += fmt.Sprintf("; none is kept for it, as the application has its fair share of %s", s.format(due))
	case kept >= most:
		r.Text += fmt.Sprintf("; none is kept for it, as %d of %d nodes are kept for the application (reservable-nodes)", kept, s.openNodes)
	}
}
