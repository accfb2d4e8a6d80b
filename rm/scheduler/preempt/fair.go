package preempt

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"heddle/rm/scheduler/fairshare"
	"heddle/yarn/records"
)

// FairSettings are keys of yarn.scheduler.fair.*.
type FairSettings struct {
	Utilization float64       // preemption.cluster-utilization-threshold: part of the cluster that must be used
	Wait        time.Duration // waitTimeBeforeKill: from telling an ApplicationMaster to killing its container
	// Recheck is how long an application isn't looked at after containers were marked for it: the wait, four heartbeats, and
	// waitTimeBeforeNextStarvationCheck.
	Recheck time.Duration
	// SpareMasters keeps ApplicationMasters, those of Masters' leaves as it says there (am.preemption is false).
	SpareMasters bool
	Masters      map[string]bool // whether those of a leaf may be taken, by its path
}

// takesMasters reports whether ApplicationMasters of a leaf may be taken.
func (s *FairSettings) takesMasters(leaf string) bool {
	if takes, ok := s.Masters[leaf]; ok {
		return takes
	}
	return !s.SpareMasters
}

// DefaultFair are YARN's defaults, with heartbeats of a second.
func DefaultFair() FairSettings {
	return FairSettings{Utilization: 0.8, Wait: 15 * time.Second, Recheck: 29 * time.Second}
}

// Fair takes from applications that have more than their fair share, for those that had less than a part of theirs, or whose
// queue had less than its minimum share, for longer than its timeout (Hadoop: FSPreemptionThread, FSLeafQueue.updateStarvedApps).
type Fair struct {
	Settings FairSettings

	minSince map[string]int64 // since when leaves are below their minimum share, by path
	since    map[records.ApplicationID]int64
	next     map[records.ApplicationID]int64       // when an application may starve again
	marked   map[records.ContainerID]scheduledKill // containers that will be killed
}

type scheduledKill struct {
	at     int64 // ms
	victim Victim
}

// Round decides at a time (ms). Containers that it marks are killed after the wait, whether or not an application still starves.
func (f *Fair) Round(now int64, s *Snapshot) (r Round) {
	if f.marked == nil {
		f.minSince, f.since = map[string]int64{}, map[records.ApplicationID]int64{}
		f.next, f.marked = map[records.ApplicationID]int64{}, map[records.ContainerID]scheduledKill{}
	}
	h := newFairVictims(f, s)
	r.Kill = f.due(now, h)
	starving := f.starving(now, s)
	if !f.busy(s) {
		return r
	}
	for _, st := range starving {
		f.next[st.app.ID] = now + f.Settings.Recheck.Milliseconds()
		for _, v := range h.satisfy(st) {
			f.marked[v.ID] = scheduledKill{at: now + f.Settings.Wait.Milliseconds(), victim: v}
			r.Tell = append(r.Tell, v)
		}
	}
	return r
}

// Marked says of a container that will be killed when that is (ms), and why.
func (f *Fair) Marked(id records.ContainerID) (until int64, reason string, ok bool) {
	k, ok := f.marked[id]
	return k.at, k.victim.Reason, ok
}

// due returns the marked containers whose time is up. Marks of containers that are gone are dropped.
func (f *Fair) due(now int64, h *fairVictims) (kill []Victim) {
	for id, k := range f.marked {
		c, there := h.known[id]
		switch {
		case !there:
			delete(f.marked, id)
		case k.at <= now:
			delete(f.marked, id)
			k.victim.Handle, k.victim.Resource = c.Handle, c.Resource // which may have changed since the container was marked
			kill = append(kill, k.victim)
			h.dying[id] = true
		}
	}
	slices.SortFunc(kill, func(a, b Victim) int { return a.ID.Compare(b.ID) })
	return kill
}

// busy reports whether so much of the cluster is used that starving is not for want of asking.
func (f *Fair) busy(s *Snapshot) bool {
	for _, i := range []int{records.Memory, records.VCores} {
		if s.Cluster[i] > 0 && len(s.Queues) > 0 && float64(s.Queues[0].Used[i])/float64(s.Cluster[i]) > f.Settings.Utilization {
			return true
		}
	}
	return false
}

// starved is an application and how much it starves for.
type starved struct {
	app    *App
	lacks  records.Resource
	reason string
}

