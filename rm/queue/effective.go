package queue

import (
	"math"

	"heddle/rm/queue/quantity"
	"heddle/yarn/records"
)

// Share is a queue's share of a cluster of a given size.
type Share struct {
	// Min is the queue's guarantee, Max its maximum.
	Min, Max records.Resource
	// Capacity and Maximum are shares of the parent, AbsoluteCapacity and AbsoluteMaximum of the cluster, 0 to 1. As in YARN,
	// Capacity is 0 if it is configured as a weight, unless capacities may be mixed.
	Capacity, Maximum, AbsoluteCapacity, AbsoluteMaximum float32
	// MaxApplications limits the live applications of the queue, MaxApplicationsPerUser those of one user in it.
	MaxApplications, MaxApplicationsPerUser int32
}

// Effective computes the share of each queue, by Queue.Index. Call it again when the cluster changes
// (Hadoop: CSQueue.updateClusterResource).
func (t *Tree) Effective(cluster records.Resource) []Share {
	e := effective{t, cluster, make([]Share, len(t.queues))}
	root := t.Root
	e.shares[0] = Share{
		Min: cluster, Max: cluster, Capacity: 1, Maximum: root.Maximum, AbsoluteCapacity: 1, AbsoluteMaximum: root.AbsoluteMaximum,
		MaxApplications: root.MaxApplications, MaxApplicationsPerUser: root.MaxApplicationsPerUser,
	}
	if t.Kind == Fair {
		e.fair(root)
	}
	e.below(root)
	return e.shares
}

type effective struct {
	*Tree
	cluster records.Resource
	shares  []Share
}

func (e *effective) below(parent *Queue) {
	if len(parent.Children) == 0 {
		return
	}
	switch {
	case e.Kind == Fair:
		for _, q := range parent.Children {
			e.fair(q)
		}
	case e.vector:
		e.mixed(parent)
	default:
		e.uniform(parent)
	}
	for _, q := range parent.Children {
		e.below(q)
	}
}

// fair computes the limits of a queue of a Fair tree. The scheduler computes its fair share.
func (e *effective) fair(q *Queue) {
	s := &e.shares[q.Index]
	*s = Share{
		Min: q.Fair.Min.Of(e.cluster, records.Resource{}), Max: q.Fair.Max.Of(e.cluster, e.cluster),
		MaxApplications: q.MaxApplications, MaxApplicationsPerUser: q.MaxApplicationsPerUser,
		Maximum: 1, AbsoluteMaximum: 1,
	}
	s.Max = s.Max.Max(s.Min)
}

// uniform gives the children of a queue their shares if all resources are configured in the same unit.
func (e *effective) uniform(parent *Queue) {
	above := e.shares[parent.Index]
	scale := e.scale(parent, above.Min)
	for _, q := range parent.Children {
		s := &e.shares[q.Index]
		if q.Unit == quantity.ByAmount {
			least, most := q.Vector.Amounts(), q.MaximumVector.Amounts()
			for i, n := range least {
				s.Min[i] = records.Whole(float64(n) * scale[i])
			}
			bound := parent.MaximumVector.Amounts() // as configured, else as computed
			if parent.Parent == nil || bound.IsZero() {
				bound = above.Max
			}
			s.Max = bound
			if !most.IsZero() {
				s.Max = most.Min(bound)
			}
			e.derive(q, s, &above)
			continue
		}
		*s = Share{
			Capacity: q.Capacity, Maximum: q.Maximum,
			AbsoluteCapacity: q.Capacity * above.AbsoluteCapacity, AbsoluteMaximum: q.Maximum * above.AbsoluteMaximum,
		}
		if q.Unit == quantity.ByWeight {
			s.Capacity = 0
		}
		s.Min, s.Max = quantity.Times(e.cluster, s.AbsoluteCapacity), quantity.Times(e.cluster, s.AbsoluteMaximum)
		s.MaxApplications, s.MaxApplicationsPerUser = q.applicationsOf(s.AbsoluteCapacity)
	}
}

// scale returns, by resource, the factor for the amounts of a queue's children; it is below 1 where they add up to more than the queue
// has.
func (e *effective) scale(parent *Queue, has records.Resource) (out [records.MaxResourceTypes]float64) {
	var sum records.Resource
	for _, q := range parent.Children {
		sum = sum.Add(q.Vector.Amounts())
	}
	short := e.share(has) < e.share(sum)
	for i := range out {
		out[i] = 1
		if (short || e.vector) && sum[i] > has[i] {
			out[i] = float64(has[i]) / float64(sum[i])
		}
	}
	return out
}

func (e *effective) share(r records.Resource) float64 { return e.Share(r, e.cluster) }

// Share returns the ratio of a part to a whole, as the tree's resource calculator sees it: of memory, or of the resource with
// the largest ratio.
func (t *Tree) Share(part, whole records.Resource) (most float64) {
	for i, n := range whole {
		if n > 0 && (i == records.Memory || t.Dominant) {
			most = max(most, float64(part[i])/float64(n))
		}
	}
	return most
}

// derive computes the shares of a queue with amounts.
func (e *effective) derive(q *Queue, s, above *Share) {
	s.Capacity, s.Maximum = e.ratio(s.Min, above.Min), e.ratio(s.Max, above.Max)
	s.AbsoluteCapacity, s.AbsoluteMaximum = s.Capacity*above.AbsoluteCapacity, s.Maximum*above.AbsoluteMaximum
	s.MaxApplications, s.MaxApplicationsPerUser = q.applicationsOf(s.AbsoluteCapacity)
}

func (e *effective) ratio(part, whole records.Resource) float32 {
	if w := e.share(whole); w > 0 {
		return float32(e.share(part) / w)
	}
	return 0
}

// mixed divides each resource separately: first amounts, then percentages of the remainder, then the rest by weight
// (Hadoop: CapacitySchedulerQueueCapacityHandler).
func (e *effective) mixed(parent *Queue) {
	above := e.shares[parent.Index]
	scale := e.scale(parent, above.Min)
	for i := range e.types.Len() {
		var weights float64
		left := above.Min[i]
		for _, q := range parent.Children {
			s := &e.shares[q.Index]
			switch a := q.Vector[i]; a.Unit {
			case quantity.ByAmount:
				s.Min[i] = min(int64(a.Value*scale[i]), left)
				left -= s.Min[i]
			case quantity.ByWeight:
				weights += a.Value
			}
			switch a := q.MaximumVector[i]; {
			case a.Unit == quantity.ByAmount && a.Value > 0:
				s.Max[i] = min(int64(a.Value), above.Max[i])
			case a.Unit == quantity.ByPercent:
				s.Max[i] = records.Whole(float64(above.Max[i]) * a.Value / 100)
			default:
				s.Max[i] = above.Max[i]
			}
		}
		for _, unit := range []quantity.Unit{quantity.ByPercent, quantity.ByWeight} {
			whole, rest := 100.0, left
			if unit == quantity.ByWeight {
				whole = weights
			}
			for _, q := range parent.Children {
				if a := q.Vector[i]; a.Unit == unit && whole > 0 {
					n := float64(rest) * a.Value / whole
					if unit == quantity.ByWeight { // Hadoop: DefaultQueueResourceRoundingStrategy
						n = math.Round(n)
					}
					e.shares[q.Index].Min[i] = min(int64(n), left)
					left -= e.shares[q.Index].Min[i]
				}
			}
		}
	}
	for _, q := range parent.Children {
		s := &e.shares[q.Index]
		s.Min = s.Min.Min(s.Max)
		e.derive(q, s, &above)
	}
}
