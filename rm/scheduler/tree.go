package scheduler

import (
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// runQueue is a queue with what it holds. What each decision touches stands first, as with applications.
type runQueue struct {
	parent     int32
	el         int32
	inner      order.Order // children, or users
	containers int32
	promise    float32 // share of the cluster
	live       bool
	leaf       bool
	made       bool       // for an application, as a Fair tree does
	bounded    bool       // the maximum is less than all
	apps       order.Rule // how applications of a leaf are ordered
	limitKnown bool       // leafState.userLimit is up to date
	retry      bool       // is among Scheduler.activate
	promised   float64    // share of the cluster that use is measured by
	cfg        *queue.Queue

	used, pending records.Resource
	leafState
	// In a cluster of the present size: what is promised, and what it can have at most where that is less than all.
	guaranteed, maximum records.Resource

	reserved records.Resource
	runnable int32    // applications that count for max-parallel-apps
	total    int32    // applications, waiting ones included
	place    int64    // among all queues, as configured
	below    []int32  // children, as they came
	_        [6]int64 // to whole lines
}

// leafState is what only leaves have.
type leafState struct {
	// For the user limit: users who want something, by weight, what they hold, and the sum of all users' shares of the cluster.
	wanting    float64
	shares     float64
	activeUsed records.Resource
	userLimit  records.Resource // of a user of weight 1

	// What it hangs on in a cluster of the present size: what is promised, and the least and the most that a user can have
	// while no more than that is used.
	capacity, userLeast, userMost records.Resource

	names   map[string]int32 // users
	waiting []handle.App     // runnable applications that aren't active, most urgent first
	active  int32            // applications
	amUsed  records.Resource // by ApplicationMasters of active applications
}

// user is somebody with applications in a leaf.
type user struct {
	leaf    int32
	el      int32
	apps    order.Order
	wanting int32 // applications that ask for something
	active  int32 // applications that are active
	total   int32 // applications
	weight  float64
	share   float64 // of the cluster that used is
	used    records.Resource
	amUsed  records.Resource
	name    string
}

// setTree builds the running tree.
func (s *Scheduler) setTree(t *queue.Tree) {
	s.tree = t
	s.setMeasure()
	s.addQueue(t.Root, order.Nothing)
	s.stale = true
}

func (s *Scheduler) setMeasure() {
	s.capacity = s.tree.Kind == queue.Capacity
	s.calc.SetMemoryOnly(s.tree.Kind == queue.FIFO || s.capacity && !s.tree.Dominant)
}

func (s *Scheduler) addQueue(cfg *queue.Queue, parent int32) int32 {
	h := s.newQueue(cfg)
	q := &s.queues[h]
	q.parent, q.place = parent, int64(len(s.byPath))
	s.el.Key(q.el).Seq = q.place
	s.setRules(q)
	if parent != order.Nothing {
		s.queues[parent].below = append(s.queues[parent].below, h)
		s.el.Enter(&s.queues[parent].inner, q.el)
	}
	for _, c := range s.inOrder(cfg.Children) {
		s.addQueue(c, h)
	}
	return h
}

// newQueue makes a queue that is in no order yet.
func (s *Scheduler) newQueue(cfg *queue.Queue) int32 {
	h := handle.Take(&s.queues, &s.freeQueues)
	q := &s.queues[h]
	*q = runQueue{cfg: cfg, live: true, leaf: cfg.Leaf(), el: s.el.Take(h), inner: order.New(order.ByUse)}
	if q.leaf {
		q.names = map[string]int32{}
	}
	s.byPath[cfg.Path] = h
	return h
}

// inOrder is the order in which equal queues are served: that of the configuration, or by name in a Fair tree.
func (s *Scheduler) inOrder(children []*queue.Queue) []*queue.Queue {
	if s.tree.Kind != queue.Fair {
		return children
	}
	return slices.SortedFunc(slices.Values(children), func(a, b *queue.Queue) int { return strings.Compare(a.Name, b.Name) })
}

func (s *Scheduler) setRules(q *runQueue) {
	defer func() {
		if q.leaf {
			q.inner.Rule = q.apps
		}
	}()
	policy := strings.ToLower(q.cfg.OrderingPolicy)
	if s.tree.Kind == queue.Fair {
		r := order.ByFairness
		switch strings.ToLower(q.cfg.Fair.Policy) {
		case "fifo":
			r = order.ByPriority
		case "drf":
			r = order.ByDominance
		}
		q.apps, q.inner.Rule = r, r
		if r == order.ByPriority && !q.leaf {
			q.inner.Rule = order.ByPlace
		}
		return
	}
	q.inner.Rule = order.ByUse
	if policy == "priority-utilization" {
		q.inner.Rule = order.ByPriorityAndUse
	}
	q.apps = order.ByPriority
	if policy == "fair" {
		q.apps = order.ByAppUse
	}
}

// leafOf finds the leaf for an application that names a queue, and makes it where the tree's kind allows that.
func (s *Scheduler) leafOf(path string) int32 {
	if h, ok := s.byPath[path]; ok && s.queues[h].leaf {
		return h
	}
	if s.tree.Kind == queue.FIFO {
		if q, ok := s.tree.Find(""); ok {
			return s.byPath[q.Path]
		}
	}
	if q, ok := s.tree.Find(path); ok && s.queues[s.byPath[q.Path]].leaf {
		return s.byPath[q.Path]
	}
	return s.makeLeaf(path)
}

// makeLeaf makes a leaf that isn't configured, and the queues above it. Below a leaf with applications in it there can be none, so that
// it is that leaf.
func (s *Scheduler) makeLeaf(path string) int32 {
	if path != "root" && !strings.HasPrefix(path, "root.") {
		path = "root." + path
	}
	s.dropEmpty()
	h := s.closest(path)
	if s.queues[h].leaf {
		return h
	}
	names := strings.Split(strings.TrimPrefix(path[len(s.queues[h].cfg.Path):], "."), ".")
	for i, name := range names {
		if name == "" {
			name = "default" // in a queue that holds queues
		}
		h = s.addQueue(s.tree.Make(s.queues[h].cfg, name, i == len(names)-1), h)
		s.queues[h].made = true
	}
	s.stale, s.fair.known = true, false
	return h
}

// TakesApps reports whether a path is that of a leaf, or of one that can be made, as no queue with applications in it is in its way.
func (s *Scheduler) TakesApps(path string) bool {
	q := &s.queues[s.closest(path)]
	return q.made && q.total == 0 || q.leaf == (q.cfg.Path == path)
}

// closest is the queue closest to a path, seen from the root.
func (s *Scheduler) closest(path string) int32 {
	for {
		if h, ok := s.byPath[path]; ok {
			return h
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
}

// dropEmpty takes out the queues that were made for applications and have none any more (Hadoop: QueueManager.removeEmptyDynamicQueues).
func (s *Scheduler) dropEmpty() {
	for h := range s.queues {
		q := &s.queues[h]
		if !q.live || !q.made || q.total > 0 {
			continue
		}
		above := &s.queues[q.parent]
		s.el.Leave(&above.inner, q.el)
		above.below = slices.DeleteFunc(above.below, func(c int32) bool { return c == int32(h) })
		s.forgetQueue(int32(h))
	}
}

// forgetQueue takes a queue out that is in no order.
func (s *Scheduler) forgetQueue(h int32) {
	q := &s.queues[h]
	delete(s.byPath, q.cfg.Path)
	s.el.Give(q.el)
	*q = runQueue{}
	s.freeQueues = append(s.freeQueues, h)
}

// userOf finds or makes a user of a leaf.
func (s *Scheduler) userOf(leaf int32, name string) int32 {
	q := &s.queues[leaf]
	if u, ok := q.names[name]; ok {
		return u
	}
	h := handle.Take(&s.users, &s.freeUsers)
	s.users[h] = user{
		name: name, leaf: leaf, el: s.el.Take(h), weight: float64(q.cfg.UserWeight(name)),
		apps: order.New(q.apps),
	}
	q.names[name] = h
	*s.el.Key(s.users[h].el) = order.Never
	s.el.Enter(&q.inner, s.users[h].el)
	return h
}

// dropUser forgets a user without applications.
func (s *Scheduler) dropUser(h int32) {
	u := &s.users[h]
	q := &s.queues[u.leaf]
	q.shares -= u.share
	s.el.Leave(&q.inner, u.el)
	s.el.Give(u.el)
	delete(q.names, u.name)
	if len(q.names) == 0 {
		q.shares = 0 // what rounding left over
	}
	s.freeUsers = append(s.freeUsers, h)
}

// refresh computes limits and keys anew after the size of the cluster or the configuration has changed.
func (s *Scheduler) refresh() {
	if !s.stale && s.cluster == s.calc.Cluster {
		return
	}
	s.stale, s.calc.Cluster, s.recheck = false, s.cluster, true
	s.fair.known = false
	s.limitQueues()
	s.unparkLimited()
	s.rebuild()
	for h := range s.queues {
		if q := &s.queues[h]; q.live && q.leaf {
			s.retry(int32(h))
		}
	}
}
