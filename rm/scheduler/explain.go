package scheduler

import (
	"fmt"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/scheduler/fairshare"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/order"
	"heddle/yarn/records"
)

// Limit names what holds an ask.
type Limit string

// Limits.
const (
	NoLimit        Limit = ""              // nothing: it is given out with the next decision
	ParallelApps   Limit = "parallel"      // as many applications run as the queue, or the user, may have
	QueueMasters   Limit = "am-queue"      // ApplicationMasters have their share of the queue
	UserMasters    Limit = "am-user"       // and of what the user may have of it
	QueueMaximum   Limit = "queue-maximum" // of the queue or one above it
	UserLimit      Limit = "user-limit"    // in the queue
	NoNodes        Limit = "nodes"         // none takes containers
	WrongPlace     Limit = "place"         // none that is asked for takes containers
	Blacklisted    Limit = "blacklist"     // the application wants none of those that there are
	TooLarge       Limit = "size"          // no node is large enough
	LocalityDelay  Limit = "locality"      // it waits for a better place for a moment
	HasReservation Limit = "reservation"   // a node is kept for it
	Reserved       Limit = "reserved"      // the nodes with room are kept for other containers
	BehindOthers   Limit = "behind"        // an ask whose turn is earlier is larger than what the queue has left
	BehindOwn      Limit = "priority"      // what the application asks for more urgently comes first
	ClusterFull    Limit = "free"          // no node has so much free
	OthersFirst    Limit = "order"         // others' turn comes first
)

// Reason is why an ask has not been served, with the limit that binds and its numbers.
type Reason struct {
	Ask   Ask // the row for any node, with the count that is pending
	Limit Limit
	Text  string
	Free  string // what would free it
	Queue string // whose limit it is, if it is a queue's
	User  string // whose, if it is a user's
	// Used is what counts against the limit, Bound the limit, Short what the ask lacks.
	Used, Bound, Short records.Resource
	Node               handle.Node // the nearest, or the one that is kept; -1 if there is none
	Behind             handle.App  // where the limit is BehindOthers, whose ask it is. Text calls it Another; -1 if there is none
	Host               string      // of Node
	// Open is the number of nodes that take containers, Eligible that of nodes that could take it when they are empty.
	Open, Eligible int
	Until          int64 // when a delay is over, in ms
}

// Explain says for each ask of an application that is pending what holds it. The limits are looked at in the order in
// which they bind: those that keep the application from having containers at all, those of queues and users, then nodes.
// Of an application with very many the most urgent ones are explained.
func (s *Scheduler) Explain(h handle.App) (out []Reason) {
	s.ExplainAll([]handle.App{h}, func(reasons []Reason) bool {
		out = reasons
		return true
	})
	return out
}

// maxExplained is how many asks of an application are explained.
const maxExplained = 1000

// ExplainAll is Explain for many applications, in their order, until tell returns false. What doesn't differ between them is found out
// once: what nodes lack for a size, who blocks leaves, and limits on ApplicationMasters.
func (s *Scheduler) ExplainAll(apps []handle.App, tell func([]Reason) bool) {
	s.refresh()
	s.explaining = &explaining{
		surveys: map[records.Resource]Reason{}, masters: map[int32]mastersOf{}, kept: map[*demand]handle.Container{},
	}
	defer func() { s.explaining = nil }()
	for _, h := range apps {
		if !tell(s.explainApp(h)) {
			return
		}
	}
}

// explaining is what is found out once while applications are explained, between which nothing changes.
type explaining struct {
	surveys map[records.Resource]Reason  // what nodes lack for a container
	heads   map[int32]head               // who blocks leaves
	masters map[int32]mastersOf          // by leaf
	due     map[int32]*fairshare.Queue   // see fairDue
	kept    map[*demand]handle.Container // the latest reservation of each demand that has one; see keptLast
	listed  bool                         // kept is filled
}

// mastersOf is what limits on a leaf's ApplicationMasters hang on.
type mastersOf struct {
	limit records.Resource
	users int // active ones
}

func (s *Scheduler) mastersOf(leaf int32) mastersOf {
	if s.explaining == nil {
		return mastersOf{s.amLimit(leaf), s.activeUsers(&s.queues[leaf])}
	}
	m, ok := s.explaining.masters[leaf]
	if !ok {
		m = mastersOf{s.amLimit(leaf), s.activeUsers(&s.queues[leaf])}
		s.explaining.masters[leaf] = m
	}
	return m
}

