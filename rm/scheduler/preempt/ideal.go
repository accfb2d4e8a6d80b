package preempt

import (
	"cmp"
	"slices"

	"heddle/yarn/records"
)

// ideal says how the cluster would be divided if containers could be cut at will: each queue has what it uses up to its
// guarantee, and what is left goes to those that want it, in proportion to their guarantees.
type ideal struct {
	*Snapshot
	measure
	wish
	children  [][]int
	pending   []records.Resource // also of parents
	entitled  []records.Resource // part of pending that is below a guarantee, of the queue or of one below it
	assigned  []records.Resource
	surplus   []records.Resource // used over what the queue should keep, scaled to what a round may take
	protected []records.Resource // over its guarantee, and may not be taken (untouchable)
	takeable  []records.Resource // over its guarantee, and may be taken
}

// wish is what queues are thought to want.
type wish struct {
	balance  bool // also more than their guarantees, so that they gain from each other
	reserved bool // also room for what nodes are reserved for already
}

func idealOf(s *Snapshot, m measure, w wish, allowed records.Resource) *ideal {
	n := len(s.Queues)
	x := &ideal{
		Snapshot: s, measure: m, wish: w, children: make([][]int, n),
		pending: make([]records.Resource, n), entitled: make([]records.Resource, n), assigned: make([]records.Resource, n), surplus: make([]records.Resource, n),
		protected: make([]records.Resource, n), takeable: make([]records.Resource, n),
	}
	for i := range s.Queues {
		if p := s.Queues[i].Parent; p >= 0 {
			x.children[p] = append(x.children[p], i)
		}
	}
	for i := n - 1; i >= 0; i-- {
		x.sumUp(i)
	}
	if n > 0 {
		x.assigned[0] = s.Queues[0].Guaranteed
		allowed = x.allowed(allowed)
	}
	for i := range s.Queues {
		if len(x.children[i]) > 0 {
			x.share(i, allowed)
		}
	}
	return x
}

// allowed returns what a round may take of what it could at most. A round takes nothing while all that is used and reserved is
// there, and no queue waits for what it is guaranteed. (Offers are rounded by type of resource, so that a queue may be assigned
// more of one type than it wants, and its sibling less than it uses. YARN takes a container for that.)
func (x *ideal) allowed(most records.Resource) records.Resource {
	if root := &x.Queues[0]; x.balance || !x.fits(root.Used, root.Guaranteed) {
		return most
	}
	for _, c := range x.children[0] {
		if x.anyPositive(x.entitled[c]) {
			return most
		}
	}
	return records.Resource{}
}

func (x *ideal) leaf(i int) bool { return len(x.children[i]) == 0 }

// sumUp computes what a queue waits for and what it has over its guarantee, from its children's.
func (x *ideal) sumUp(i int) {
	q := &x.Queues[i]
	extra := q.Used.Sub(q.Guaranteed)
	if x.less(extra, records.Resource{}) {
		extra = records.Resource{}
	}
	if x.leaf(i) {
		x.pending[i] = q.Pending
		if x.reserved {
			x.pending[i] = q.Asked
		}
		x.entitled[i] = entitled(q, x.pending[i])
		if q.Disabled {
			x.protected[i] = extra
		} else {
			x.takeable[i] = extra
		}
		return
	}
	var takeable, entitled records.Resource
	for _, c := range x.children[i] {
		takeable = takeable.Add(x.takeable[c])
		entitled = entitled.Add(x.entitled[c])
		x.pending[i] = x.pending[i].Add(x.pending[c])
	}
	x.entitled[i] = x.pending[i].Min(atLeast0(q.Guaranteed.Sub(q.Used))).Max(entitled)
	if x.less(takeable, extra) {
		x.protected[i] = extra.Sub(takeable)
	}
	x.takeable[i] = x.min(takeable, extra)
}

// entitled returns how much of what a leaf waits for is below its guarantee.
func entitled(q *Queue, pending records.Resource) records.Resource {
	return pending.Min(atLeast0(q.Guaranteed.Sub(q.Used)))
}

