package leader

import (
	"fmt"
	"strings"

	"heddle/rm/leader/refusal"
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
func (vs *views) Explain(ids ...records.ApplicationID) (map[records.ApplicationID][]Hold, error) {
	out := make(map[records.ApplicationID][]Hold, len(ids))
	err := vs.InSlices(len(ids), func(from, to int, again func() bool) (done int) {
		var live []int // of ids
		var handles []scheduler.AppHandle
		for i := from; i < to; i++ {
			if soft := vs.apps[ids[i]]; soft != nil {
				live, handles = append(live, i), append(handles, soft.handle)
			}
		}
		explained := 0
		vs.sched.ExplainAll(handles, func(reasons []explain.Reason) bool {
			id := ids[live[explained]]
			for _, r := range reasons {
				out[id] = append(out[id], vs.reason(r))
			}
			explained++
			return again()
		})
		if explained == len(live) {
			return to
		}
		return live[explained]
	})
	return out, err
}

func (vs *views) reason(r explain.Reason) Hold {
	out := Hold{Reason: r}
	if other := vs.byHandle[r.Behind]; other != nil {
		out.Text = strings.Replace(r.Text, explain.Another, "application "+other.id.String(), 1)
	}
	if n := vs.nodeOf[r.Node]; n != nil {
		out.At = n.id
	}
	return out
}

// WhatIf says whether a container of a size would start now if a user asked for it in a queue, and what would hold it: that
// of a new application's ApplicationMaster, or one of an application that runs already.
func (vs *views) WhatIf(queue, user string, size records.Resource, master bool) (r Hold, err error) {
	err = vs.Do(func() error {
		q, ok := vs.Settings.Queues.Find(queue)
		if !ok || !q.Leaf() {
			return refusal.New(refusal.Refused, "queue %q is not one that applications can be in", queue)
		}
		capability, err := vs.requests.normalize(size, vs.Settings.MaxAllocation)
		if err != nil {
			return err
		}
		found, err := vs.sched.WhatIf(q.Path, user, capability, master)
		if err != nil {
			return fmt.Errorf("queue %s: %w", q.Path, err)
		}
		r = vs.reason(found)
		return nil
	})
	return r, err
}

// Queues returns the queues, parents first, with what they hold and their limits.
func (vs *views) Queues() (queues []scheduler.QueueView, err error) {
	err = vs.Do(func() error {
		queues = vs.sched.Queues()
		return nil
	})
	return queues, err
}
