// Package queue is the tree of queues as it is configured: names, states, who may use them, and the shares that are promised.
// It decides nothing; scheduling policies, access checks and views read it.
package queue

import (
	"math"
	"strings"

	"heddle/conf"
	"heddle/yarn/acl"
	"heddle/yarn/records"
)

// Right is what a queue's access control lists grant.
type Right uint8

// Rights on a queue; those on a parent hold for its children.
const (
	Submit Right = iota
	Administer
)

// Queue is one queue. It is not to be changed.
type Queue struct {
	Name     string // last part of the path
	Path     string // root.a.b
	Index    int    // place in the tree's order, parents first; the root's is 0
	Parent   *Queue // nil for the root
	Children []*Queue

	Stopped            bool // own state, or that of an ancestor
	ownState           bool // a state is configured for the queue itself
	Submit, Administer acl.List
	MaxPriority        acl.List
	PriorityACLs       []PriorityACL // of a leaf, the lowest maximum first; none: everybody may have any priority

	// Unit is how the capacity is configured: ByPercent, ByWeight, ByAmount, or Mixed where resources differ.
	Unit Unit
	// Vector and MaximumVector are capacity and maximum-capacity by resource, as configured.
	Vector, MaximumVector Vector
	// Weight is the configured weight, NormalizedWeight its share of those of the siblings; -1 and 0 without one.
	Weight, NormalizedWeight float32
	// Capacity is the share of the parent that is promised, 0 to 1; Maximum what the queue may take of the parent at most.
	// Of absolute and mixed capacities only Effective knows, as they depend on the size of the cluster.
	Capacity, Maximum float32
	// Percent is the capacity as it is configured, which Capacity is only close to.
	Percent float64
	// AbsoluteCapacity and AbsoluteMaximum are shares of the cluster.
	AbsoluteCapacity, AbsoluteMaximum float32
	MaxAMShare                        float32 // of a leaf that ApplicationMasters may take, 0 to 1; -1: no limit (Fair)
	UserLimit                         float32 // least share of the queue that an active user is promised, percent
	UserLimitFactor                   float32 // times the queue's capacity that one user may take; -1: no limit
	// UserWeights are those that differ from 1, the ancestors' included. Nil if there are none.
	UserWeights map[string]float32
	// MaxApplications, live at once, and those of one user. With absolute capacities see Effective.
	MaxApplications        int32
	MaxApplicationsPerUser int32
	MaxParallelApps        int32 // applications that may run at once; others wait
	// MaxAllocation is the largest container; a resource that is 0 has no limit but the cluster's.
	MaxAllocation             records.Resource
	Priority, DefaultPriority int32
	// MaxLifetime bounds how long applications live, DefaultLifetime is for those that don't say; see Lifetime.
	MaxLifetime, DefaultLifetime int64 // seconds; what isn't above 0 is none
	// OrderingPolicy is fifo, fair, fifo-with-partitions or fifo-for-pending-apps in a leaf, utilization or
	// priority-utilization in a parent; in a Fair tree fair, DRF or FIFO.
	OrderingPolicy string
	// SizeBasedWeight has the leaf's fair ordering weigh applications by what they ask for.
	SizeBasedWeight bool
	// NoPreemption keeps containers of the queue from being preempted for other queues, NoIntraPreemption for other
	// applications of the same queue. Both hold as well where preemption is off as a whole.
	NoPreemption, NoIntraPreemption bool
	intraOff                        bool // what queues below inherit
	Reservable                      bool
	Labels                          []string // node labels that it may use; "*" is all

	Fair FairShares // of the queues of a Fair tree

	managed     bool  // its children would be made as applications need them
	defaultLife bool  // a default lifetime is set for it or for a queue above it
	maxApps     int32 // maximum-applications of the queue, -1 if it isn't set
	sharedApps  bool  // its MaxApplications is its share of the cluster's
	clusterApps int32
	// clusterLimit is how many applications the cluster holds, 0: any number.
	clusterLimit int32
}

// ConfiguredMin and ConfiguredMax are the amounts of resources that the queue's capacity and its maximum are set to, 0 where they are
// set otherwise.
func (q *Queue) ConfiguredMin() records.Resource { return q.Vector.amounts() }

// ConfiguredMax is told with ConfiguredMin. A queue of amounts without a maximum has that of its parent.
func (q *Queue) ConfiguredMax() records.Resource {
	most := q.MaximumVector.amounts()
	if most.IsZero() && q.Unit == ByAmount && q.Parent != nil {
		return q.Parent.ConfiguredMax()
	}
	return most
}

// ShownWeight is the configured weight, or -1.
func (q *Queue) ShownWeight() float32 {
	if q.Unit == ByWeight {
		return q.Weight
	}
	return -1
}

// UserWeight is how much more than another user of the queue somebody may take.
func (q *Queue) UserWeight(user string) float32 {
	if w, ok := q.UserWeights[user]; ok {
		return w
	}
	return 1
}

// Largest is the largest container of the queue in a cluster that has containers up to some size.
func (q *Queue) Largest(cluster records.Resource) records.Resource {
	for i, n := range q.MaxAllocation {
		if n > 0 {
			cluster[i] = min(cluster[i], n)
		}
	}
	return cluster
}

// Leaf reports whether applications can be in the queue.
func (q *Queue) Leaf() bool {
	return len(q.Children) == 0 && !q.Reservable && !q.managed && !q.Fair.Parent
}

