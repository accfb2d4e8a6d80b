package preempt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

// Suspension takes resources from containers of queues over their share, which continue later (BIG-C, "preemptive, low latency datacenter
// scheduling via lightweight virtualization", sections 3.2 and 3.3). Which queue owes how much, and how much a round takes, is what
// YARN's keys say (Capacity). Of that, Suspension takes what the requests that wait can use.
//
// It goes request by request, and makes room on one node for each, so that what is taken here and there isn't too little everywhere.
type Suspension struct {
	Ranking    suspension.Ranking
	Step       records.Resource // that suspension.Graceful takes from a container at a time
	MinimumAge int64            // ms; younger containers are spared
	PerRound   float64          // part of the cluster that one round takes at most, but no less than makes room for a request
	Ignored    float64          // part of its guarantee by which a queue may be over it unpunished
	Fair       bool             // shares are those of YARN's FairScheduler, else guarantees
}

// mostRequests bounds the requests for which one round makes room. The next round continues.
const mostRequests = 256

// ComputeDR returns how much of an over-provisioned amount to take for a request that is larger in some component (BIG-C, section 3.2): all
// of the component that is the request's dominant one in a cluster, and of the others in proportion to the request.
func ComputeDR(request, over, cluster records.Resource) (p records.Resource) {
	d, share := 0, -1.0
	for i := range request {
		if cluster[i] > 0 && float64(request[i])/float64(cluster[i]) > share {
			d, share = i, float64(request[i])/float64(cluster[i])
		}
	}
	if request[d] <= 0 {
		return p
	}
	for i := range p {
		p[i] = min(over[i], records.Whole(math.Ceil(float64(over[d])*float64(request[i])/float64(request[d]))))
	}
	return p
}

// Room is what a round makes for a request. It is for the leaf of an application: else the leaf with the least of its share would get it, such
// as the one it was taken from, and more would have to be taken for the request.
type Room struct {
	For  records.ApplicationID
	Size records.Resource
	Node int32 // Handle of the Node
}

// Made is what a round comes to.
type Made struct {
	Cuts []Cut
	Undo []Victim // reservations of others, on nodes with room for requests below their shares
	Room []Room
}

// Round decides at a time (ms) how much to take from which containers, and for which requests. A container is cut at most once.
func (s *Suspension) Round(now int64, snap *Snapshot) (m Made) {
	c := s.begin(now, snap)
	if len(c.candidates) == 0 && len(c.yielding) == 0 {
		return m
	}
	for left := mostRequests; left > 0 && c.wanted() && c.anyPositive(c.allowed); left-- {
		w := &c.wants[0]
		at, found := c.fit(w)
		if !found {
			if at, found = c.makeRoom(w); found {
				c.made[at] = true
			}
		}
		if !found {
			c.giveUp(w)
			continue
		}
		if r, yields := c.yielding[at]; yields {
			m.Undo, c.made[at] = append(m.Undo, c.undone(r, w)), true
			delete(c.yielding, at)
		}
		if c.made[at] {
			m.Room = append(m.Room, Room{w.app.ID, w.ask.Capability, c.Nodes[at].Handle})
		}
		c.unreserve(w, at)
		c.owed[w.app.Queue] = c.owed[w.app.Queue].Sub(w.ask.Capability)
		if w.ask.Count--; w.ask.Count == 0 || !c.anyPositive(c.owed[w.app.Queue]) {
			c.wants = c.wants[1:]
		}
	}
	m.Cuts = c.result()
	return m
}

// undone returns a reservation of others on a node where a request has room.
func (c *cutting) undone(r owned, w *want) Victim {
	return Victim{
		App: r.app.ID, ID: r.ID, Queue: c.Queues[r.app.Queue].Path, Resource: r.Resource, Reserved: true, Handle: r.Handle, For: w.app.ID,
		Reason: fmt.Sprintf("queue %s has its share without that; %s waits below its share", c.Queues[r.app.Queue].Path, c.Queues[w.app.Queue].Path),
	}
}

