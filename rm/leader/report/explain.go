package report

import (
	"fmt"
	"strings"

	"heddle/rm/leader/refusal"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// Hold is why containers that were asked for are not there yet.
type Hold struct {
	explain.Reason
	At records.NodeID // the nearest node, or the reserved one; zero if there is none
}

// Explain says for each request of live applications that waits what holds it.
func (r *Reports) Explain(ids ...records.ApplicationID) (map[records.ApplicationID][]Hold, error) {
	out := make(map[records.ApplicationID][]Hold, len(ids))
	err := r.loop.InSlices(len(ids), func(from, to int, more func() bool) (next int) {
		var live []int // of ids
		var handles []scheduler.AppHandle
		for i := from; i < to; i++ {
			if h, _, ok := r.cfg.Cluster.App(ids[i]); ok {
				live, handles = append(live, i), append(handles, h)
			}
		}
		explained := 0
		r.cfg.Scheduler.ExplainAll(handles, func(reasons []explain.Reason) bool {
			id := ids[live[explained]]
			for _, reason := range reasons {
				out[id] = append(out[id], r.hold(reason))
			}
			for _, reason := range r.cfg.Opportunistic.Explain(id) {
				out[id] = append(out[id], r.hold(reason))
			}
			explained++
			return more()
		})
		if explained == len(live) {
			return to
		}
		return live[explained]
	})
	return out, err
}

// hold names the application and the node that a reason has by their handles.
func (r *Reports) hold(reason explain.Reason) Hold {
	out := Hold{Reason: reason}
	if other, ok := r.cfg.Cluster.AppOf(reason.Behind); ok {
		out.Text = strings.Replace(reason.Text, explain.Another, "application "+other.String(), 1)
	}
	if label := reason.Ask.Label; label != "" && out.Text != "" {
		out.Text = "on nodes with label " + label + ": " + out.Text
	}
	if id, ok := r.cfg.Cluster.NodeOf(reason.Node); ok {
		out.At = id
	}
	return out
}

// WhatIf says whether a container of a size would start now if a user asked for it in a queue, and what would hold it: that
// of a new application's ApplicationMaster, or one of an application that runs already.
func (r *Reports) WhatIf(name, user string, size records.Resource, master bool) (hold Hold, err error) {
	err = r.loop.Do(func() error {
		q, ok := r.cfg.Queues().Find(name)
		if !ok || !q.Leaf() {
			return refusal.New(refusal.Refused, "queue %q is not one that applications can be in", name)
		}
		capability, err := r.cfg.Sizes.Normalize(size, r.cfg.MaxAllocation)
		if err != nil {
			return err
		}
		found, err := r.cfg.Scheduler.WhatIf(q.Path, user, capability, master)
		if err != nil {
			return fmt.Errorf("queue %s: %w", q.Path, err)
		}
		hold = r.hold(found)
		if hold.Limit == explain.ClusterFull && r.suspendsFor(q.Path, capability) {
			hold.Free = strings.TrimPrefix(hold.Free+"; "+bySuspension, "; ")
		}
		return nil
	})
	return hold, err
}

// bySuspension is how room comes for a queue that is below its share.
const bySuspension = "the queue is below its share, so preemption suspends containers of queues above theirs on the next request"

// suspendsFor reports whether preemption suspends containers of others so that a queue gets an amount.
func (r *Reports) suspendsFor(path string, size records.Resource) bool {
	if !r.cfg.Scheduler.Suspends() {
		return false
	}
	q, ok := r.cfg.Scheduler.Queue(path)
	due := q.Guaranteed
	if r.cfg.Queues().Kind == queue.Fair {
		due = q.Fair
	}
	return ok && q.Used.Add(size).FitsIn(due)
}
