package view

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler/policy"
	"heddle/yarn/records"
)

// FairShares returns what the queues of a Fair tree are due, by their indices, if a cluster has total. A queue counts as active while
// live applications are in it.
func FairShares(t *queue.Tree, uses map[string]*QueueUse, total records.Resource) []*policy.Queue {
	out := make([]*policy.Queue, len(t.Queues()))
	for i, q := range t.Queues() { // parents come first
		p := &policy.Queue{
			Path: q.Path, Kind: policy.KindOf(q.Fair.Policy), Weight: q.Fair.Weight,
			Min: q.Fair.Min.Of(total, records.Resource{}), Max: q.Fair.Max.Of(total, total), Active: len(uses[q.Path].Apps) > 0,
		}
		if q.Parent != nil {
			above := out[q.Parent.Index]
			above.Children = append(above.Children, p)
		}
		out[i] = p
	}
	out[t.Root.Index].Compute(total)
	return out
}