// giveUp drops a request for which no room can be made. Less urgent ones of its application go with it, if any node would do for it: the
// scheduler serves it first, reserves a node for it, and gives them nothing of the room that is made for them.
func (c *cutting) giveUp(w *want) {
	app, ask := w.app, w.ask
	c.wants = c.wants[1:]
	for ask.Relax && len(c.wants) > 0 && c.wants[0].app == app && c.wants[0].ask.Priority > ask.Priority {
		c.wants = c.wants[1:]
	}
}

// cutting is the work of one round.
type cutting struct {
	*Snapshot
	measure
	settings   *Suspension
	queues     []Queue            // without what is reserved
	parent     []bool             // by queue
	allowed    records.Resource   // that may still be taken in this round
	owed       []records.Resource // what leaves wait for below their shares
	due        []records.Resource // what is to be taken from leaves
	wants      []want
	candidates []candidate // in the order in which they are cut
	onNode     [][]int     // candidates by node, in that order
	room       []records.Resource
	made       []bool        // by node: room is made there in this round
	reserved   []reservation // by node: its recipients, of those that wait below their shares
	yielding   map[int]owned // by node: the reservation there of a leaf that has its share
	reasons    []string      // of leaves
}

// want is a request that waits, and for which room is made.
type want struct {
	app *App
	ask Ask
}

// reservation is the request for which a node is reserved; zero: it is for none.
type reservation struct {
	app      *App
	size     records.Resource
	priority int32
}

// reservation returns what a node has that is reserved for the request.
func (w *want) reservation() reservation {
	return reservation{w.app, w.ask.Capability, w.ask.Priority}
}

type candidate struct {
	app  *App
	c    *Container
	held records.Resource // after what was taken in this round
	by   *App             // for which it was cut last
}

func (s *Suspension) begin(now int64, snap *Snapshot) *cutting {
	c := &cutting{
		Snapshot: snap, measure: measure{dominant: snap.Dominant, cluster: snap.Cluster}, settings: s, allowed: scaled(snap.Cluster, s.PerRound),
		due: make([]records.Resource, len(snap.Queues)), onNode: make([][]int, len(snap.Nodes)), room: make([]records.Resource, len(snap.Nodes)), reserved: make([]reservation, len(snap.Nodes)),
		made: make([]bool, len(snap.Nodes)), yielding: map[int]owned{}, reasons: make([]string, len(snap.Queues)),
	}
	c.queues, c.parent = withoutReservations(snap.Queues, s.Fair), make([]bool, len(snap.Queues))
	for i := range c.queues {
		if p := c.queues[i].Parent; p >= 0 {
			c.parent[p] = true
		}
	}
	smallest := c.smallest()
	c.allowed = c.allowed.Max(smallest)
	c.owed = c.waiting()
	var owed records.Resource
	for _, r := range c.owed {
		owed = owed.Add(r)
	}
	if !c.anyPositive(owed) {
		return c
	}
	c.collectWants()
	over := c.surplus()
	for i := range over {
		if !c.anyPositive(over[i]) || !snap.Queues[i].Means.Suspends() {
			continue
		}
		others := atLeast0(owed.Sub(c.owed[i]))
		if !c.anyPositive(others) {
			continue
		}
		c.due[i] = others.Min(over[i])
		if !c.fits(others, over[i]) {
			// Too little to make room for one request would be nothing: a round undoes that.
			c.due[i] = ComputeDR(others, over[i], c.countedOf(snap.Cluster)).Max(over[i].Min(smallest))
		}
		if owed = atLeast0(owed.Sub(c.due[i])); !c.anyPositive(owed) {
			break
		}
	}
	c.collectCandidates(now)
	return c
}

// smallest returns the least that a round must be able to take so that it can make room at all: the largest request, and what the container
// that is cut last gives beyond that. In a small cluster, a tenth is less than one container, and no container would ever be suspended.
func (c *cutting) smallest() records.Resource {
	var request, gain records.Resource
	for i := range c.Apps {
		for _, ask := range c.Apps[i].Asks {
			request = request.Max(ask.Capability)
		}
		for k := range c.Apps[i].Containers {
			x := &c.Apps[i].Containers[k]
			gain = gain.Max(x.Held.Sub(x.Footprint))
		}
	}
	return request.Add(gain)
}