// share divides what a parent should have among its children, those with guarantees first.
func (x *ideal) share(parent int, allowed records.Resource) {
	left := x.assigned[parent]
	m := measure{dominant: x.dominant, cluster: left}
	var guaranteed, others []int
	for _, c := range x.children[parent] {
		if m.positive(x.Queues[c].Guaranteed) {
			guaranteed = append(guaranteed, c)
		} else {
			others = append(others, c)
		}
	}
	left = x.fix(m, guaranteed, left, false)
	if m.positive(left) {
		x.fix(m, others, left, true)
	}
	var needed records.Resource
	for _, c := range x.children[parent] {
		if used := x.Queues[c].Used; m.more(used, x.assigned[c]) {
			needed = needed.Add(used.Sub(x.assigned[c]))
		}
	}
	scale := 1.0
	if m.more(needed, allowed) {
		scale = m.ratio(allowed, needed)
	}
	for _, c := range x.children[parent] {
		q := &x.Queues[c]
		keep := m.max(m.min(q.Used.Add(x.pending[c]), q.Guaranteed), x.assigned[c])
		if left := q.Used.Sub(q.Killable); m.more(left, keep) {
			x.surplus[c] = scaled(left.Sub(keep), scale)
		}
	}
}

// fix assigns to queues what they use up to their guarantees, and then offers what is left, to those furthest below their
// guarantees first, until no queue wants more.
func (x *ideal) fix(m measure, queues []int, left records.Resource, evenly bool) records.Resource {
	var wanting []int
	for _, c := range queues {
		q := &x.Queues[c]
		x.assigned[c] = q.Used
		if m.more(q.Used, q.Guaranteed) {
			x.assigned[c] = q.Guaranteed.Min(q.Used).Add(x.protected[c])
		}
		left = left.Sub(x.assigned[c])
		if m.less(x.assigned[c], q.Used.Add(x.pending[c])) {
			wanting = append(wanting, c)
		}
	}
	for len(wanting) > 0 && m.positive(left) {
		weights := x.weights(wanting, evenly)
		slices.SortStableFunc(wanting, func(a, b int) int { return x.byNeed(m, a, b) })
		n := 1
		for n < len(wanting) && x.byNeed(m, wanting[0], wanting[n]) == 0 {
			n++
		}
		round, first, rest := left, wanting[:n], slices.Clone(wanting[n:])
		for _, c := range first {
			if !m.anyPositive(left) {
				break
			}
			offer := round
			for i := range offer {
				offer[i] = up(round[i], weights[c][i])
			}
			took := x.offer(m, c, offer.Min(left))
			if m.positive(took) {
				rest = append(rest, c)
			}
			left = atLeast0(left.Sub(took))
		}
		wanting = rest
	}
	return left
}

// weights returns the parts of what is left that queues are offered, by type of resource.
func (x *ideal) weights(queues []int, evenly bool) map[int][len(records.Resource{})]float64 {
	var sum records.Resource
	for _, c := range queues {
		sum = sum.Add(x.Queues[c].Guaranteed)
	}
	weights := make(map[int][len(records.Resource{})]float64, len(queues))
	for _, c := range queues {
		var w [len(records.Resource{})]float64
		for i := range w {
			if evenly {
				w[i] = 1 / float64(len(queues))
			} else if sum[i] != 0 {
				w[i] = float64(x.Queues[c].Guaranteed[i]) / float64(sum[i])
			}
		}
		weights[c] = w
	}
	return weights
}

// byNeed orders queues by how much of their guarantee they have, and by priority among those that are all below or all above
// it (Hadoop: PriorityUtilizationQueueOrderingPolicy.compare).
func (x *ideal) byNeed(m measure, a, b int) int {
	p, q := &x.Queues[a], &x.Queues[b]
	have, has := x.part(m, a), x.part(m, b)
	if p.Priority != q.Priority && (have < 1) == (has < 1) {
		return cmp.Compare(q.Priority, p.Priority)
	}
	return cmp.Compare(have, has)
}

func (x *ideal) part(m measure, c int) float64 {
	if g := x.Queues[c].Guaranteed; m.positive(g) {
		return m.ratio(x.assigned[c], g)
	}
	return 1 << 31
}

// offer gives a queue as much of an amount as it wants and may have: up to its maximum, and up to what it uses and what it or
// a queue below it waits for below a guarantee, so that queues over their guarantees don't rob each other. (YARN bounds only
// leaves so, by their own guarantee, and takes from leaves for the sake of parents what no queue below these can use.)
func (x *ideal) offer(m measure, c int, amount records.Resource) records.Resource {
	q := &x.Queues[c]
	wants := x.pending[c]
	if !x.balance {
		wants = x.entitled[c]
	}
	room := atLeast0(q.Maximum.Sub(x.assigned[c]))
	accepted := room.Min(m.min(amount, q.Used.Add(wants).Sub(x.assigned[c])))
	accepted = atLeast0(accepted).Min(amount)
	x.assigned[c] = x.assigned[c].Add(accepted)
	return accepted
}