// Allows reports whether a user has a right on the queue, or on one above it.
func (q *Queue) Allows(r Right, user string, groupsOf func(string) ([]string, error)) bool {
	for ; q != nil; q = q.Parent {
		list := &q.Submit
		if r == Administer {
			list = &q.Administer
		}
		if list.Allows(user, groupsOf) {
			return true
		}
	}
	return false
}

// All calls f with the queue and all below it, parents first.
func (q *Queue) All(f func(*Queue)) {
	f(q)
	for _, c := range q.Children {
		c.All(f)
	}
}

// Tree is all queues.
type Tree struct {
	Root *Queue
	// Kind names the scheduler whose queues these are.
	Kind Kind
	// Dominant says that queues are measured by the resource of which they use the largest share, not by memory alone
	// (YARN: DominantResourceCalculator).
	Dominant bool
	// Settings hold for the tree as a whole.
	Settings Settings
	// Problems are warnings and notes about the configuration, for the log. What keeps it from being used is an error.
	Problems []conf.Problem

	types      records.ResourceTypes
	vector     bool   // capacities may be mixed (legacy-queue-mode.enabled is false)
	undeclared *Queue // what queues are that the file doesn't declare, in a Fair tree
	queues     []*Queue
	byPath     map[string]*Queue
	byName     map[string][]*Queue
	// stoppedGone are paths for which a state is configured, STOPPED, though there are no such queues (any more).
	stoppedGone map[string]bool
}

// Queues lists all queues by their Index.
func (t *Tree) Queues() []*Queue { return t.queues }

// CountsVCores reports whether containers have as many vcores as were asked for. Where YARN measures by memory alone (its
// DefaultResourceCalculator, the default of CapacityScheduler and what FifoScheduler has) every container has one.
func (t *Tree) CountsVCores() bool { return t.Kind == Fair || t.Kind == Capacity && t.Dominant }

// Kind is a scheduler of YARN.
type Kind uint8

// Kinds of trees.
const (
	Capacity Kind = iota
	Fair
	FIFO // one queue, and whatever other name an application gives is as good
)

func newTree(kind Kind, root *Queue) *Tree {
	t := &Tree{Root: root, Kind: kind, Settings: defaultSettings(), byPath: map[string]*Queue{}, byName: map[string][]*Queue{}}
	root.All(func(q *Queue) {
		q.Index = len(t.queues)
		t.queues = append(t.queues, q)
		t.byPath[q.Path] = q
		t.byName[q.Name] = append(t.byName[q.Name], q)
	})
	return t
}

// Find finds a queue by its path, or by the last part of it if only one queue has that. In a Fair tree names are paths, which need not
// begin with root (Hadoop: QueueManager.ensureRootPrefix). "" is the default queue.
func (t *Tree) Find(name string) (*Queue, bool) {
	if name == "" {
		name = "default"
	}
	if t.Kind == Fair {
		name = rooted(name)
	}
	if q := t.byPath[name]; q != nil {
		return q, true
	}
	if same := t.byName[name]; len(same) == 1 && t.Kind != Fair {
		return same[0], true
	}
	return nil, false
}

// Path is the path that a name means: in a Fair tree also that of a queue which would be made, or was. In a FIFO tree it is the name.
func (t *Tree) Path(name string) string {
	if t.Kind == FIFO {
		return name
	}
	if q, ok := t.Find(name); ok {
		return q.Path
	}
	if t.Kind == Fair {
		return rooted(name)
	}
	return name
}

// Above is the queue closest to the root's side of a path: that of the path itself if it is there.
func (t *Tree) Above(path string) *Queue {
	for path != "" {
		if q := t.byPath[path]; q != nil {
			return q
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return t.Root
}

// Allows reports whether a user has a right on the queue of that name. Nobody has any on one that isn't there, except in a
// FIFO tree, whose queue is everybody's, and a Fair one, where the lists of the queue that one would be made below hold for it.
func (t *Tree) Allows(r Right, name, user string, groupsOf func(string) ([]string, error)) bool {
	if t.Kind == FIFO {
		return true
	}
	q, ok := t.Find(name)
	if t.Kind == Fair {
		q, ok = t.Above(t.Path(name)), true
	}
	return ok && q.Allows(r, user, groupsOf)
}

// Default is a tree with one leaf, root.default, that everybody may use.
func Default(kind Kind) *Tree {
	root := openQueue("root", nil)
	root.Children = []*Queue{openQueue("default", root)}
	return newTree(kind, root)
}

func openQueue(name string, parent *Queue) *Queue {
	all := acl.Parse("*")
	q := &Queue{
		Name: name, Path: name, Parent: parent, Submit: all, Administer: all, MaxPriority: all,
		Capacity: 1, Percent: 100, Maximum: 1, AbsoluteCapacity: 1, AbsoluteMaximum: 1, MaxAMShare: 0.1, UserLimit: 100, UserLimitFactor: 1,
		MaxApplications: maxApplications, MaxApplicationsPerUser: maxApplications, MaxParallelApps: math.MaxInt32,
		MaxLifetime: -1, DefaultLifetime: -1, OrderingPolicy: "fifo", Labels: []string{"*"},
		Weight: -1, Vector: uniform(100, ByPercent), MaximumVector: uniform(100, ByPercent), maxApps: -1, sharedApps: true,
		clusterApps: maxApplications, NoPreemption: true, NoIntraPreemption: true,
	}
	if parent != nil {
		q.Path = parent.Path + "." + name
	}
	return q
}

// maxApplications is what a cluster holds at once by default.
const maxApplications = 10000