// starving records since when applications starve, and returns those that starve for longer than the timeouts, the hungriest first.
func (f *Fair) starving(now int64, s *Snapshot) []starved {
	demand := make([]records.Resource, len(s.Queues))
	byQueue := make([][]*App, len(s.Queues))
	alive := map[records.ApplicationID]bool{}
	for i := range s.Apps {
		a := &s.Apps[i]
		alive[a.ID] = true
		byQueue[a.Queue] = append(byQueue[a.Queue], a)
		demand[a.Queue] = demand[a.Queue].Add(a.Used).Add(a.pending())
	}
	for id := range f.since {
		if !alive[id] {
			delete(f.since, id)
		}
	}
	for id := range f.next {
		if !alive[id] {
			delete(f.next, id)
		}
	}
	var all []starved
	for i, apps := range byQueue {
		if len(apps) == 0 {
			delete(f.minSince, s.Queues[i].Path)
			continue
		}
		all = append(all, f.inLeaf(now, s, i, apps, demand[i])...)
	}
	slices.SortStableFunc(all, func(a, b starved) int {
		return cmp.Or(cmp.Compare(b.lacks[records.Memory], a.lacks[records.Memory]), cmp.Compare(a.app.Seq, b.app.Seq))
	})
	return all
}

// inLeaf returns the starving applications of a leaf: those below their own fair shares; and where the leaf is below its
// minimum share by more than that, further ones, those that have least of theirs first.
func (f *Fair) inLeaf(now int64, s *Snapshot, i int, apps []*App, demand records.Resource) (out []starved) {
	q := &s.Queues[i]
	m := measureOf(q.Share.Kind, s.Cluster)
	slices.SortStableFunc(apps, func(a, b *App) int {
		return cmp.Or(cmp.Compare(m.ratio(a.Used, a.Fair), m.ratio(b.Used, b.Fair)), cmp.Compare(a.Seq, b.Seq))
	})
	lacking := map[*App]records.Resource{}
	var fair records.Resource
	for _, a := range apps {
		wants := scaled(a.Fair, q.Threshold).Min(a.Used.Add(a.pending()))
		if !m.less(a.Used, wants) {
			delete(f.since, a.ID)
			continue
		}
		if _, ok := f.since[a.ID]; !ok {
			f.since[a.ID] = now
		}
		if q.FairTimeout >= 0 && now-f.since[a.ID] >= q.FairTimeout && now >= f.next[a.ID] && !a.pending().IsZero() {
			lacking[a] = atLeast0(wants.Sub(a.Used))
			fair = fair.Add(lacking[a])
		}
	}
	short := f.belowMinimum(now, q, m, demand)
	short = atLeast0(short.Sub(fair))
	for _, a := range apps {
		lacks, hungry := lacking[a]
		reason := fmt.Sprintf("%v of queue %s uses %v, less than %g of its fair share %v", a.ID, q.Path, a.Used, q.Threshold, a.Fair)
		if m.anyPositive(short) && now >= f.next[a.ID] && !a.pending().IsZero() {
			rest := atLeast0(a.pending().Sub(lacks))
			more := rest.Min(short)
			if m.less(short, rest) {
				// the last one starves for all that it wants beyond the minimum share, if that is more: so it is in YARN
				// (FSLeafQueue.updateStarvedAppsMinshare), where the victims' fair shares are what bounds it
				more = more.Max(atLeast0(rest.Sub(short)))
				short = records.Resource{}
			} else {
				short = short.Sub(more)
			}
			if !hungry {
				reason = fmt.Sprintf("queue %s of %v uses %v, less than its minimum share %v", q.Path, a.ID, q.Used, q.Share.Min)
			}
			lacks = lacks.Add(more)
		}
		if m.anyPositive(lacks) {
			out = append(out, starved{app: a, lacks: lacks, reason: reason})
		}
	}
	return out
}

// belowMinimum returns how much a leaf has been below its minimum share for the whole timeout.
func (f *Fair) belowMinimum(now int64, q *Queue, m measure, demand records.Resource) records.Resource {
	wants := m.min(q.Share.Min, demand.Min(q.Share.Max))
	if !m.less(q.Used, wants) {
		delete(f.minSince, q.Path)
		return records.Resource{}
	}
	if _, ok := f.minSince[q.Path]; !ok {
		f.minSince[q.Path] = now
	}
	if q.MinTimeout < 0 || now-f.minSince[q.Path] < q.MinTimeout {
		return records.Resource{}
	}
	return atLeast0(wants.Sub(q.Used))
}

// measureOf returns how the queues of a policy compare amounts.
func measureOf(k fairshare.Kind, cluster records.Resource) measure {
	return measure{dominant: k == fairshare.DRF, cluster: cluster}
}
