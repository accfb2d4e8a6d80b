package preempt

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/yarn/records"
)

// IntraSettings are the keys yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.*.
type IntraSettings struct {
	Enabled       bool    // enabled
	PriorityFirst bool    // preemption-order-policy is priority_first: the limits of users don't matter
	MostOfQueue   float64 // max-allowable-limit: part of the queue's guarantee that a round takes at most
	Threshold     float64 // minimum-threshold: part of its guarantee that a queue must use
	Conservative  bool    // conservative-drf
}

// within chooses containers of each leaf for applications of the same leaf: for those of higher priority, and, unless
// priorities go first, for users below their limit from those above it (Hadoop: FifoIntraQueuePreemptionPlugin).
func (r *selection) within() {
	parents := make([]bool, len(r.Queues))
	for i := range r.Queues {
		if p := r.Queues[i].Parent; p >= 0 {
			parents[p] = true
		}
	}
	for i := range r.Queues {
		q := &r.Queues[i]
		if parents[i] || q.IntraOff || len(r.appsOf[i]) < 2 || !r.positive(q.Guaranteed) ||
			r.ratio(q.Used, q.Guaranteed) <= r.settings.Intra.Threshold {
			continue
		}
		r.inQueue(i)
	}
}

// standing is what an application has, and should have, of its leaf.
type standing struct {
	*App
	ideal records.Resource
}

func (s *standing) surplus() records.Resource { return atLeast0(s.Used.Sub(s.ideal)) }
func (s *standing) lack() records.Resource    { return atLeast0(s.ideal.Sub(s.Used)) }

func (r *selection) inQueue(i int) {
	q := &r.Queues[i]
	apps := r.ideals(q, r.appsOf[i])
	most := scaled(q.Guaranteed, r.settings.Intra.MostOfQueue)
	ofUser := map[string]records.Resource{}
	for _, a := range apps {
		ofUser[a.User] = ofUser[a.User].Add(a.Used)
	}
	for k := len(apps) - 1; k >= 0; k-- {
		loser := &apps[k]
		due := r.min(loser.surplus(), r.wantedFrom(loser, apps, ofUser))
		if due = due.Min(most); !r.positive(due) {
			continue
		}
		take := taking{
			selection: r, due: due, conservative: r.settings.Intra.Conservative,
			reason: fmt.Sprintf("%v of queue %s and user %s uses %v and should have %v of it, as others of the queue wait",
				loser.ID, q.Path, loser.User, loser.Used, loser.ideal),
		}
		for _, c := range leastImportantFirst(loser.App) {
			left := ofUser[loser.User].Sub(c.Resource)
			if c.AM || !r.settings.Intra.PriorityFirst && r.less(left, loser.UserLimit) && !r.outranked(loser, apps) {
				continue
			}
			if take.try(loser.App, c) {
				ofUser[loser.User], most = left, most.Sub(c.Resource)
				r.repay(apps, c.Resource)
			}
		}
	}
}

// ideals divides what a leaf uses among its applications, by priority and age, up to what each wants and its user may have.
func (r *selection) ideals(q *Queue, list []*App) []standing {
	apps := make([]standing, len(list))
	for i, a := range list {
		apps[i].App = a
	}
	slices.SortFunc(apps, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Seq, b.Seq))
	})
	left, ofUser := q.Used, map[string]records.Resource{}
	for i := range apps {
		a := &apps[i]
		ideal := a.Used.Add(a.pending()).Min(atLeast0(left))
		if !r.settings.Intra.PriorityFirst {
			ideal = ideal.Min(atLeast0(a.UserLimit.Sub(ofUser[a.User])))
		}
		a.ideal = ideal
		left, ofUser[a.User] = left.Sub(ideal), ofUser[a.User].Add(ideal)
	}
	return apps
}

// wantedFrom is what others lack for whose sake an application may lose containers.
func (r *selection) wantedFrom(loser *standing, apps []standing, ofUser map[string]records.Resource) (sum records.Resource) {
	for i := range apps {
		a := &apps[i]
		poorer := !r.settings.Intra.PriorityFirst && a.User != loser.User &&
			r.more(ofUser[loser.User], loser.UserLimit) && r.less(ofUser[a.User], a.UserLimit)
		if a.Priority > loser.Priority || poorer {
			sum = sum.Add(a.lack())
		}
	}
	return sum
}

// outranked reports whether an application of higher priority of the same user lacks something.
func (r *selection) outranked(loser *standing, apps []standing) bool {
	for i := range apps {
		if a := &apps[i]; a.User == loser.User && a.Priority > loser.Priority && r.positive(a.lack()) {
			return true
		}
	}
	return false
}

// repay takes what was chosen off what applications lack, the most important first.
func (r *selection) repay(apps []standing, got records.Resource) {
	for i := range apps {
		part := apps[i].lack().Min(got)
		apps[i].ideal, got = apps[i].ideal.Sub(part), got.Sub(part)
	}
}
