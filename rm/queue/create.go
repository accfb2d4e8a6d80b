package queue

import (
	"math"
	"slices"
	"strings"
)

// Make creates an undeclared queue below another one, for applications that name it. It has the file's defaults for all
// queues (Hadoop: QueueManager.createNewQueues). It isn't added to the children of the queue above.
func (t *Tree) Make(above *Queue, name string, leaf bool) *Queue {
	q := &Queue{
		MaxAMShare: 0.5, UserLimit: 100, UserLimitFactor: -1, MaxParallelApps: math.MaxInt32, MaxApplications: math.MaxInt32,
		MaxApplicationsPerUser: math.MaxInt32, MaxLifetime: -1, DefaultLifetime: -1, Submit: none, Administer: none,
		Fair: FairShares{Weight: 1, Policy: above.Fair.Policy}, OrderingPolicy: "fifo",
	}
	if t.undeclared != nil {
		*q = *t.undeclared
	}
	q.Name, q.Path, q.Parent, q.Fair.Parent = name, above.Path+"."+name, above, !leaf
	q.Maximum, q.AbsoluteMaximum = 1, above.AbsoluteMaximum
	inheritFair(q)
	inheritNoPreemption(q)
	inheritMeans(q, &t.Settings.Suspension)
	inheritStagePolicy(q, t.Settings.StagePolicy)
	if above.Fair.MaxChild.Set() {
		q.Fair.Max = above.Fair.MaxChild
	}
	if p := q.Fair.Policy; p == "DRF" && above.Fair.Policy == "fair" || p == "FIFO" && !leaf {
		q.Fair.Policy = above.Fair.Policy
	}
	if t.Kind == Fair {
		q.OrderingPolicy = q.Fair.Policy
	}
	return q
}

// With returns a Fair tree in which the queues at paths, and those above them, are declared. If one of them is a leaf and another one below it,
// the latter is left out. Other trees are returned unchanged, and so is one that has all the queues.
func (t *Tree) With(paths []string) *Tree {
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return t.Kind != Fair || t.byPath[path] != nil || !strings.HasPrefix(path, "root.")
	})
	if len(paths) == 0 {
		return t
	}
	slices.Sort(paths)
	root := &t.copies()[0]
	for _, path := range slices.Compact(paths) {
		t.declare(root, strings.Split(path, ".")[1:])
	}
	out := newTree(t.Kind, root)
	out.types, out.Settings, out.Dominant, out.Problems, out.undeclared = t.types, t.Settings, t.Dominant, t.Problems, t.undeclared
	return out
}

// declare adds the missing queues on the way to a leaf.
func (t *Tree) declare(q *Queue, names []string) {
	for i, name := range names {
		at := slices.IndexFunc(q.Children, func(c *Queue) bool { return c.Name == name })
		if at < 0 {
			if q.Leaf() && q.Parent != nil {
				return
			}
			at = len(q.Children)
			q.Children = append(q.Children, t.Make(q, name, i == len(names)-1))
		}
		q = q.Children[at]
	}
}

// copies returns copies of all queues by their Index, which hang together as the queues do. They are in one array, as are their lists of children: there may be ten
// thousand, of which a copy is made whenever one is created on demand.
func (t *Tree) copies() []Queue {
	all, below := make([]Queue, len(t.queues)), make([]*Queue, 0, len(t.queues))
	for i, q := range t.queues {
		c := &all[i]
		*c = *q
		if q.Parent != nil {
			c.Parent = &all[q.Parent.Index]
		}
		first := len(below)
		for _, x := range q.Children {
			below = append(below, &all[x.Index])
		}
		c.Children = below[first:len(below):len(below)]
	}
	return all
}
