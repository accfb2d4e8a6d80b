package leader

import (
	"slices"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/yarn/records"
)

// Activity is what came of a look at a node: what each queue, application and request comes to there.
type Activity struct {
	explain.Activity
	Name     string         // of a queue, its path; of an application, its id
	Node     records.NodeID // that it is about, of what is about a node alone
	Children []Activity
}

// Activities tells what giving out containers on a node comes to now; without a node, on the one that comes first. ok is
// false if there is no such node.
func (vs *views) Activities(node records.NodeID) (at records.NodeID, a Activity, ok bool, err error) {
	err = vs.Do(func() error {
		if node == (records.NodeID{}) {
			for id := range vs.nodes {
				if node == (records.NodeID{}) || id.Compare(node) < 0 {
					node = id
				}
			}
		}
		n := vs.nodes[node]
		if n == nil {
			return nil
		}
		at, ok, a = node, true, vs.activity(vs.sched.Activities(n.handle), node)
		return nil
	})
	return at, a, ok, err
}

// AppActivities says for each request of a live application that waits what holds it, and what it comes to on each of the first so many
// nodes, by their ids; 0 is all.
func (vs *views) AppActivities(app records.ApplicationID, most int) (holds []Hold, on [][]Activity, err error) {
	err = vs.Do(func() error {
		soft := vs.apps[app]
		if soft == nil {
			return nil
		}
		var nodes []records.NodeID
		for id := range vs.nodes {
			if n := vs.work.Nodes[id]; n != nil && n.Usable() {
				nodes = append(nodes, id)
			}
		}
		slices.SortFunc(nodes, records.NodeID.Compare)
		if most > 0 && most < len(nodes) {
			nodes = nodes[:most]
		}
		handles := make([]scheduler.NodeHandle, len(nodes))
		for i, id := range nodes {
			handles[i] = vs.nodes[id].handle
		}
		for _, r := range vs.sched.Explain(soft.handle) {
			holds = append(holds, vs.reason(r))
		}
		for _, list := range vs.sched.OnNodes(soft.handle, handles) {
			one := make([]Activity, len(list))
			for i, a := range list {
				one[i] = vs.activity(a, nodes[i])
			}
			on = append(on, one)
		}
		holds = holds[:min(len(holds), len(on))]
		return nil
	})
	return holds, on, err
}

func (vs *views) activity(in explain.Activity, node records.NodeID) Activity {
	out := Activity{Activity: in, Name: in.Queue}
	if in.OnNode {
		out.Node = node
	}
	if a := vs.byHandle[in.App]; a != nil {
		out.Name = a.id.String()
	}
	if a := vs.byHandle[in.From]; a != nil {
		out.Diagnostic += " from " + a.id.String()
	}
	for _, c := range in.Children {
		out.Children = append(out.Children, vs.activity(c, node))
	}
	return out
}
