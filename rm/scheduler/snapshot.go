package scheduler

import (
	"slices"
	"time"

	"heddle/rm/scheduler/nodeset"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/preempt"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Names knows what the scheduler doesn't of applications and containers.
type Names interface {
	App(handle.App) records.ApplicationID
	// Container fills in id, priority, when it was granted, and whether it is an ApplicationMaster or to be spared. False
	// leaves it out.
	Container(handle.Container, *preempt.Container) bool
}

// Snapshots returns what preemption looks at, one for each partition, the default one first. They are taken again for each round.
func (s *Scheduler) Snapshots(names Names) (all []*preempt.Snapshot) {
	all = s.SnapshotsOfQueues(names)
	for _, x := range all {
		x.Complete()
	}
	return all
}

// SnapshotsOfQueues returns snapshots of which only queues and applications are complete. The others have to be completed before the scheduler changes.
func (s *Scheduler) SnapshotsOfQueues(names Names) (all []*preempt.Snapshot) {
	var whole records.Resource
	for i := range s.parts {
		all = append(all, s.parts[i].snapshot(names))
		whole = whole.Add(all[i].Cluster)
	}
	for _, x := range all {
		x.Others = whole.Sub(x.Cluster)
	}
	return all
}

func (s *part) snapshot(names Names) *preempt.Snapshot {
	s.core.Refresh()
	out := &preempt.Snapshot{Cluster: s.core.Calc.Cluster, Dominant: !s.core.Calc.MemoryOnly, Minimum: s.core.Config.Minimum}
	shares := s.policy.Shares()
	at := map[int32]int{}
	s.snapQueue(out, core.Root, -1, shares, at)
	apps := s.snapApps(out, names, shares, at)
	f := &filling{part: s, out: out, names: names, places: apps}
	out.Fill = func(app int) {
		if app < 0 {
			f.all()
		} else {
			f.app(app)
		}
	}
	return out
}

// filling adds containers to a snapshot.
type filling struct {
	*part
	out      *preempt.Snapshot
	names    Names
	places   []int     // of applications in out, by handle
	of       [][]int32 // handles of containers, by place; nil: not yet known
	nodes    []int     // places of nodes, by handle; nil: containers aren't on any
	killable map[handle.Container]bool
}

// all adds nodes and all containers, and what of queues is killable.
func (f *filling) all() {
	f.nodes = f.snapNodes(f.out)
	f.group()
	for i := range f.out.Apps {
		f.app(i)
	}
	for h := range f.killable {
		c := &f.core.Containers[h]
		if !c.Live() || c.Reserved() {
			continue
		}
		for q := f.out.Apps[f.places[c.App]].Queue; q >= 0; q = f.out.Queues[q].Parent {
			f.out.Queues[q].Killable = f.out.Queues[q].Killable.Add(f.core.Held(h))
		}
	}
}

// app adds the containers of an application.
func (f *filling) app(place int) {
	if f.of == nil {
		f.group()
	}
	a := &f.out.Apps[place]
	a.Containers = make([]preempt.Container, 0, len(f.of[place]))
	for _, h := range f.of[place] {
		a.Containers = append(a.Containers, preempt.Container{})
		if !f.container(a, handle.Container(h), &a.Containers[len(a.Containers)-1]) {
			a.Containers = a.Containers[:len(a.Containers)-1]
		}
	}
	slices.SortFunc(a.Containers, func(a, b preempt.Container) int { return a.ID.Compare(b.ID) })
}

// group finds the containers of each application.
func (f *filling) group() {
	f.killable = f.killableSet()
	f.of = make([][]int32, len(f.out.Apps))
	for h := range f.core.Containers {
		if c := &f.core.Containers[h]; c.Live() {
			place := f.places[c.App]
			f.of[place] = append(f.of[place], int32(h))
		}
	}
}

// container describes a container; false leaves it out.
func (f *filling) container(a *preempt.App, h handle.Container, p *preempt.Container) bool {
	c := &f.core.Containers[h]
	*p = preempt.Container{Resource: *f.core.Holds(c), Handle: int32(h), Killable: f.killable[h]}
	if f.nodes != nil {
		p.Node = f.nodes[c.Node]
	}
	if !c.Reserved() {
		p.Held = f.core.Held(h)
		p.Footprint = p.Held
		return f.names.Container(h, p)
	}
	k := f.core.ReservationOf(h)
	p.Reserved, p.Priority, p.Relax, p.Since = true, k.Demand.Priority, k.Demand.RelaxAny, k.Since
	p.ID = records.ContainerID{Attempt: records.AttemptID{App: a.ID}, ID: k.Seq}
	return true
}

func (s *part) snapQueue(out *preempt.Snapshot, h int32, parent int, shares map[int32]*fairshare.Queue, at map[int32]int) {
	q := &s.core.Queues[h]
	at[h] = len(out.Queues)
	p := preempt.Queue{
		Path: q.Cfg.Path, Parent: parent, Used: q.Used, Maximum: q.Maximum, Reserved: q.Reserved,
		Guaranteed: q.Guaranteed.Min(q.Maximum), // as nothing is to be taken for what it can't have
		Disabled:   q.Cfg.NoPreemption,
		IntraOff:   q.Cfg.NoIntraPreemption || q.Apps == ranking.ByRatio, // only the leaf's policy knows who comes first there
		Means:      q.Cfg.Means, Unable: q.Cfg.Unable,
		FairRanking: q.Apps == ranking.ByAppUse || q.Apps == ranking.ByFairness,
		MinTimeout:  timeout(q.Cfg.Fair.MinTimeout), FairTimeout: timeout(q.Cfg.Fair.FairTimeout), Threshold: q.Cfg.Fair.FairThreshold,
	}
	if s.core.SharesNodes() && p.Maximum.IsZero() {
		p.Maximum = s.core.Nodes.Cluster // it gets what is idle: more isn't taken back than is asked for here, as in YARN
	}
	for i, n := range q.Guaranteed {
		p.MaxAM[i] = records.Whole(float64(n) * float64(q.Cfg.MaxAMShare))
	}
	if q.Parent != ranking.Nothing && s.core.Queues[q.Parent].Inner.Rule == ranking.ByPriorityAndUse {
		p.Priority = q.Cfg.Priority
	}
	if share := shares[h]; share != nil {
		p.Share = *share
	}
	out.Queues = append(out.Queues, p)
	me := at[h]
	for _, c := range q.Below {
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

// snapNodes returns the places of nodes by their handles. Those that are gone have none.
func (s *part) snapNodes(out *preempt.Snapshot) []int {
	at := make([]int, len(s.core.Nodes.At))
	for h := range s.core.Nodes.At {
		if n := &s.core.Nodes.At[h]; n.Live {
			at[h] = len(out.Nodes)
			p := preempt.Node{Host: s.core.Nodes.Name(n.Host), Rack: s.core.Nodes.Name(n.Rack), Closed: n.Open == nodeset.NoWork, Handle: int32(h)}
			if n.Open != nodeset.NoWork {
				p.Free = s.core.Nodes.Capability(n).Sub(n.Used).Max(records.Resource{})
			}
			out.Nodes = append(out.Nodes, p)
		}
	}
	return at
}

// snapApps returns the places of active applications by their handles, and sums up what leaves wait for within users' limits. Others have no
// containers (Hadoop: LeafQueue.getTotalPendingResourcesConsideringUserLimit).
func (s *part) snapApps(out *preempt.Snapshot, names Names, shares map[int32]*fairshare.Queue, at map[int32]int) []int {
	places := make([]int, len(s.core.Apps))
	room, whole := map[int32]records.Resource{}, map[int32]records.Resource{} // of users, the latter with what is reserved
	limits := s.policy.UserLimitsOfAll()
	var hope hopes
	nth := map[int32]int{} // runnable applications of leaves so far, as shareFairly numbers them
	for h := range s.core.Apps {
		a := &s.core.Apps[h]
		var fair records.Resource
		if share := shares[a.Leaf]; share != nil && a.Runnable {
			fair = share.Apps[nth[a.Leaf]].Fair
			nth[a.Leaf]++
		}
		if !a.Active {
			continue
		}
		q, u := &s.core.Queues[a.Leaf], &s.core.Users[a.User]
		limit := s.core.Calc.Weighted(s.policy.UserLimit(q), u.Weight)
		p := preempt.App{
			ID: names.App(handle.App(h)), Queue: at[a.Leaf], User: u.Name, Priority: a.Spec.Priority, Seq: a.Spec.Seq,
			Used: a.Used, Fair: fair, UserLimit: s.core.Calc.Weighted(limits[a.Leaf], u.Weight),
		}
		var held records.Resource
		p.Asks, held = snapAsks(a, s, &hope)
		if _, ok := room[a.User]; !ok {
			room[a.User] = limit.Sub(u.Used).Max(records.Resource{})
			whole[a.User] = room[a.User]
		}
		pending := a.PendingSum.Sub(held) // nothing is taken for what wouldn't be granted
		wants := pending.Sub(a.Reserved).Max(records.Resource{}).Min(room[a.User])
		asks := pending.Min(whole[a.User])
		room[a.User], whole[a.User] = room[a.User].Sub(wants), whole[a.User].Sub(asks)
		leaf := &out.Queues[at[a.Leaf]]
		leaf.Pending, leaf.Asked = leaf.Pending.Add(wants), leaf.Asked.Add(asks)
		places[h] = len(out.Apps)
		out.Apps = append(out.Apps, p)
	}
	return places
}

// snapAsks lists what an application waits for: by place where it may not go elsewhere, else as a whole. held sums up what is left out, as
// the policy of the leaf holds it back, or no node satisfies its constraint.
func snapAsks(a *core.App, s *part, hope *hopes) (asks []preempt.Ask, held records.Resource) {
	for d := range s.core.Demands(a) {
		if d.Pending == 0 || d.Guest {
			continue
		}
		if s.core.HoldsBack(a, d).Policy != "" || hope.without(s, d) {
			held = held.Add(d.Capability.Times(int64(d.Pending)))
			continue
		}
		if d.RelaxAny {
			asks = append(asks, preempt.Ask{Name: core.Any, Relax: true, Capability: d.Capability, Count: int64(d.Pending), Priority: d.Priority})
			continue
		}
		for i := range d.Places {
			if p := &d.Places[i]; p.Count > 0 {
				asks = append(asks, preempt.Ask{
					Name: s.core.Nodes.Name(p.Name), Capability: d.Capability, Count: int64(min(p.Count, d.Pending)), Priority: d.Priority,
				})
			}
		}
	}
	return asks, held
}

// hopes counts what was looked up to find out for which requests with constraints containers may be taken from others.
type hopes struct{ lookups int64 }

// maxHopes bounds that, of all of them: some 10 ms.
const maxHopes = 200_000

// without reports whether a request's constraint keeps it from all nodes, however much of them is free, or that it takes too long to find out.
func (h *hopes) without(s *part, d *core.Demand) bool {
	if !d.Placed {
		return false
	}
	if h.lookups += d.Weight(); !d.Possible() {
		return true
	}
	for n := range s.core.Nodes.At {
		if h.lookups += d.Weight(); h.lookups > maxHopes {
			return true
		}
		if x := &s.core.Nodes.At[n]; x.Open&d.Work != 0 && d.Unsatisfied(x.Self) == nil {
			return false
		}
	}
	return true
}