// withoutReservations are queues that use and wait for what they would if no node were reserved for them. Schedulers reserve nodes for requests
// that find no room, and then don't count them as waiting. YARN's CapacityScheduler counts it as used instead. It waits nevertheless.
func withoutReservations(queues []Queue, fair bool) []Queue {
	queues = slices.Clone(queues)
	for i := range queues {
		q := &queues[i]
		if q.Pending = q.Asked; !fair {
			q.Used = q.Used.Sub(q.Reserved)
		}
	}
	return queues
}

// waiting returns what leaves wait for below their shares.
func (c *cutting) waiting() (owed []records.Resource) {
	owed = make([]records.Resource, len(c.queues))
	for i := range c.queues {
		switch q := &c.queues[i]; {
		case c.parent[i]:
		case c.settings.Fair:
			owed[i] = c.divided(q, q.Pending.Min(atLeast0(q.Share.Fair.Sub(q.Used))))
		default:
			owed[i] = entitled(q, q.Pending)
		}
	}
	return owed
}

// surplus returns what leaves have over their shares.
func (c *cutting) surplus() (over []records.Resource) {
	over = make([]records.Resource, len(c.queues))
	if c.settings.Fair {
		for i := range c.queues {
			q := &c.queues[i]
			if c.parent[i] {
				continue
			}
			if !q.Disabled {
				over[i] = c.divided(q, atLeast0(q.Used.Sub(q.Share.Fair)))
			}
			c.reasons[i] = fmt.Sprintf("queue %s holds %v, and its fair share is %v", q.Path, q.Used, q.Share.Fair)
		}
		return over
	}
	// Room in pieces too small for the waiting requests is in no share.
	net := *c.Snapshot
	net.Queues = slices.Clone(c.queues)
	for k, used := range c.queues[0].Used {
		if !c.enough(k) {
			net.Queues[0].Guaranteed[k] = min(net.Queues[0].Guaranteed[k], used)
		}
	}
	ideal := idealOf(&net, c.measure, wish{}, c.allowed)
	for i := range c.queues {
		q := &c.queues[i]
		if c.parent[i] {
			continue
		}
		if !q.Disabled && c.more(q.Used, scaled(q.Guaranteed, 1+c.settings.Ignored)) {
			over[i] = atLeast0(ideal.surplus[i])
		}
		c.reasons[i] = fmt.Sprintf("queue %s holds %v, and is guaranteed %v", q.Path, q.Used, q.Guaranteed)
	}
	return over
}

// enough reports whether some node has enough free of a type for some request that waits: then another type is what it lacks there.
func (c *cutting) enough(k int) bool {
	return slices.ContainsFunc(c.wants, func(w want) bool {
		return slices.ContainsFunc(c.room, func(r records.Resource) bool { return r[k] >= w.ask.Capability[k] })
	})
}

// divided returns what an amount has of the types that a Fair queue's parent divides among its children: no queue has a share of the others,
// or is over it.
func (c *cutting) divided(q *Queue, r records.Resource) (d records.Resource) {
	if q.Parent < 0 || c.Queues[q.Parent].Share.Kind == fairshare.DRF {
		return r
	}
	d[records.Memory] = r[records.Memory]
	return d
}

// collectWants lists who waits, and how much room there is.
func (c *cutting) collectWants() {
	for i := range c.Nodes {
		c.room[i] = c.Nodes[i].Free
	}
	var later []want
	for i := range c.Apps {
		a := &c.Apps[i]
		owed := c.anyPositive(c.owed[a.Queue])
		reserved := map[reservation]int64{}
		for k := range a.Containers {
			switch x := &a.Containers[k]; {
			case x.Reserved && owed: // room is made for that
				r := reservation{a, x.Resource, x.Priority}
				c.reserved[x.Node] = r
				reserved[r]++
			case x.Reserved && !c.queues[a.Queue].Disabled:
				c.yielding[x.Node] = owned{a, x}
			case x.Reserved:
				c.room[x.Node] = atLeast0(c.room[x.Node].Sub(x.Resource))
			}
		}
		if !owed {
			continue
		}
		for _, ask := range a.Asks {
			now, rest := want{a, ask}, want{a, ask}
			now.ask.Count = min(reserved[now.reservation()], ask.Count) // the scheduler gives others nothing of these nodes before
			if rest.ask.Count -= now.ask.Count; now.ask.Count > 0 {
				c.wants = append(c.wants, now)
			}
			if rest.ask.Count > 0 {
				later = append(later, rest)
			}
		}
	}
	c.wants = append(c.wants, later...)
}

