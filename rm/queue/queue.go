// Package queue is the configured tree of queues: names, states, access control lists, capacities and limits. FromConf reads it from
// capacity-scheduler.xml or fair-scheduler.xml. Place decides which queue an application goes to.
//
// The package makes no scheduling decision. rm/scheduler and its policies, rm/access, rm/view and rm/rest read the tree, which is immutable
// once built. Small packages below it read single values: quantity, priority, suspension, label and leafpolicy. Package edit changes settings
// at run time.
//
// It is large because it reads two formats, those of YARN's CapacityScheduler and of its FairScheduler, into one tree, and tells of each mistake in
// them in YARN's words.
package queue

import (
	"math"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/queue/fairrule"
	"heddle/rm/queue/leafpolicy"
	"heddle/rm/queue/priority"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/suspension"
	"heddle/rm/queue/template"
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

// Queue is one queue. Don't change it.
type Queue struct {
	Name     string // last part of the path
	Path     string // root.a.b
	Index    int    // index in the tree's order, parents first; the root's is 0
	Parent   *Queue // nil for the root
	Children []*Queue

	Stopped            bool // own state, or that of an ancestor
	ownState           bool // a state is configured for this queue
	Submit, Administer acl.List
	MaxPriority        acl.List
	PriorityACLs       []priority.ACL // of a leaf, the lowest maximum first; none: all users may have any priority

	// Unit is how the capacity is configured; quantity.Mixed if resources differ.
	Unit quantity.Unit
	// Vector and MaximumVector are capacity and maximum-capacity by resource, as configured.
	Vector, MaximumVector quantity.Vector
	// Weight is the configured weight, NormalizedWeight its share of the siblings' sum; -1 and 0 without a weight.
	Weight, NormalizedWeight float32
	// Capacity is the guaranteed share of the parent, 0 to 1; Maximum is the largest share of the parent.
	// Only Effective knows absolute and mixed capacities, because they depend on the size of the cluster.
	Capacity, Maximum float32
	// Percent is the configured capacity; Capacity is a rounded form of it.
	Percent float64
	// AbsoluteCapacity and AbsoluteMaximum are shares of the cluster.
	AbsoluteCapacity, AbsoluteMaximum float32
	MaxAMShare                        float32 // share of a leaf that ApplicationMasters may take, 0 to 1; -1: no limit (Fair)
	UserLimit                         float32 // minimum share of the queue that an active user is guaranteed, in percent
	UserLimitFactor                   float32 // multiple of the queue's capacity that one user may take; -1: no limit
	// UserWeights are the weights that differ from 1, including inherited ones. Nil if there are none.
	UserWeights map[string]float32
	// MaxApplications limits live applications, MaxApplicationsPerUser those of one user. With absolute capacities see Effective.
	MaxApplications        int32
	MaxApplicationsPerUser int32
	MaxParallelApps        int32 // applications that may run at once; others wait
	// MaxAllocation is the largest container; for a resource that is 0 only the cluster's limit applies.
	MaxAllocation             records.Resource
	Priority, DefaultPriority int32
	// MaxLifetime limits the lifetime of applications, DefaultLifetime applies to those that ask for none; see Lifetime.
	MaxLifetime, DefaultLifetime int64 // in seconds; values up to 0 mean none
	// OrderingPolicy is a leaf policy in a leaf (fifo, fair, fifo-with-partitions, fifo-for-pending-apps, or one that was
	// added), utilization or priority-utilization in a parent; in a Fair tree fair, DRF or FIFO.
	OrderingPolicy string
	// OrderingSettings are the settings that a leaf's OrderingPolicy has of its own; nil in a Fair tree.
	OrderingSettings leafpolicy.Values
	// StagePolicy is a stage policy, or "none"; see LeafPolicy.
	StagePolicy string
	// SizeBasedWeight makes the leaf's fair ordering weigh applications by what they ask for.
	SizeBasedWeight bool
	// NoPreemption protects containers of the queue from preemption for other queues, NoIntraPreemption for other
	// applications of the same queue. Both are also set if preemption is off altogether.
	NoPreemption, NoIntraPreemption bool
	intraOff                        bool // what children inherit
	// Means is how preemption takes from containers of the queue, Unable the same for those on nodes that can't suspend.
	Means, Unable suspension.Means
	Reservable    bool              // has one leaf, for applications without a reservation
	Creation      template.Creation // of queues below it, on demand
	Made          template.Kind     // how it came to be
	Stays         bool              // of one that was created: it isn't deleted when it is idle
	Zero          []string          // of a legacy leaf: partitions in which it has no capacity now, although its template names one
	Labels        []string          // node labels that it may use; "*" is all
	DefaultLabel  string            // label of its asks that have none
	Shares        []string          // labels of which its settings give it a share, sorted
	SortNodes     time.Duration     // how often nodes are sorted for it; see nodesort.Every

	Fair FairShares // of the queues of a Fair tree

	managed     bool  // its children are created on demand, so that it is no leaf
	defaultLife bool  // a default lifetime is set for it or for an ancestor
	maxApps     int32 // maximum-applications of the queue, -1 if it isn't set
	sharedApps  bool  // its MaxApplications is its share of the cluster's
	clusterApps int32
	left        leavings
	labelShare  float32 // the largest share that it has of a partition of labelled nodes
	// clusterLimit is the cluster's maximum of applications, 0: no limit.
	clusterLimit int32
}

// ConfiguredMin and ConfiguredMax are the configured amounts of the queue's capacity and maximum, 0 if they are
// configured otherwise. As in YARN amounts beside other units aren't shown.
func (q *Queue) ConfiguredMin() (r records.Resource) {
	if q.Unit != quantity.Mixed {
		r = q.Vector.Amounts()
	}
	return r
}

// ConfiguredMax: see ConfiguredMin. A queue with amounts but no maximum has its parent's.
func (q *Queue) ConfiguredMax() records.Resource {
	most := q.MaximumVector.Amounts()
	if most.IsZero() && q.Unit == quantity.ByAmount && q.Parent != nil {
		return q.Parent.ConfiguredMax()
	}
	return most
}

// ShownWeight returns the configured weight, or -1.
func (q *Queue) ShownWeight() float32 {
	if q.Unit == quantity.ByWeight {
		return q.Weight
	}
	return -1
}

// UserWeight returns a user's weight in the queue: how many times another user's share the user may take.
func (q *Queue) UserWeight(user string) float32 {
	if w, ok := q.UserWeights[user]; ok {
		return w
	}
	return 1
}

// Largest returns the queue's largest container, in a cluster with a given largest container.
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

// Entrance returns the queue to which applications go that name this one: the leaf of a reservable queue of a Capacity tree (Hadoop:
// CapacityScheduler.resolveReservationQueueName).
func (q *Queue) Entrance() *Queue {
	if q.Reservable && len(q.Children) == 1 {
		return q.Children[0]
	}
	return q
}

// Allows reports whether a user has a right on the queue, or on an ancestor.
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

// All calls f for the queue and its descendants, parents first.
func (q *Queue) All(f func(*Queue)) {
	f(q)
	for _, c := range q.Children {
		c.All(f)
	}
}

// Tree is the tree of all queues.
type Tree struct {
	Root *Queue
	// Kind is the scheduler to which these queues belong.
	Kind Kind
	// Dominant says that queues are measured by the resource of which they use the largest share, not by memory alone
	// (YARN: DominantResourceCalculator).
	Dominant bool
	// Settings apply to the tree as a whole.
	Settings Settings
	// Label is that of the nodes whose shares these are; see In.
	Label string
	// Problems are warnings and notes about the configuration, for the log. A problem that makes it unusable is an error instead.
	Problems []conf.Problem

	types      records.ResourceTypes
	vector     bool // capacities may be mixed (legacy-queue-mode.enabled is false)
	labels     []string
	partitions map[string]*Tree
	undeclared *Queue // the pattern of undeclared queues, in a Fair tree
	queues     []*Queue
	byPath     map[string]*Queue
	byName     map[string][]*Queue
	// Created are the queues that were created on demand, each behind the one above it.
	Created []template.Created
	from    *parser // that has read the settings
	// stoppedGone are paths with the configured state STOPPED that name no queues (any more).
	stoppedGone map[string]bool
}

// Queues returns all queues by their Index.
func (t *Tree) Queues() []*Queue { return t.queues }

// CountsVCores reports whether containers get as many vcores as they ask for. Where YARN measures by memory alone (its
// DefaultResourceCalculator, the default of CapacityScheduler and the one of FifoScheduler), every container gets one.
func (t *Tree) CountsVCores() bool { return t.Kind == Fair || t.Kind == Capacity && t.Dominant }

// Kind is a scheduler of YARN.
type Kind uint8

// Kinds of trees.
const (
	Capacity Kind = iota
	Fair
	FIFO // one queue, which every name means
)

func newTree(kind Kind, root *Queue) *Tree {
	var all []*Queue
	root.All(func(q *Queue) { q.Index, all = len(all), append(all, q) })
	t := &Tree{Root: root, Kind: kind, Settings: defaultSettings(), queues: all}
	t.byPath, t.byName = make(map[string]*Queue, len(all)), make(map[string][]*Queue, len(all))
	for i, q := range all {
		t.byPath[q.Path] = q
		if same := t.byName[q.Name]; same != nil {
			t.byName[q.Name] = append(same, q)
		} else {
			t.byName[q.Name] = all[i : i+1 : i+1] // mostly the only one
		}
	}
	return t
}

// At returns the queue with a path, or nil.
func (t *Tree) At(path string) *Queue { return t.byPath[path] }

// Find finds a queue by its path, or by the last part of it if that is unambiguous. In a Fair tree names are paths, which need not
// begin with root (Hadoop: QueueManager.ensureRootPrefix). "" is the default queue.
func (t *Tree) Find(name string) (*Queue, bool) {
	if name == "" {
		name = "default"
	}
	if t.Kind == Fair {
		name = fairrule.Rooted(name)
	}
	if q := t.byPath[name]; q != nil {
		return q, true
	}
	if same := t.byName[name]; len(same) == 1 && t.Kind != Fair {
		return same[0], true
	}
	return nil, false
}

// Path returns the path that a name means. In a Fair tree the queue need not exist. In a FIFO tree it is the name itself.
func (t *Tree) Path(name string) string {
	if t.Kind == FIFO {
		return name
	}
	if q, ok := t.Find(name); ok {
		return q.Path
	}
	if t.Kind == Fair {
		return fairrule.Rooted(name)
	}
	return name
}

// Above returns the deepest existing queue on a path: the queue itself if it exists.
func (t *Tree) Above(path string) *Queue {
	for path != "" {
		if q := t.byPath[path]; q != nil {
			return q
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return t.Root
}

// Allows reports whether a user has a right on the queue with a name. No user has one on an unknown queue, with two exceptions: the queue of
// a FIFO tree is open to all users, and in a Fair tree the lists of the deepest existing queue apply.
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

// Default returns a tree with one leaf, root.default, that all users may use.
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
		Weight: -1, Vector: quantity.Uniform(100, quantity.ByPercent), MaximumVector: quantity.Uniform(100, quantity.ByPercent), maxApps: -1, sharedApps: true,
		clusterApps: maxApplications, NoPreemption: true, NoIntraPreemption: true,
	}
	if parent != nil {
		q.Path = parent.Path + "." + name
	}
	return q
}

// maxApplications is the default limit of applications in the cluster.
const maxApplications = 10000
