package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/queue/label"
)

// Label is one that some nodes have.
type Label struct {
	Name      string
	Exclusive bool // only jobs that name it run there; else others, too, where nodes are idle
	Nodes     int
}

// labels returns the label of each node: the last ones have one.
func (n *Nodes) labels() ([]string, error) {
	of := make([]string, n.Count)
	at := n.Count
	for i, l := range n.Labels {
		if err := label.Check(l.Name); err != nil {
			return nil, fmt.Errorf("node label %q: %w", l.Name, err)
		}
		for _, other := range n.Labels[:i] {
			if other.Name == l.Name {
				return nil, fmt.Errorf("node label %s is given twice", l.Name)
			}
		}
		if l.Nodes < 1 || l.Nodes > at {
			return nil, fmt.Errorf("node label %s has %d nodes: it needs at least one, and of %d nodes %d have no label yet", l.Name, l.Nodes, n.Count, at)
		}
		for range l.Nodes {
			at--
			of[at] = l.Name
		}
	}
	return of, nil
}

// SetLabels gives jobs that name no label the default one of their queue, and refuses those whose queue may not use theirs, or whose label no node
// has, as a ResourceManager refuses them; placement constraints with another scheduler, too. The tree is nil without queues.
func SetLabels(jobs []Job, tree *queue.Tree, labels []Label) error {
	known := map[string]bool{"": true}
	for _, l := range labels {
		known[l.Name] = true
	}
	capacity := tree != nil && tree.Kind == queue.Capacity
	if len(labels) > 0 && !capacity {
		return fmt.Errorf("node labels divide the nodes of the CapacityScheduler only: leave them out, or name its configuration by --conf")
	}
	for i := range jobs {
		j := &jobs[i]
		if capacity {
			var err error
			if j.Label, err = LabelIn(tree, j.Queue, j.Label); err != nil {
				return fmt.Errorf("job %s: %w", j.Name, err)
			}
		}
		if !capacity && slices.ContainsFunc(j.Stages, func(s Stage) bool { return s.Scheduling != nil }) {
			return fmt.Errorf("job %s: placement constraints are the CapacityScheduler's only: leave them out, or name its configuration by --conf", j.Name)
		}
		if !known[j.Label] {
			return fmt.Errorf("job %s: no node has the label %s", j.Name, j.Label)
		}
	}
	return nil
}

// LabelIn returns the label of what a job asks for in a queue of the CapacityScheduler: its own or, if that is empty, the queue's default one. The
// error refuses one that the queue may not use.
func LabelIn(tree *queue.Tree, path, own string) (string, error) {
	q, found := tree.Find(path)
	if !found {
		q = tree.Above(path)
	}
	to := cmp.Or(own, q.DefaultLabel)
	if to != "" && !label.Has(q.Labels, to) {
		return to, fmt.Errorf("its queue %s may not use nodes with the label %s (accessible-node-labels: %s)", path, to, strings.Join(q.Labels, ","))
	}
	return to, nil
}