// collectCandidates lists the containers from which resources can be taken.
func (c *cutting) collectCandidates(now int64) {
	for i := range c.Apps {
		a := &c.Apps[i]
		for k := range a.Containers {
			x := &a.Containers[k]
			switch {
			case x.Reserved:
			case x.Killable || x.Held == x.Footprint || !x.Idle && now-x.Since < c.settings.MinimumAge || !x.Idle && !c.anyPositive(c.due[a.Queue]):
			case c.settings.Ranking == suspension.ByCost && x.Quote.Wait.Cost() < x.Quote.Suspend.Room: // it ends before it has let go
			default:
				c.candidates = append(c.candidates, candidate{app: a, c: x, held: x.Held})
			}
		}
	}
	slices.SortStableFunc(c.candidates, c.compare)
	for i := range c.candidates {
		at := c.candidates[i].c.Node
		c.onNode[at] = append(c.onNode[at], i)
	}
}

// unreserve opens a node to others for which a request was reserved that gets room on some node: on that one if possible.
func (c *cutting) unreserve(w *want, node int) {
	if c.reserved[node] != w.reservation() {
		node = slices.Index(c.reserved, w.reservation())
	}
	if node >= 0 {
		c.reserved[node] = reservation{}
	}
}

// compare says which container is cut first: one whose room is idle. ApplicationMasters come last.
func (c *cutting) compare(x, y candidate) int {
	if x.c.Idle != y.c.Idle {
		if x.c.Idle {
			return -1
		}
		return 1
	}
	if x.c.AM != y.c.AM {
		if y.c.AM {
			return -1
		}
		return 1
	}
	by := 0
	switch c.settings.Ranking {
	case suspension.ByRemaining:
		by = cmp.Compare(y.app.Remaining, x.app.Remaining)
	case suspension.ByLeastAttained:
		by = cmp.Compare(y.c.Since, x.c.Since)
	case suspension.ByCost:
		by = cmp.Compare(c.price(&x), c.price(&y))
	}
	return cmp.Or(by, cmp.Compare(y.app.Seq, x.app.Seq), cmp.Compare(y.c.Priority, x.c.Priority), y.c.ID.Compare(x.c.ID))
}

// price returns the cost of suspending a container, for the part of the cluster that this frees.
func (c *cutting) price(x *candidate) float64 {
	share := 0.0
	for i, v := range x.held.Sub(x.c.Footprint) {
		if c.measured(i) && c.cluster[i] > 0 {
			share = max(share, float64(v)/float64(c.cluster[i]))
		}
	}
	return divide(x.c.Quote.Suspend.Cost(), share)
}

// wanted drops requests whose leaf has its share by now, and reports whether one is left.
func (c *cutting) wanted() bool {
	for len(c.wants) > 0 && !c.anyPositive(c.owed[c.wants[0].app.Queue]) {
		c.wants = c.wants[1:]
	}
	return len(c.wants) > 0
}

// takes reports whether a request may have a container on a node.
func (c *cutting) takes(w *want, node int) bool {
	n := &c.Nodes[node]
	if r := &c.reserved[node]; r.app != nil && *r != w.reservation() {
		return false
	}
	return !n.Closed && (w.ask.Name == anywhere || w.ask.Name == n.Host || w.ask.Name == n.Rack)
}

// fit gives a request room that is there. It waits for something else then, such as a better node.
func (c *cutting) fit(w *want) (node int, ok bool) {
	for i := range c.Nodes {
		if c.takes(w, i) && c.fits(w.ask.Capability, c.room[i]) {
			c.room[i] = c.room[i].Sub(w.ask.Capability)
			return i, true
		}
	}
	return -1, false
}