// keptLast is the latest reservation of a demand that has one.
func (s *Scheduler) keptLast(d *demand) handle.Container {
	x := s.explaining
	if x == nil {
		x = &explaining{kept: map[*demand]handle.Container{}}
	}
	if !x.listed {
		x.listed = true
		for _, c := range s.reserved {
			x.kept[s.keepingOf(c).demand] = c
		}
	}
	return x.kept[d]
}

func (s *Scheduler) explainApp(h handle.App) []Reason {
	a := &s.apps[h]
	var out []Reason
	for d := range s.demands(a) {
		if d.pending == 0 {
			continue
		}
		if len(out) == maxExplained {
			break
		}
		r := s.explain(a, d)
		r.Ask = d.row()
		if r.Node != handle.NoNode {
			r.Host = s.name(s.nodes[r.Node].host)
		}
		out = append(out, r)
	}
	return out
}

// WhatIf says what would hold one container that a user asked for in a queue now: that of a new ApplicationMaster, or one
// of an application that is active already.
func (s *Scheduler) WhatIf(path, name string, capability records.Resource, master bool) (Reason, error) {
	s.refresh()
	leaf, ok := s.byPath[path]
	if !ok || !s.queues[leaf].leaf {
		return Reason{}, fmt.Errorf("%q is not a leaf queue", path)
	}
	u := user{name: name, leaf: leaf, weight: float64(s.queues[leaf].cfg.UserWeight(name))}
	if h, ok := s.queues[leaf].names[name]; ok {
		u = s.users[h]
	}
	d := demand{capability: capability, size: s.calc.Measure(capability), relaxAny: true, pending: 1}
	a := app{leaf: leaf, spec: AppSpec{User: name, AM: capability}, am: capability, demands: order.New(order.ByUse)}
	r := Reason{Node: handle.NoNode, Behind: handle.NoApp, Open: s.openNodes}
	held := master && (s.explainParallel(&a, &r) || s.explainMasters(&a, &u, &r)) ||
		s.explainQueues(leaf, &d, &r, false) || s.explainUser(leaf, &u, &r) || s.explainHead(&a, &d, &r) || s.explainNodes(&a, &d, &r) ||
		s.explainQueues(leaf, &d, &r, true)
	if !held {
		r.Text = "it would start at once"
		if q := &s.queues[leaf]; q.pending != (records.Resource{}) && q.wanting > 0 {
			r.Text = "there is room for it; it would start after what is waiting in the queue already"
		}
	}
	r.Ask = Ask{Name: Any, Capability: capability, Count: 1, RelaxLocality: true}
	if r.Node != handle.NoNode {
		r.Host = s.name(s.nodes[r.Node].host)
	}
	return r, nil
}

func (s *Scheduler) explain(a *app, d *demand) Reason {
	r := Reason{Node: handle.NoNode, Behind: handle.NoApp, Open: s.openNodes}
	u := &s.users[a.user]
	switch {
	case !a.runnable && s.explainParallel(a, &r):
	case !a.active && s.explainMasters(a, u, &r):
	case !a.active:
		r.Limit, r.Queue = QueueMasters, s.queues[a.leaf].cfg.Path
		r.Text = fmt.Sprintf("the limit of queue %s on ApplicationMasters admits it now", r.Queue)
		r.Free = "the next look at the limit, at most half a second from now"
	case s.explainQueues(a.leaf, d, &r, false):
	case s.explainUser(a.leaf, u, &r):
	case s.explainHead(a, d, &r):
	case s.explainOwn(a, d, &r):
	case s.explainNodes(a, d, &r):
	case s.explainQueues(a.leaf, d, &r, true):
	default:
		r.Limit, r.Text = OthersFirst, fmt.Sprintf("there is room for %s; others are served first", s.format(d.capability))
		r.Free = "the next decisions"
	}
	return r
}

func (s *Scheduler) format(r records.Resource) string { return s.cfg.Types.Format(r) }

func (s *Scheduler) explainParallel(a *app, r *Reason) bool {
	ok, full := s.mayRun(a)
	if ok {
		return false
	}
	r.Limit = ParallelApps
	if full == order.Nothing {
		r.User = a.spec.User
		r.Text = fmt.Sprintf("user %s has %d applications running at once, and may have %d", r.User, s.running[r.User], s.tree.Settings.MaxParallel(r.User))
		r.Free = "the end of one of them, or a higher limit of the user"
		return true
	}
	q := &s.queues[full]
	r.Queue = q.cfg.Path
	r.Text = fmt.Sprintf("queue %s has %d applications running at once, and may have %d", r.Queue, q.runnable, q.cfg.MaxParallelApps)
	r.Free = "the end of one of them, or a higher max-parallel-apps (maxRunningApps)"
	return true
}

