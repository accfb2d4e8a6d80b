package fair

import (
	"math"
	"slices"

	"heddle/rm/scheduler/nodeset"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeindex"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// In Fair queues nodes are reserved for applications that have less than their fair share, for containers of some size (Hadoop:
// FSAppAttempt.isReservable; for others see minimum_share.go). Any node may be, also one without anything free, and several for one container: whichever has
// room first. YARN looks at one node with each heartbeat; here all are looked at once, as often as shares are computed again,
// and only for applications that nothing else could be found for.

// starve holds the applications for which nodes might be reserved.
type starve struct {
	whole    nodeindex.Index // the resources of open nodes without a reservation
	at       int64           // ms: when it was looked last who starves
	looked   bool
	starving []handle.App
	// See HeldByOwn: the demands ahead of one, the classes of those that may go anywhere, and since when nothing has changed.
	ahead   []*core.Demand
	upTo    *core.Demand
	sizes   ranking.Mask
	changes int64
	starvedLeaves
}

// NodeChanged enters a node into the index of those that may be reserved.
func (p *Policy) NodeChanged(h handle.Node) {
	has := &nodeindex.Closed
	if n := &p.s.Nodes.At[h]; n.Open != nodeset.NoWork && n.Reserved == handle.NoContainer {
		has = p.s.Nodes.Capability(n)
	}
	p.starve.whole.Set(int(h), has)
}

// review reports whether it is time to look who starves, and has reservations looked at then. If it isn't yet, the scheduler
// wakes up for it.
func (p *Policy) review() bool {
	if p.s.Queues[core.Root].Pending.IsZero() {
		clear(p.starve.since)
		return false
	}
	if due := p.starve.at + p.interval(); p.starve.looked && p.s.Now < due {
		p.s.WakeAt(due)
		return false
	}
	p.starve.at, p.starve.looked = p.s.Now, true
	p.findStarvedLeaves()
	p.unblockAll()
	if len(p.s.Reserved) > 0 {
		p.s.Recheck, p.s.Roomier = true, true
	}
	return true
}

// reserveForStarved reserves nodes for starved applications, in the order of their turns.
func (p *Policy) reserveForStarved() {
	w := &p.starve
	w.starving = w.starving[:0]
	if !p.s.Classes.Some(p.maybeLarge) {
		return // no request is large, and there may be very many requests
	}
	for h := range p.s.Apps {
		if a := &p.s.Apps[h]; a.Active && a.Pending > 0 && p.wantsLarge(a) {
			w.starving = append(w.starving, handle.App(h))
		}
	}
	if len(w.starving) == 0 {
		return
	}
	p.updateShares()
	w.starving = slices.DeleteFunc(w.starving, func(h handle.App) bool { return !p.starves(h) })
	slices.SortFunc(w.starving, p.compareTurns)
	for _, h := range w.starving {
		for d := range p.s.Demands(&p.s.Apps[h]) {
			if p.HeldByOwn(&p.s.Apps[h], d) {
				break
			}
			if d.Pending > 0 && d.Why != demand.Waits && p.isLarge(&p.s.Apps[h], d) && p.s.BelowMaximum(p.s.Apps[h].Leaf, &d.Size) {
				p.reserveNodes(h, d)
			}
		}
	}
	w.clearAhead()
}

// wantsLarge reports whether an application asks for something that nodes are reserved for.
func (p *Policy) wantsLarge(a *core.App) bool {
	for d := range p.s.Demands(a) {
		if d.Pending > 0 && p.isLarge(a, d) {
			return true
		}
	}
	return false
}

// isLarge reports whether nodes are reserved for a demand of this size. Where dominant resources count, the others decide among
// equals.
func (p *Policy) isLarge(a *core.App, d *core.Demand) bool {
	threshold := &p.s.Tree.Settings.Fair.ReservedFrom
	if p.s.Queues[a.Leaf].Apps == ranking.ByDominance {
		return !p.s.Calc.Less(&d.Capability, threshold)
	}
	return d.Capability[records.Memory] >= threshold[records.Memory]
}

// maybeLarge reports whether isLarge may be true of a capability, whatever leaf asks for it.
func (p *Policy) maybeLarge(capability *records.Resource) bool {
	threshold := &p.s.Tree.Settings.Fair.ReservedFrom
	return capability[records.Memory] >= threshold[records.Memory] || !p.s.Calc.Less(capability, threshold)
}

// isBelow reports whether an application has less than an amount by its leaf's policy: of the dominant resource, or of memory.
func (p *Policy) isBelow(a *core.App, due *records.Resource) bool {
	if p.s.Queues[a.Leaf].Apps == ranking.ByDominance {
		return p.s.Calc.Share(&a.Used) < p.s.Calc.Share(due)
	}
	return a.Used[records.Memory] < due[records.Memory]
}

// starves reports whether an application has less than its fair share, or its leaf less than its minimum share.
func (p *Policy) starves(h handle.App) bool {
	a := &p.s.Apps[h]
	due := p.dueTo(h, p.shares.of)
	return p.isBelow(a, &due) || p.leafStarves(a.Leaf)
}

// dueTo returns the fair share of an application.
func (p *Policy) dueTo(h handle.App, of map[int32]*fairshare.Queue) (due records.Resource) {
	q := of[p.s.Apps[h].Leaf]
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
func (p *Policy) compareTurns(x, y handle.App) int {
	queues := p.s.Queues
	a, b := &p.s.Apps[x], &p.s.Apps[y]
	if x == y {
		return 0
	}
	if a.Leaf == b.Leaf {
		return p.compareIn(queues[a.Leaf].Apps, a.El, b.El)
	}
	q, r := a.Leaf, b.Leaf
	for p.depth(q) > p.depth(r) {
		q = queues[q].Parent
	}
	for p.depth(r) > p.depth(q) {
		r = queues[r].Parent
	}
	for queues[q].Parent != queues[r].Parent {
		q, r = queues[q].Parent, queues[r].Parent
	}
	return p.compareIn(queues[queues[q].Parent].Inner.Rule, queues[q].El, queues[r].El)
}

func (p *Policy) compareIn(r ranking.Rule, i, j int32) int {
	if p.s.Rankings.Less(r, i, j) {
		return -1
	}
	return 1
}

func (p *Policy) depth(h int32) (n int) {
	for ; p.s.Queues[h].Parent != ranking.Nothing; h = p.s.Queues[h].Parent {
		n++
	}
	return n
}

// reserveNodes reserves nodes for a demand that has room nowhere: any number where it prefers to be, of others no more than the
// share that one application may have.
func (p *Policy) reserveNodes(h handle.App, d *core.Demand) {
	a := &p.s.Apps[h]
	p.startDelay(d)
	for i := range d.Places {
		row := &d.Places[i]
		if row.Count == 0 {
			continue
		}
		site := &p.s.Nodes.Sites[row.Name]
		for _, nh := range site.Nodes {
			p.reserveNode(h, a, d, nh, core.NodeLocal)
		}
		if site.Rack != nil {
			for _, nh := range site.Rack.Nodes {
				if nh != handle.NoNode && p.reservedInRack(h, p.s.Nodes.At[nh].Rack) < p.mostReserved(len(site.Rack.Nodes)-len(site.Rack.Free)) {
					p.reserveNode(h, a, d, nh, core.RackLocal)
				}
			}
		}
	}
	most := p.mostReserved(p.s.Nodes.OpenNodes())
	for at := 0; p.reservedFor(a) < most; at++ {
		if at = p.starve.whole.Next(at, &d.Size); at < 0 {
			return
		}
		p.reserveNode(h, a, d, handle.Node(at), core.OffSwitch)
	}
}

// startDelay has the delay for locality begin with the first time that a demand is looked at, whether or not any node has room.
func (p *Policy) startDelay(d *core.Demand) {
	_, anywhere := p.s.Delays(d)
	if anywhere == 0 {
		return
	}
	if d.Since == 0 {
		d.Since = p.s.Now
		if p.s.Now == 0 {
			d.Since = -1
		}
	}
	if p.s.Now < d.Since+anywhere {
		p.s.WakeAt(p.s.Now + p.interval())
	}
}

// reserveNode reserves a node for a demand, if it may go there and is so near.
func (p *Policy) reserveNode(h handle.App, a *core.App, d *core.Demand, nh handle.Node, level core.Locality) {
	n := &p.s.Nodes.At[nh]
	if !p.s.Reservable(n, &d.Size) || p.s.Shuns(a, d, n) {
		return
	}
	if is, ok := p.admits(d, n); ok && is == level {
		p.s.Reserve(h, a, d, nh)
	}
}

// mostReserved is on how many of some nodes one application may have reservations.
func (p *Policy) mostReserved(nodes int) int {
	return int(math.Ceil(float64(float32(nodes) * float32(p.s.Tree.Settings.Fair.ReservableNodes))))
}

func (p *Policy) reservedFor(a *core.App) (n int) {
	for d := range p.s.Demands(a) {
		n += int(d.Reservations)
	}
	return n
}

func (p *Policy) reservedInRack(h handle.App, rack int32) (n int) {
	for _, c := range p.s.Reserved {
		if x := &p.s.Containers[c]; x.App == h && p.s.Nodes.At[x.Node].Rack == rack {
			n++
		}
	}
	return n
}

// admits reports whether a demand may have a container on a node now, as far as places and their delays go, and how near the
// node is then (Hadoop: FSAppAttempt.hasContainerForNode, assignContainer).
func (p *Policy) admits(d *core.Demand, n *nodeset.Node) (core.Locality, bool) {
	if !d.Choosy {
		return core.OffSwitch, d.RelaxAny
	}
	host, rack := d.Wants(n.Host) > 0, d.Wants(n.Rack) > 0
	if !d.RelaxAny && !host && !rack || rack && !host && !d.Relaxes(n.Rack) {
		return core.OffSwitch, false
	}
	if host {
		return core.NodeLocal, true
	}
	near, anywhere := p.s.Delays(d)
	waited := int64(0)
	if d.Since != 0 {
		waited = p.s.Now - d.Since
	}
	switch {
	case rack && waited >= near:
		return core.RackLocal, true
	case d.RelaxAny && waited >= anywhere:
		return core.OffSwitch, true
	}
	return core.OffSwitch, false
}