// mostSets bounds the nodes whose prices are compared for one request.
const mostSets = 64

// makeRoom makes room for a request, on the node of the first container in the order on whose node that is possible. In the order of cost it is the
// node where all that must be taken costs least.
func (c *cutting) makeRoom(w *want) (node int, ok bool) {
	tried := make([]bool, len(c.Nodes))
	best, least, sets := -1, math.Inf(1), 0
	for i := range c.candidates {
		at := c.candidates[i].c.Node
		if tried[at] || own(w, &c.candidates[i]) || !c.takes(w, at) {
			continue
		}
		tried[at] = true
		if !c.possible(w, at) {
			continue
		}
		if c.settings.Ranking != suspension.ByCost {
			if c.take(w, at) {
				return at, true
			}
			continue
		}
		before := c.save(at)
		if c.take(w, at) {
			if price := c.priceOf(before, at); price < least {
				best, least = at, price
			}
			c.undo(before, at)
			if sets++; sets == mostSets {
				break
			}
		}
	}
	return best, best >= 0 && c.take(w, best)
}

// own reports whether a candidate is of the leaf that a request waits in: that can be over its share of one type and below that of another,
// and would be none the better for it.
func own(w *want, x *candidate) bool { return x.app.Queue == w.app.Queue }

// take takes from the containers on a node what a request needs, and gives it that.
func (c *cutting) take(w *want, node int) bool {
	if !c.clear(w, node, true) && !c.clear(w, node, false) {
		return false
	}
	c.room[node] = c.room[node].Sub(w.ask.Capability)
	return true
}

// priceOf returns what it costs to take from the containers on a node what was taken since its state was saved: of each that part of its price that
// was taken of what it has.
func (c *cutting) priceOf(before saved, node int) (sum float64) {
	for k, i := range c.onNode[node] {
		x, was := &c.candidates[i], &before.candidates[k]
		if x.held == was.held || x.c.Idle {
			continue
		}
		part := 1.0
		if all := x.c.Held.Sub(x.c.Footprint); all[records.Memory] > 0 {
			part = float64(was.held.Sub(x.held)[records.Memory]) / float64(all[records.Memory])
		}
		sum += part * x.c.Quote.Suspend.Cost()
	}
	return sum
}

// possible reports whether a request would fit on a node if everything were taken there that may be.
func (c *cutting) possible(w *want, node int) bool {
	most, allowed, due := c.room[node], c.allowed, map[int]records.Resource{}
	for _, i := range c.onNode[node] {
		if c.fits(w.ask.Capability, most) {
			return true
		}
		x := &c.candidates[i]
		if own(w, x) {
			continue
		}
		left, seen := due[x.app.Queue]
		if !seen {
			left = c.due[x.app.Queue]
		}
		if gain := x.held.Sub(x.c.Footprint); c.helps(x, gain, left, allowed) {
			most, allowed, due[x.app.Queue] = most.Add(gain), allowed.Sub(gain), left.Sub(gain)
		}
	}
	return c.fits(w.ask.Capability, most)
}

// helps reports whether taking an amount from a container is within what its leaf owes and what the round may take. The last container may give
// more than is owed. Idle room is for requests below their share, whatever the leaf owes: it may be all that fits a request.
func (c *cutting) helps(x *candidate, gain, due, allowed records.Resource) bool {
	if x.c.Idle {
		due = gain
	}
	return c.anyPositive(atLeast0(due).Min(gain)) && c.fits(gain, allowed)
}

// clear takes from the containers on a node until a request fits, and reports whether it does: a step from each container of an application
// in turn where their queue says so and steps are wanted, else all from one after the other. Where it doesn't fit in the end, as steps have
// another shape than the request and what is due, nothing is taken.
func (c *cutting) clear(w *want, node int, steps bool) bool {
	before := c.save(node)
	if c.takeFrom(c.onNode[node], w, node, steps) {
		return true
	}
	c.undo(before, node)
	return false
}

