package view

import (
	"slices"

	"heddle/rm/leader"
	"heddle/rm/leader/report"
	"heddle/rm/leader/totals"
	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// QueueUse is what a queue and its descendants use, and the live applications in them.
type QueueUse struct {
	// State is the scheduler's view of the queue; empty unless this member leads.
	State scheduler.QueueView
	// Share is the queue's share of the cluster.
	Share queue.Share

	// Amount is what they hold on nodes without a label, Labelled the same on those with one, by label.
	Amount
	Labelled map[string]*LabelUse
	Masters  records.Resource // containers of ApplicationMasters, held or pending
	Apps     []*App

	// Past is what this leader has counted of the queue's applications and containers.
	Past totals.Queue
}

// Amount is what applications have and wait for in a partition.
type Amount struct {
	Used, Pending records.Resource
	Reserved      report.Reserved
	Containers    int
	Waiting       int64 // containers asked for
}

// take adds what an application has, to an amount of it in each of its partitions. Its queues are charged what suspended containers hold, not what they claim:
// lacks is the difference, by label.
func (u *QueueUse) take(a *App, lacks map[string]records.Resource) {
	all := Amount{a.Used.Sub(lacks[""]), a.Pending, a.Reserved, a.Containers, a.Waiting}
	for _, x := range a.Uses {
		if x.Label == "" {
			continue
		}
		of := u.Labelled[x.Label]
		if of == nil {
			if u.Labelled == nil {
				u.Labelled = map[string]*LabelUse{}
			}
			of = &LabelUse{}
			u.Labelled[x.Label] = of
		}
		part := Amount{x.Used, x.Pending, report.Reserved{Resource: x.Reserved}, x.Running, x.Waiting}
		all.add(&part, -1)
		part.Used = part.Used.Sub(lacks[x.Label])
		of.add(&part, 1)
	}
	u.add(&all, 1)
}

func (a *Amount) add(o *Amount, times int) {
	n := int64(times)
	a.Used, a.Pending, a.Reserved.Resource = a.Used.Add(o.Used.Times(n)), a.Pending.Add(o.Pending.Times(n)), a.Reserved.Resource.Add(o.Reserved.Resource.Times(n))
	a.Containers, a.Waiting, a.Reserved.Containers = a.Containers+times*o.Containers, a.Waiting+n*o.Waiting, a.Reserved.Containers+times*o.Reserved.Containers
}

// LabelUse is what a queue has on nodes with a label.
type LabelUse struct {
	Amount
	// State is the scheduler's view of the queue there.
	State scheduler.QueueView
}

// Shown reports whether a queue has to do with the nodes, or had, whatever its settings say of them.
func (l *LabelUse) Shown() bool {
	return !l.Used.IsZero() || l.State.Held || l.State.Former != nil && l.State.Former.Share
}

// Share returns a queue's share of the nodes, given that of its settings: where these stopped to name it, the former one with a capacity of 0.
func (l *LabelUse) Share(s queue.Share) queue.Share {
	if f := l.State.Former; f != nil && f.Share {
		return queue.Share{Min: f.Guaranteed, Max: f.Maximum, Maximum: 1}
	}
	return s
}

// Masters returns the share of a leaf, as it is on the nodes with a label, that ApplicationMasters may take.
func (l *LabelUse) Masters(q *queue.Queue, label string) float32 {
	f := l.State.Former
	switch {
	case !q.Leaf():
		return 0
	case slices.Contains(q.Shares, label):
		return q.MaxAMShare
	case f != nil && f.Share:
		return f.AMShare
	}
	return 0
}

// Live returns the number of containers that live, wherever.
func (u *QueueUse) Live() int {
	n := u.Containers
	for _, l := range u.Labelled {
		n += l.Containers
	}
	return n
}

// Active counts applications that ask for something, and their users.
type Active struct{ Apps, Users int }

// Active counts those of a leaf.
func (u *QueueUse) Active() (n Active) {
	for i := range u.State.Users {
		if apps := u.State.Users[i].Wanting; apps > 0 {
			n.Apps += apps
			n.Users++
		}
	}
	return n
}

// ActiveIn counts those of a queue: applications below it, too, but users of a leaf only (Hadoop: QueueMetrics.activateApp, incrActiveUsers).
func ActiveIn(q *queue.Queue, uses map[string]*QueueUse) (n Active) {
	if u := uses[q.Path]; u != nil {
		n = u.Active()
	}
	for _, child := range q.Children {
		n.Apps += ActiveIn(child, uses).Apps
	}
	return n
}

// Started returns the number of applications whose ApplicationMaster has a container. YARN calls them running.
func (u *QueueUse) Started() (n int) {
	for _, a := range u.Apps {
		if a.AMContainer != (records.ContainerID{}) {
			n++
		}
	}
	return n
}

// QueueUses sums up live applications by the paths of queues, and returns the tree including queues that the scheduler created. unmanaged
// is the size that an ApplicationMaster without a container counts with.
func (v *Viewer) QueueUses(t *queue.Tree, unmanaged records.Resource) (*queue.Tree, map[string]*QueueUse) {
	apps := v.Live()
	paths := make([]string, len(apps))
	for i := range apps {
		paths[i] = apps[i].Queue
	}
	t = t.With(paths)
	out := map[string]*QueueUse{}
	shares := t.Effective(v.Total())
	if len(t.Labels()) > 0 {
		queue.CountLabels(t, shares, LabelsOf(v).Sizes())
	}
	t.Root.All(func(q *queue.Queue) { out[q.Path] = &QueueUse{Share: q.Shown("", shares[q.Index])} })
	v.addStates(out)
	lacking := lacks(v, apps)
	for i := range apps {
		a := &apps[i]
		master := a.AMResource
		switch {
		case a.Unmanaged:
			master = unmanaged
		case a.MasterLabel() != "":
			master = records.Resource{} // it counts among nodes with a label
		}
		for q := within(t, a.Queue); q != nil; q = q.Parent {
			u := out[q.Path]
			u.take(a, lacking[a.ID])
			u.Masters = u.Masters.Add(master)
			u.Apps = append(u.Apps, a)
		}
	}
	v.addPast(t, out)
	return t, out
}

// lacks returns what suspended and shrunk containers of applications claim and don't hold, by the label of their nodes.
func lacks(v *Viewer, apps []App) map[records.ApplicationID]map[string]records.Resource {
	out := map[records.ApplicationID]map[string]records.Resource{}
	v.Source.Read(func(s *ledger.State) {
		for i := range apps {
			for _, c := range apps[i].Suspended {
				of := out[apps[i].ID]
				if of == nil {
					of = map[string]records.Resource{}
					out[apps[i].ID] = of
				}
				label := LabelsOf(v).Of(s, c.Node)
				of[label] = of[label].Add(c.Resource.Sub(c.Held()))
			}
		}
	})
	return out
}

// within returns the queue that an application counts in; nil if it is gone.
func within(t *queue.Tree, path string) *queue.Queue {
	q, ok := t.Find(path)
	switch {
	case ok:
		return q
	case t.Kind == queue.FIFO:
		q, _ = t.Find("default")
		return q
	case t.Kind == queue.Fair: // a queue below a leaf
		return t.Above(path)
	}
	return nil
}

func (v *Viewer) addPast(t *queue.Tree, uses map[string]*QueueUse) {
	l := v.Source.Leader()
	if l == nil {
		return
	}
	for path, past := range l.History() {
		for q := within(t, path); q != nil; q = q.Parent {
			uses[q.Path].Past.Add(past)
		}
	}
}

// addLabelled adds what the scheduler knows of queues on nodes with labels.
func addLabelled(l *leader.Leader, uses map[string]*QueueUse) {
	byLabel, err := l.QueuesByLabel()
	if err != nil {
		return
	}
	for label, states := range byLabel {
		for i := range states {
			u := uses[states[i].Path]
			if u == nil {
				continue
			}
			if u.Labelled == nil {
				u.Labelled = map[string]*LabelUse{}
			}
			u.Labelled[label] = &LabelUse{State: states[i]}
		}
	}
}

func (v *Viewer) addStates(uses map[string]*QueueUse) {
	l := v.Source.Leader()
	if l == nil {
		return
	}
	states, err := l.Queues()
	if err != nil { // it no longer leads
		return
	}
	if v.Labelled {
		addLabelled(l, uses)
	}
	for i := range states {
		if u := uses[states[i].Path]; u != nil {
			u.State = states[i]
		}
	}
}

// Available returns what YARN says that a queue has left: of its guarantee with capacities, of the cluster at the root. In
// FairScheduler's other queues YARN never sets it.
func (u *QueueUse) Available(t *queue.Tree, q *queue.Queue, cluster records.Resource) records.Resource {
	switch {
	case q.Parent == nil:
		return cluster.Sub(u.Used)
	case t.Kind == queue.Capacity:
		return left(t, u.Share.Min, u.Used, cluster)
	}
	return records.Resource{}
}

// left returns what a queue that holds some of its guarantee has left of it: nothing if it holds at least as much as the resource
// calculator measures (Hadoop: CSQueueUtils.getMaxAvailableResourceToQueuePartition).
func left(t *queue.Tree, guarantee, used, cluster records.Resource) records.Resource {
	if t.Share(guarantee, cluster) <= t.Share(used, cluster) {
		return records.Resource{}
	}
	return guarantee.Sub(used).Max(records.Resource{})
}

// Usage returns an application's use in percent of its queue's guarantee or fair share, and of the cluster, as the tree's resource
// calculator measures it (Hadoop: FiCaSchedulerApp.getResourceUsageReport, SchedulerApplicationAttempt.getResourceUsageReport).
// The guarantee is that in the partition of its ApplicationMaster, wherever its containers are. Of none it is 0.
func (a *App) Usage(t *queue.Tree) (ofQueue, ofCluster float32) {
	ofCluster = 100 * float32(t.Share(a.Used, a.Cluster))
	if t.Kind == queue.Fair {
		return 100 * ofFairShare(a.Used.MemoryMB(), a.QueueShare.MemoryMB(), a.Cluster.MemoryMB()), ofCluster
	}
	if t.Kind != queue.Capacity {
		return ofCluster, ofCluster
	}
	if q, ok := t.In(a.MasterLabel()).Find(a.Queue); ok && q.AbsoluteCapacity > 0 {
		ofQueue = 100 * float32(t.Share(a.Used, a.Partition)) / q.AbsoluteCapacity
	}
	return ofQueue, ofCluster
}

// ofFairShare returns the ratio of used memory to a queue's fair share. YARN stores the share as a fraction of the cluster in 32 bits, and
// converts it back to a whole number.
func ofFairShare(used, share, cluster int64) float32 {
	if cluster == 0 {
		return 0
	}
	part := float32(share) / float32(cluster)
	if share = records.Whole(float64(cluster) * float64(part)); share == 0 {
		return 0
	}
	return float32(used) / float32(share)
}
