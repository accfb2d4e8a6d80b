package scheduler

import (
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// Explain says for each ask of an application what keeps it from being served; see the Explainer of a partition.
func (v View) Explain(h AppHandle) (all []explain.Reason) {
	v.ExplainAll([]AppHandle{h}, func(reasons []explain.Reason) bool {
		all = reasons
		return true
	})
	return all
}

// ExplainAll is Explain for many applications, in their order, until tell returns false.
func (v View) ExplainAll(apps []AppHandle, tell func([]explain.Reason) bool) {
	if len(v.parts) == 1 {
		v.parts[0].ExplainAll(apps, tell)
		return
	}
	all := make([][]explain.Reason, len(apps))
	for i := range v.parts {
		x := &v.parts[i]
		var there []AppHandle
		var at []int
		for j, h := range apps {
			if x.core.Has(h) {
				there, at = append(there, h), append(at, j)
			}
		}
		x.ExplainAll(there, func(reasons []explain.Reason) bool {
			for k := range reasons {
				reasons[k].Ask.Label = x.label
			}
			all[at[0]], at = append(all[at[0]], reasons...), at[1:]
			return true
		})
	}
	for _, reasons := range all {
		if !tell(reasons) {
			return
		}
	}
}

// OnNodes tells, for each request of an application that waits, what it comes to on each of some nodes; see the Explainer of a partition.
func (v View) OnNodes(h AppHandle, nodes []NodeHandle) (all [][]explain.Activity) {
	for i := range v.parts {
		x := &v.parts[i]
		if !x.core.Has(h) {
			continue
		}
		var there []NodeHandle
		var at []int
		for j, n := range nodes {
			if v.noted(v.nodes, int32(n)) == x {
				there, at = append(there, n), append(at, j)
			}
		}
		for _, list := range x.OnNodes(h, there) {
			row := make([]explain.Activity, len(nodes))
			for j := range row {
				row[j] = explain.Elsewhere
			}
			for j, a := range list {
				row[at[j]] = a
			}
			all = append(all, row)
		}
	}
	return all
}

// StandingOf returns where the policy of its leaf sees an application, for people; empty if it says nothing.
func (v View) StandingOf(h AppHandle) string { return v.parts[0].StandingOf(h) }

// WhatIf says what would hold one container without a label that a user asked for in a queue now.
func (v View) WhatIf(path, name string, capability records.Resource, master bool) (explain.Reason, error) {
	return v.parts[0].WhatIf(path, name, capability, master)
}
