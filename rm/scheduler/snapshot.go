package scheduler

import (
	"slices"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// Names knows what the scheduler doesn't of applications and containers.
type Names interface {
	App(handle.App) records.ApplicationID
	// Container fills in id, priority, when it was granted, and whether it is an ApplicationMaster or to be spared. False
	// leaves it out.
	Container(handle.Container, *preempt.Container) bool
}

// Snapshot is what preemption looks at. It is taken anew for each round.
func (s *Scheduler) Snapshot(names Names) *preempt.Snapshot {
	s.refresh()
	out := &preempt.Snapshot{Cluster: s.calc.Cluster, Dominant: !s.calc.MemoryOnly, Minimum: s.cfg.Minimum}
	var shares map[int32]*fairshare.Queue
	if s.tree.Kind == queue.Fair {
		shares = s.shareFairly()
	}
	at := map[int32]int{}
	s.snapQueue(out, root, -1, shares, at)
	nodes := s.snapNodes(out)
	apps := s.snapApps(out, names, shares, at)
	killable := s.killableSet()
	for h := range s.containers {
		c := &s.containers[h]
		if !c.live() || apps[c.app] < 0 || nodes[c.node] < 0 {
			continue
		}
		p := preempt.Container{Node: nodes[c.node], Resource: *s.holds(c), Handle: int32(h), Killable: killable[handle.Container(h)]}
		a := &out.Apps[apps[c.app]]
		if p.Killable {
			for q := a.Queue; q >= 0; q = out.Queues[q].Parent {
				out.Queues[q].Killable = out.Queues[q].Killable.Add(p.Resource)
			}
		}
		if c.reserved() {
			k := &s.keepings[c.kept]
			p.Reserved, p.Priority, p.Relax, p.Since = true, k.demand.priority, k.demand.relaxAny, k.since
			p.ID = records.ContainerID{Attempt: records.AttemptID{App: a.ID}, ID: k.turn}
			a.Containers = append(a.Containers, p)
		} else if names.Container(handle.Container(h), &p) {
			a.Containers = append(a.Containers, p)
		}
	}
	for i := range out.Apps {
		slices.SortFunc(out.Apps[i].Containers, func(a, b preempt.Container) int { return a.ID.Compare(b.ID) })
	}
	return out
}

func (s *Scheduler) snapQueue(out *preempt.Snapshot, h int32, parent int, shares map[int32]*fairshare.Queue, at map[int32]int) {
	q := &s.queues[h]
	at[h] = len(out.Queues)
	p := preempt.Queue{
		Path: q.cfg.Path, Parent: parent, Used: q.used, Maximum: q.maximum, Reserved: q.reserved,
		Guaranteed: q.guaranteed.Min(q.maximum), // as nothing is to be taken for what it can't have
		Disabled:   q.cfg.NoPreemption || q.cfg.Fair.NoPreemption, IntraOff: q.cfg.NoIntraPreemption,
		FairOrder:  q.cfg.OrderingPolicy == "fair",
		MinTimeout: timeout(q.cfg.Fair.MinTimeout), FairTimeout: timeout(q.cfg.Fair.FairTimeout), Threshold: q.cfg.Fair.FairThreshold,
	}
	for i, n := range q.guaranteed {
		p.MaxAM[i] = int64(float64(n) * float64(q.cfg.MaxAMShare))
	}
	if q.parent != order.Nothing && s.queues[q.parent].inner.Rule == order.ByPriorityAndUse {
		p.Priority = q.cfg.Priority
	}
	if share := shares[h]; share != nil {
		p.Share = *share
	}
	out.Queues = append(out.Queues, p)
	me := at[h]
	for _, c := range q.below {
		s.snapQueue(out, c, me, shares, at)
	}
}

// timeout is in ms; negative is never.
func timeout(d time.Duration) int64 {
	if d == queue.Never {
		return -1
	}
	return d.Milliseconds()
}

// snapNodes returns the places of nodes by their handles.
func (s *Scheduler) snapNodes(out *preempt.Snapshot) []int {
	at := make([]int, len(s.nodes))
	for h := range s.nodes {
		at[h] = -1
		if n := &s.nodes[h]; n.live {
			at[h] = len(out.Nodes)
			p := preempt.Node{Host: s.name(n.host), Rack: s.name(n.rack), Closed: !n.open, Handle: int32(h)}
			if n.open {
				p.Free = s.capability(n).Sub(n.used).Max(records.Resource{})
			}
			out.Nodes = append(out.Nodes, p)
		}
	}
	return at
}

// snapApps returns the places of applications by their handles, and sums up what leaves wait for within users' limits
// (Hadoop: LeafQueue.getTotalPendingResourcesConsideringUserLimit).
func (s *Scheduler) snapApps(out *preempt.Snapshot, names Names, shares map[int32]*fairshare.Queue, at map[int32]int) []int {
	places := make([]int, len(s.apps))
	room, whole := map[int32]records.Resource{}, map[int32]records.Resource{} // of users, the latter with what is reserved
	limits := s.limitsOfAllUsers()
	nth := map[int32]int{} // runnable applications of leaves so far, as shareFairly numbers them
	for h := range s.apps {
		places[h] = -1
		a := &s.apps[h]
		if !a.live {
			continue
		}
		var fair records.Resource
		if share := shares[a.leaf]; share != nil && a.runnable {
			fair = share.Apps[nth[a.leaf]].Fair
			nth[a.leaf]++
		}
		if !a.active && a.running == 0 {
			continue
		}
		q, u := &s.queues[a.leaf], &s.users[a.user]
		limit := s.calc.Weighted(s.activeUserLimit(q), u.weight)
		p := preempt.App{
			ID: names.App(handle.App(h)), Queue: at[a.leaf], User: u.name, Priority: a.spec.Priority, Seq: a.spec.Seq,
			Used: a.used, Fair: fair, UserLimit: s.calc.Weighted(limits[a.leaf], u.weight),
		}
		if a.active {
			p.Asks = snapAsks(a, s)
			if _, ok := room[a.user]; !ok {
				room[a.user] = limit.Sub(u.used).Max(records.Resource{})
				whole[a.user] = room[a.user]
			}
			wants := a.pendingSum.Sub(a.reserved).Max(records.Resource{}).Min(room[a.user])
			asks := a.pendingSum.Min(whole[a.user])
			room[a.user], whole[a.user] = room[a.user].Sub(wants), whole[a.user].Sub(asks)
			leaf := &out.Queues[at[a.leaf]]
			leaf.Pending, leaf.Asked = leaf.Pending.Add(wants), leaf.Asked.Add(asks)
		}
		places[h] = len(out.Apps)
		out.Apps = append(out.Apps, p)
	}
	return places
}

// snapAsks lists what an application waits for: by place where it may not go elsewhere, else as a whole.
func snapAsks(a *app, s *Scheduler) (asks []preempt.Ask) {
	for d := range s.demands(a) {
		if d.pending == 0 {
			continue
		}
		if d.relaxAny {
			asks = append(asks, preempt.Ask{Name: Any, Relax: true, Capability: d.capability, Count: int64(d.pending)})
			continue
		}
		for i := range d.places {
			if p := &d.places[i]; p.count > 0 {
				asks = append(asks, preempt.Ask{Name: s.name(p.name), Capability: d.capability, Count: int64(min(p.count, d.pending))})
			}
		}
	}
	return asks
}
