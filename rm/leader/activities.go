package leader

import (
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Activity is what came of a look at a node: what each queue, application and request comes to there.
type Activity struct {
	scheduler.Activity
	Name     string // of a queue, its path; of an application, its id
	Children []Activity
}

// Activities tells what giving out containers on a node comes to now; without a node, on the one that comes first. ok is
// false if there is no such node.
func (l *Leader) Activities(node records.NodeID) (at records.NodeID, a Activity, ok bool, err error) {
	err = l.do(func(t *turn) error {
		if node == (records.NodeID{}) {
			for id := range t.nodes {
				if node == (records.NodeID{}) || id.Compare(node) < 0 {
					node = id
				}
			}
		}
		n := t.nodes[node]
		if n == nil {
			return nil
		}
		at, ok, a = node, true, t.activity(t.sched.Activities(n.handle))
		return nil
	})
	return at, a, ok, err
}

func (t *turn) activity(in scheduler.Activity) Activity {
	out := Activity{Activity: in, Name: in.Queue}
	if a := t.byHandle[in.App]; a != nil {
		out.Name = a.id.String()
	}
	if a := t.byHandle[in.From]; a != nil {
		out.Diagnostic += " from " + a.id.String()
	}
	for _, c := range in.Children {
		out.Children = append(out.Children, t.activity(c))
	}
	return out
}