func (s *Scheduler) explainMasters(a *app, u *user, r *Reason) bool {
	q := &s.queues[a.leaf]
	masters := s.mastersOf(a.leaf)
	limit, users := masters.limit, masters.users
	switch {
	case s.capacity && s.calc.Cluster.IsZero():
		return s.explainNoNodes(a.am, r)
	case s.mayActivate(q, a, u, &limit, users):
		return false
	}
	r.Queue = q.cfg.Path
	if s.tree.Kind == queue.Fair || !s.calc.Measure(q.amUsed.Add(a.am)).FitsIn(s.calc.Measure(limit)) {
		r.Limit, r.Used, r.Bound = QueueMasters, q.amUsed, limit
		r.Text = fmt.Sprintf("ApplicationMasters of queue %s have %s and may have %s; %s more is too much",
			r.Queue, s.format(r.Used), s.format(r.Bound), s.format(a.am))
		r.Free = "the end of an application of the queue, or a higher maximum-am-resource-percent (maxAMShare)"
	} else {
		r.Limit, r.User, r.Used, r.Bound = UserMasters, a.spec.User, u.amUsed, s.userAMLimit(q, u, &limit, users)
		r.Text = fmt.Sprintf("ApplicationMasters of user %s in queue %s have %s and may have %s; %s more is too much",
			r.User, r.Queue, s.format(r.Used), s.format(r.Bound), s.format(a.am))
		r.Free = "the end of an application of the user, a higher minimum-user-limit-percent or maximum-am-resource-percent"
	}
	r.Short = s.calc.Measure(r.Used.Add(a.am).Sub(r.Bound)).Max(records.Resource{})
	return true
}

// explainQueues looks for a maximum that binds: first those that are less than all there is, as others only bind where the
// cluster is full, or reservations count for more than is free.
func (s *Scheduler) explainQueues(leaf int32, d *demand, r *Reason, all bool) bool {
	for h := leaf; h != order.Nothing; h = s.queues[h].parent {
		q := &s.queues[h]
		if !s.limited(q) || !all && !q.bounded {
			continue
		}
		if d.size.FitsIn(s.calc.Measure(q.maximum.Sub(q.used))) {
			continue
		}
		r.Limit, r.Queue, r.Used, r.Bound = QueueMaximum, q.cfg.Path, q.used, q.maximum
		r.Short = d.size.Add(s.calc.Measure(q.used)).Sub(s.calc.Measure(q.maximum)).Max(records.Resource{})
		r.Text = fmt.Sprintf("queue %s has %s and may have %s at most; for %s it lacks %s",
			r.Queue, s.format(r.Used), s.format(r.Bound), s.format(d.capability), s.format(r.Short))
		if s.capacity && !q.reserved.IsZero() {
			r.Text += fmt.Sprintf(" (%s of it is reserved on nodes)", s.format(q.reserved))
		}
		r.Free = "the end of containers of the queue, or a higher maximum-capacity (maxResources)"
		return true
	}
	return false
}

func (s *Scheduler) explainUser(leaf int32, u *user, r *Reason) bool {
	q := &s.queues[leaf]
	if !s.capacity || !s.overUserLimit(q, u) {
		return false
	}
	r.Limit, r.Queue, r.User, r.Used, r.Bound = UserLimit, q.cfg.Path, u.name, u.used, s.calc.Weighted(*s.limitOfUsers(q), u.weight)
	r.Short = s.calc.Measure(u.used.Sub(r.Bound)).Max(records.Resource{})
	r.Text = fmt.Sprintf("user %s has %s of queue %s, more than the limit of %s that each of its active users has now",
		r.User, s.format(r.Used), r.Queue, s.format(r.Bound))
	r.Free = "the end of containers of the user, less demand of the queue's other users, or a higher user-limit-factor or " +
		"minimum-user-limit-percent"
	return true
}

func (s *Scheduler) explainNoNodes(size records.Resource, r *Reason) bool {
	r.Limit, r.Short = NoNodes, size
	r.Text = "no node takes containers: none is registered and healthy"
	r.Free = "a node that registers"
	return true
}

