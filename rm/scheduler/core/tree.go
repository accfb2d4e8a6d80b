package core

import (
	"slices"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Queue is a queue with what it holds. Fields that each decision touches stand first, as with applications.
type Queue struct {
	Parent           int32
	El               int32
	Inner            ranking.Ranking // children, or users
	Containers       int32
	AbsoluteCapacity float32 // share of the cluster that it is guaranteed
	Live             bool
	Leaf             bool
	made             bool         // for an application, as a Fair tree does
	Bounded          bool         // the maximum is less than all
	Apps             ranking.Rule // how applications of a leaf are ordered
	LimitKnown       bool         // leafState.userLimit is up to date
	retry            bool         // is among Scheduler.activate
	Held             bool         // in the core of a label: it has, or has had, containers
	GuaranteedShare  float64      // share of the cluster that use is measured by: what is guaranteed, or one smallest container
	Cfg              *queue.Queue

	Used, Pending records.Resource
	leafState
	// In a cluster of the present size: what is guaranteed, and what it can have at most where that is less than all.
	Guaranteed, Maximum records.Resource

	Reserved records.Resource
	Runnable int32       // applications that count for max-parallel-apps
	Total    int32       // applications, waiting ones included
	place    int64       // among all queues, as configured
	Below    []int32     // children, as they came
	guard    *leaf.Guard // its leaf policy, unless that is built in
	_        [5]int64    // to whole lines
}

// leafState holds the state that only leaves have.
type leafState struct {
	// For the user limit: users who want something, by weight, what they hold, and the sum of all users' shares of the cluster.
	Wanting    float64
	Shares     float64
	ActiveUsed records.Resource
	UserLimit  records.Resource // of a user of weight 1

	// Limits in a cluster of the present size: what is guaranteed, and the least and the most that a user can have while
	// no more than that is used.
	Capacity, UserMinimum, UserMaximum records.Resource

	Names   map[string]int32 // users
	Waiting []handle.App     // runnable applications that aren't active, most urgent first
	Active  int32            // applications
	AmUsed  records.Resource // by ApplicationMasters of active applications
}

// User is a user with applications in a leaf.
type User struct {
	Leaf    int32
	el      int32
	Apps    ranking.Ranking
	Wanting int32 // applications that ask for something
	Active  int32 // applications that are active
	Total   int32 // applications
	Weight  float64
	share   float64 // of the cluster that used is
	Used    records.Resource
	AmUsed  records.Resource
	Name    string
}

// setTree builds the running tree.
func (s *Core) setTree(t *queue.Tree, p Policy) {
	s.Tree = t
	s.Policy = p
	s.setMeasure()
	s.addQueue(t.Root, ranking.Nothing)
	s.guideApps()
	s.stale = true
}

func (s *Core) setMeasure() {
	s.Rules = s.Policy.Rules()
	s.Calc.SetMemoryOnly(s.Rules.MemoryOnly)
}

func (s *Core) addQueue(cfg *queue.Queue, parent int32) int32 {
	h := s.newQueue(cfg)
	q := &s.Queues[h]
	q.Parent, q.place = parent, int64(len(s.ByPath))
	s.Rankings.Key(q.El).Seq = q.place
	s.setRules(q)
	if q.guard != nil {
		s.guideLeaf(h)
	}
	if parent != ranking.Nothing {
		s.Queues[parent].Below = append(s.Queues[parent].Below, h)
		s.Rankings.Enter(&s.Queues[parent].Inner, q.El)
	}
	for _, c := range s.Policy.Sorted(cfg.Children) {
		s.addQueue(c, h)
	}
	return h
}

// newQueue makes a queue that is in no order yet.
func (s *Core) newQueue(cfg *queue.Queue) int32 {
	h := handle.Take(&s.Queues, &s.freeQueues)
	q := &s.Queues[h]
	*q = Queue{Cfg: cfg, Live: true, Leaf: cfg.Leaf(), El: s.Rankings.Take(h), Inner: ranking.New(ranking.ByUse)}
	if q.Leaf {
		q.Names = map[string]int32{}
	}
	s.ByPath[cfg.Path] = h
	return h
}

func (s *Core) setRules(q *Queue) {
	q.Inner.Rule, q.Apps = s.Policy.Ranking(q.Cfg)
	if q.Leaf {
		q.Inner.Rule = q.Apps
	}
	q.guide()
}

// leafOf finds the leaf for an application that names a queue, and makes it where the tree's kind allows that.
func (s *Core) leafOf(path string) int32 {
	path = s.Policy.LeafFor(path)
	if h, ok := s.ByPath[path]; ok && s.Queues[h].Leaf {
		return h
	}
	if q, ok := s.Tree.Find(path); ok && s.Queues[s.ByPath[q.Path]].Leaf {
		return s.ByPath[q.Path]
	}
	return s.makeLeaf(path)
}

// makeLeaf makes a leaf that isn't configured, and the queues above it. Below a leaf with applications in it there can be none, so that
// it is that leaf.
func (s *Core) makeLeaf(path string) int32 {
	if path != "root" && !strings.HasPrefix(path, "root.") {
		path = "root." + path
	}
	s.dropEmpty()
	h := s.closest(path)
	if s.Queues[h].Leaf {
		return h
	}
	names := strings.Split(strings.TrimPrefix(path[len(s.Queues[h].Cfg.Path):], "."), ".")
	for i, name := range names {
		if name == "" {
			name = "default" // in a queue that holds queues
		}
		h = s.addQueue(s.Tree.Make(s.Queues[h].Cfg, name, i == len(names)-1), h)
		s.Queues[h].made = true
	}
	s.stale = true
	s.Policy.AppsChanged()
	return h
}

// TakesApps reports whether a path is that of a leaf, or of one that can be made, as no queue with applications in it is in its way.
func (s *Core) TakesApps(path string) bool {
	q := &s.Queues[s.closest(path)]
	return q.made && q.Total == 0 || q.Leaf == (q.Cfg.Path == path)
}

// closest returns the queue closest to a path, seen from the root.
func (s *Core) closest(path string) int32 {
	for {
		if h, ok := s.ByPath[path]; ok {
			return h
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
}

// dropEmpty takes out the queues that were made for applications and have none any more (Hadoop: QueueManager.removeEmptyDynamicQueues).
func (s *Core) dropEmpty() {
	for h := range s.Queues {
		q := &s.Queues[h]
		if !q.Live || !q.made || q.Total > 0 {
			continue
		}
		above := &s.Queues[q.Parent]
		s.Rankings.Leave(&above.Inner, q.El)
		above.Below = slices.DeleteFunc(above.Below, func(c int32) bool { return c == int32(h) })
		s.forgetQueue(int32(h))
	}
}

// forgetQueue takes a queue out that is in no order.
func (s *Core) forgetQueue(h int32) {
	q := &s.Queues[h]
	delete(s.ByPath, q.Cfg.Path)
	s.Rankings.Give(q.El)
	if i, ok := slices.BinarySearch(s.guided, h); ok {
		s.guided = slices.Delete(s.guided, i, i+1)
	}
	*q = Queue{}
	s.freeQueues = append(s.freeQueues, h)
}

// userOf finds or makes a user of a leaf.
func (s *Core) userOf(leaf int32, name string) int32 {
	q := &s.Queues[leaf]
	if u, ok := q.Names[name]; ok {
		return u
	}
	h := handle.Take(&s.Users, &s.freeUsers)
	s.Users[h] = User{
		Name: name, Leaf: leaf, el: s.Rankings.Take(h), Weight: float64(q.Cfg.UserWeight(name)),
		Apps: ranking.New(q.Apps),
	}
	if home := s.Home(); home != s {
		s.Users[h].Wanting = wishesOf(home, q.Cfg, name)
	}
	q.Names[name] = h
	*s.Rankings.Key(s.Users[h].el) = ranking.Never
	s.Rankings.Enter(&q.Inner, s.Users[h].el)
	return h
}

// dropUser forgets a user without applications.
func (s *Core) dropUser(h int32) {
	u := &s.Users[h]
	q := &s.Queues[u.Leaf]
	q.Shares -= u.share
	s.Rankings.Leave(&q.Inner, u.el)
	s.Rankings.Give(u.el)
	delete(q.Names, u.Name)
	u.Name = "" // it is no user any more (hearWishes)
	if len(q.Names) == 0 {
		q.Shares = 0 // what rounding left over
	}
	s.freeUsers = append(s.freeUsers, h)
}

// Refresh computes limits and keys again after the size of the cluster or the configuration has changed.
func (s *Core) Refresh() {
	if !s.stale && s.Nodes.Cluster == s.Calc.Cluster {
		return
	}
	s.stale, s.Calc.Cluster, s.Recheck = false, s.Nodes.Cluster, true
	s.Policy.AppsChanged()
	s.limitQueues()
	s.rebuild()
	s.unparkLimited() // not before, as another configuration may have taken everything out of its order
	for h := range s.Queues {
		s.retryActivation(int32(h))
	}
}
