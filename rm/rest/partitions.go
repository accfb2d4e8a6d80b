package rest

import (
	"maps"
	"slices"

	"heddle/rm/queue"
	"heddle/rm/queue/label"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// partition is what a queue has of the nodes with a label.
type partition struct {
	name  string
	size  records.Resource // of all of them
	queue *queue.Queue     // as it is there
	share queue.Share
	use   *view.LabelUse
}

func (t *capacityTree) partitionsOf(q *queue.Queue) (all []partition) {
	for _, name := range t.labelsOf(q) {
		all = append(all, t.partition(q, name))
	}
	return all
}

// labelsOf returns the labels of the partitions in which a queue may have something by its settings, or by earlier ones, or was lent something.
func (t *capacityTree) labelsOf(q *queue.Queue) []string {
	names := slices.Clone(t.tree.LabelsOf(q))
	for name, use := range t.uses[q.Path].Labelled {
		if use.Shown() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (t *capacityTree) partition(q *queue.Queue, name string) partition {
	p := partition{name: name, use: t.uses[q.Path].Labelled[name]}
	p.queue, p.share, p.size = t.parts.Of(q, name)
	if p.use == nil {
		p.use = &view.LabelUse{}
	}
	p.share = p.use.Share(p.share)
	return p
}

// capacity returns what a partition is to a queue.
func (t *capacityTree) capacity(p *partition) partitionCapacity {
	used := t.shareOf(p.use.Used, p.size)
	out := partitionCapacity{
		Name: p.name, Vector: t.vector(p.queue), Capacity: 100 * p.share.Capacity, MaxCapacity: shownMaximum(p.share.Maximum), AbsoluteCapacity: 100 * p.share.AbsoluteCapacity,
		AbsoluteUsed: 100 * float32(used), AbsoluteMax: 100 * p.share.AbsoluteMaximum, MaxAMLimit: 100 * p.use.Masters(p.queue, p.name),
		Weight: p.queue.ShownWeight(), NormalizedWeight: p.queue.NormalizedWeight,
		ConfiguredMin: t.bounded(p.queue.ConfiguredMin()), ConfiguredMax: t.bounded(p.queue.ConfiguredMax()),
		EffectiveMin: t.resource(p.share.Min), EffectiveMax: t.resource(p.share.Max),
	}
	if q := p.queue; q.Parent == nil && p.name != "" {
		out.Weight, out.NormalizedWeight = q.Weight, q.NormalizedWeight // YARN shows those of its settings in partitions alone
	}
	if guaranteed := t.shareOf(p.share.Min, p.size); guaranteed > 0 {
		out.UsedCapacity = 100 * float32(used/guaranteed)
	}
	return out
}

// usages returns what a queue has and waits for in partitions: a leaf in all that it may use or does, another one where it has something.
func (t *capacityTree) usages(q *queue.Queue) (all []partitionUsage) {
	var names []string
	if q.Leaf() {
		for _, p := range t.partitionsOf(q) {
			if label.Has(q.Labels, p.name) || p.use.State.Held || p.use.State.Former != nil {
				names = append(names, p.name)
			}
		}
	}
	for name, use := range t.uses[q.Path].Labelled {
		some := !use.Used.IsZero() || !use.Reserved.Resource.IsZero() || q.Leaf() && (!use.Pending.IsZero() || !use.State.AMUsed.IsZero())
		if some && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p := t.partition(q, name)
		u := partitionUsage{Name: name, Used: t.resource(p.use.Used), Reserved: t.resource(p.use.Reserved.Resource), Pending: t.resource(p.use.Pending)}
		if q.Leaf() {
			state, limit := &p.use.State, records.Resource{}
			if state.Former != nil {
				state.AMLimit = state.Former.AMLimit
			}
			held, most := t.resource(state.AMUsed), t.resource(state.AMLimit)
			if !state.AMUsed.IsZero() {
				limit = state.UserAM.Min(state.AMLimit)
			}
			ofUser := t.resource(limit)
			u.AMUsed, u.AMLimit, u.UserAMLimit = &held, &most, &ofUser
		}
		all = append(all, u)
	}
	return all
}

// userUsages returns what a user of a leaf has in partitions.
func (t *capacityTree) userUsages(u *view.QueueUse, name string) (all []partitionUsage, sum records.Resource) {
	none := t.resource(records.Resource{})
	for _, label := range slices.Sorted(maps.Keys(u.Labelled)) {
		for i := range u.Labelled[label].State.Users {
			one := &u.Labelled[label].State.Users[i]
			if one.Name != name {
				continue
			}
			held := t.resource(one.AMUsed)
			sum = sum.Add(one.Used)
			all = append(all, partitionUsage{
				Name: label, Used: t.resource(one.Used), Reserved: t.resource(one.Reserved), Pending: none, AMUsed: &held, AMLimit: &none, UserAMLimit: &none,
			})
		}
	}
	return all, sum
}

// labelledUsages returns what an application has in partitions, the one of nodes without a label first.
func (s *server) labelledUsages(a *view.App) *partitions {
	none := s.resource(records.Resource{})
	out := &partitions{}
	add := func(name string, used, reserved, pending records.Resource) {
		held := none
		if name == a.MasterLabel() {
			held = s.resource(s.amResource(a))
		}
		out.Usage = append(out.Usage, partitionUsage{
			Name: name, Used: s.resource(used), Reserved: s.resource(reserved), Pending: s.resource(pending), AMUsed: &held, AMLimit: &none, UserAMLimit: &none,
		})
	}
	for i := range a.Uses {
		u := &a.Uses[i]
		if add(u.Label, u.Used, u.Reserved, u.Pending); i == 0 {
			out.Usage = append(out.Usage, s.fairUsage(a)...)
		}
	}
	return out
}

// fairUsage is the empty entry that YARN has of a FairlyOrdered application: what it compares stands under the name of all labels.
func (s *server) fairUsage(a *view.App) []partitionUsage {
	if !s.capacityScheduler() || !a.FairlyOrdered(s.Queues.Tree()) {
		return nil
	}
	none := s.resource(records.Resource{})
	return []partitionUsage{{Name: label.Any, Used: none, Reserved: none, Pending: none, AMUsed: &none, AMLimit: &none, UserAMLimit: &none}}
}