// explainNodes counts the nodes that could take a container, and finds the one that lacks least.
func (s *Scheduler) explainNodes(a *app, d *demand, r *Reason) bool {
	if s.openNodes == 0 {
		return s.explainNoNodes(d.capability, r)
	}
	if s.explainReservation(a, d, r) {
		return true
	}
	common := s.explaining != nil && d.relaxAny && len(a.blacklist) == 0 && a.reserved.IsZero()
	var surveys map[records.Resource]Reason
	if common {
		surveys = s.explaining.surveys
	}
	if known, ok := surveys[d.capability]; ok {
		*r = known
	} else if !s.survey(a, d, r) {
		return false
	} else if common && (r.Limit == TooLarge || r.Limit == ClusterFull || r.Limit == Reserved) {
		surveys[d.capability] = *r
	}
	if r.Limit == ClusterFull || r.Limit == Reserved {
		s.explainUnkept(a, d, r)
	}
	return true
}

// survey looks at all nodes.
func (s *Scheduler) survey(a *app, d *demand, r *Reason) bool {
	var places, wanted int
	largest, freest := handle.NoNode, handle.NoNode
	least := [2]float64{}
	room, kept := false, false
	for h := range s.nodes {
		n := &s.nodes[h]
		if !n.open {
			continue
		}
		if !d.relaxAny && d.wants(n.host) == 0 && !d.relaxes(n.rack) {
			continue
		}
		if places++; a.blacklisted(n) {
			continue
		}
		wanted++
		if x := lack(d.size, s.calc.Measure(*s.capability(n))); largest == handle.NoNode || x < least[0] {
			largest, least[0] = handle.Node(h), x
		}
		if !d.size.FitsIn(s.calc.Measure(*s.capability(n))) {
			continue
		}
		r.Eligible++
		free := s.calc.Measure(s.capability(n).Sub(n.used))
		switch {
		case !d.size.FitsIn(free):
		case n.reserved != handle.NoContainer:
			kept = true
		default:
			room = true
		}
		if x := lack(d.size, free); freest == handle.NoNode || x < least[1] {
			freest, least[1] = handle.Node(h), x
		}
	}
	size := s.format(d.capability)
	switch {
	case places == 0:
		r.Limit, r.Short = WrongPlace, d.size
		r.Text = fmt.Sprintf("none of the %d nodes that take containers is one that the request admits", r.Open)
		r.Free = "one of the hosts or racks that are asked for, or a request that relaxes locality"
	case wanted == 0:
		r.Limit, r.Short = Blacklisted, d.size
		r.Text = fmt.Sprintf("the application excludes each of the %d nodes that the request admits (%s)", places,
			strings.Join(s.blacklistOf(a), ", "))
		r.Free = "the application's taking a node off its blacklist, or another node"
	case r.Eligible == 0:
		r.Limit, r.Node = TooLarge, largest
		r.Short = lacks(d.size, s.calc.Measure(*s.capability(&s.nodes[largest])))
		r.Text = fmt.Sprintf("no node is large enough for %s: %s, the largest, lacks %s", size,
			s.name(s.nodes[largest].host), s.format(r.Short))
		r.Free = "a larger node, or a smaller request"
	case room && s.explainDelay(d, r):
	case room:
		return false
	case kept:
		r.Limit, r.Node, r.Short = Reserved, freest, d.size
		r.Text = fmt.Sprintf("%s has room for %s, and is kept for another container", s.name(s.nodes[freest].host), size)
		r.Free = "the end of the reservation, or containers that end elsewhere"
	default:
		r.Limit, r.Node = ClusterFull, freest
		r.Short = lacks(d.size, s.calc.Measure(s.capability(&s.nodes[freest]).Sub(s.nodes[freest].used)))
		r.Text = fmt.Sprintf("no node has %s free: %s, which comes nearest, lacks %s", size,
			s.name(s.nodes[freest].host), s.format(r.Short))
		r.Free = "the end of containers on a node that is large enough, or another node"
	}
	return true
}

// lack is the largest part of an amount that isn't there.
func lack(want, has records.Resource) (worst float64) {
	for i, n := range want {
		if d := n - has[i]; d > 0 {
			worst = max(worst, float64(d)/float64(n))
		}
	}
	return worst
}

func lacks(want, has records.Resource) records.Resource { return want.Sub(has).Max(records.Resource{}) }