// saved is what taking from the containers on a node changes.
type saved struct {
	candidates []candidate // on the node
	due        []records.Resource
	allowed    records.Resource
	room       records.Resource
}

func (c *cutting) save(node int) saved {
	s := saved{due: slices.Clone(c.due), allowed: c.allowed, room: c.room[node]}
	for _, i := range c.onNode[node] {
		s.candidates = append(s.candidates, c.candidates[i])
	}
	return s
}

func (c *cutting) undo(s saved, node int) {
	for k, i := range c.onNode[node] {
		c.candidates[i] = s.candidates[k]
	}
	c.due, c.allowed, c.room[node] = s.due, s.allowed, s.room
}

func (c *cutting) takeFrom(list []int, w *want, node int, steps bool) bool {
	for from := 0; from < len(list); {
		app, to := c.candidates[list[from]].app, from
		for to < len(list) && c.candidates[list[to]].app == app {
			to++
		}
		for taken := true; taken; {
			taken = false
			for _, i := range list[from:to] {
				if c.fits(w.ask.Capability, c.room[node]) {
					return true
				}
				taken = c.bite(&c.candidates[i], w, steps) || taken
			}
		}
		from = to
	}
	return c.fits(w.ask.Capability, c.room[node])
}

// bite takes from a container once, and reports whether it could.
func (c *cutting) bite(x *candidate, w *want, steps bool) bool {
	to := x.c.Footprint
	if steps && c.Queues[x.app.Queue].Means == suspension.Graceful && !x.c.Whole {
		to = c.stepDown(x)
	}
	gain := x.held.Sub(to)
	if own(w, x) || !c.helps(x, gain, c.due[x.app.Queue], c.allowed) {
		return false
	}
	x.held, x.by = to, w.app
	c.due[x.app.Queue], c.allowed = c.due[x.app.Queue].Sub(gain), c.allowed.Sub(gain)
	c.room[x.c.Node] = c.room[x.c.Node].Add(gain)
	return true
}

// stepDown returns what a container holds after one more step. One that runs keeps a core, and some of its memory: with the least of that it
// would only swap.
func (c *cutting) stepDown(x *candidate) records.Resource {
	to := x.held.Sub(c.settings.Step)
	swaps := x.c.Footprint[records.Memory] < x.c.Resource[records.Memory] && to[records.Memory] <= x.c.Footprint[records.Memory]
	if swaps || to.FitsIn(x.c.Footprint) {
		return x.c.Footprint
	}
	to = to.Max(x.c.Footprint)
	to[records.VCores] = max(to[records.VCores], min(x.held[records.VCores], 1))
	if to == x.held { // there is nothing left but that core
		return x.c.Footprint
	}
	return to
}

// result lists what was taken, in the order of the candidates.
func (c *cutting) result() (cuts []Cut) {
	for i := range c.candidates {
		x := &c.candidates[i]
		if x.held == x.c.Held {
			continue
		}
		by := c.Queues[x.by.Queue].Path
		cuts = append(cuts, Cut{
			Victim: Victim{
				App: x.app.ID, ID: x.c.ID, Queue: c.Queues[x.app.Queue].Path, Resource: x.c.Resource, AM: x.c.AM, Handle: x.c.Handle,
				Reason: c.reasons[x.app.Queue] + "; " + by + " waits below its share" + c.why(x),
			},
			To: x.held, All: x.held == x.c.Footprint, By: by, ByApp: x.by.ID, Quote: x.c.Quote, Node: c.Nodes[x.c.Node].Handle,
		})
	}
	return cuts
}

// why says why it is this container's turn.
func (c *cutting) why(x *candidate) string {
	switch {
	case c.settings.Ranking == suspension.ByLeastAttained:
		return ", and the container is among those that began last"
	case c.settings.Ranking == suspension.ByCost:
		return fmt.Sprintf(", and suspending the container costs %.1f s", x.c.Quote.Suspend.Cost())
	case math.IsInf(x.app.Remaining, 1):
		return ", and nobody knows when the application ends"
	}
	return fmt.Sprintf(", and the application needs %.0f s more", x.app.Remaining)
}
