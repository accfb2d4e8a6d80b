package report

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
	Node     records.NodeID // that it is about, if it is about a node alone
	Children []Activity
}

// Activities tells what giving out containers on a node comes to now; without a node, on the one that comes first. ok is
// false if there is no such node.
func (r *Reports) Activities(node records.NodeID) (at records.NodeID, a Activity, ok bool, err error) {
	err = r.loop.Do(func() error {
		if node == (records.NodeID{}) {
			for id := range r.cfg.Cluster.Nodes() {
				if node == (records.NodeID{}) || id.Compare(node) < 0 {
					node = id
				}
			}
		}
		var h scheduler.NodeHandle
		if h, ok = r.cfg.Cluster.Node(node); ok {
			at, a = node, r.activity(r.cfg.Scheduler.Activities(h), node)
		}
		return nil
	})
	return at, a, ok, err
}

// AppActivities says for each request of a live application that waits what holds it, and what it comes to on each of the first so many
// nodes, by their ids; 0 is all.
func (r *Reports) AppActivities(app records.ApplicationID, most int) (holds []Hold, on [][]Activity, err error) {
	err = r.loop.Do(func() error {
		h, _, ok := r.cfg.Cluster.App(app)
		if !ok {
			return nil
		}
		nodes, handles := r.firstNodes(most)
		for _, reason := range r.cfg.Scheduler.Explain(h) {
			holds = append(holds, r.hold(reason))
		}
		for _, list := range r.cfg.Scheduler.OnNodes(h, handles) {
			one := make([]Activity, len(list))
			for i, a := range list {
				one[i] = r.activity(a, nodes[i])
			}
			on = append(on, one)
		}
		holds = holds[:min(len(holds), len(on))]
		return nil
	})
	return holds, on, err
}

// firstNodes returns the first so many usable nodes, by their ids; 0 is all.
func (r *Reports) firstNodes(most int) (ids []records.NodeID, handles []scheduler.NodeHandle) {
	for id := range r.cfg.Cluster.Nodes() {
		if n := r.work.Nodes[id]; n != nil && n.Usable() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, records.NodeID.Compare)
	if most > 0 && most < len(ids) {
		ids = ids[:most]
	}
	handles = make([]scheduler.NodeHandle, len(ids))
	for i, id := range ids {
		handles[i], _ = r.cfg.Cluster.Node(id)
	}
	return ids, handles
}

// activity names the applications that an activity has by their handles.
func (r *Reports) activity(in explain.Activity, node records.NodeID) Activity {
	out := Activity{Activity: in, Name: in.Queue}
	if in.OnNode {
		out.Node = node
	}
	if id, ok := r.cfg.Cluster.AppOf(in.App); ok {
		out.Name = id.String()
	}
	if id, ok := r.cfg.Cluster.AppOf(in.From); ok {
		out.Diagnostic += " from " + id.String()
	}
	for _, c := range in.Children {
		out.Children = append(out.Children, r.activity(c, node))
	}
	return out
}
