package explain

import (
	"fmt"
	"strings"
	"time"

	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/demand"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/ranking"
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
	Constrained    Limit = "constraint"    // none that there are satisfies its placement constraint
	TooLarge       Limit = "size"          // no node is large enough
	LocalityDelay  Limit = "locality"      // it waits for a better place for a moment
	HasReservation Limit = "reservation"   // a node is reserved for it
	Reserved       Limit = "reserved"      // the nodes with room are reserved for other containers
	BehindOthers   Limit = "behind"        // an ask whose turn is earlier is larger than what the queue has left
	BehindOwn      Limit = "priority"      // what the application asks for more urgently comes first
	LeafPolicy     Limit = "policy"        // the policy of the leaf makes it wait
	ClusterFull    Limit = "free"          // no node has so much free
	OthersFirst    Limit = "order"         // others' turn comes first
	NodeQueues     Limit = "node-queues"   // no node has room in its queue of opportunistic containers
)

// Reason explains why an ask has not been served, with the limit that binds and its numbers.
type Reason struct {
	Ask   core.Ask // the row for any node, with the count that is pending
	Limit Limit
	Text  string
	Free  string // what would free it
	Queue string // whose limit it is, if it is a queue's
	User  string // whose, if it is a user's
	// Used is what counts against the limit, Bound the limit, Short what the ask lacks.
	Used, Bound, Short records.Resource
	Node               handle.Node // the nearest, or the one that is reserved; -1 if there is none
	Behind             handle.App  // where the limit is BehindOthers, whose ask it is. Text calls it Another; -1 if there is none
	Host               string      // of Node
	// Open is the number of nodes that take containers, Eligible that of nodes that could take it when they are empty.
	Open, Eligible int
	Until          int64 // when a delay is over, in ms
}

// Because sets the limit that holds the ask, in words, and what would free it.
func (r *Reason) Because(l Limit, text, free string) { r.Limit, r.Text, r.Free = l, text, free }

// Exceeds sets whose limit it is, what counts against it, the limit itself, and what the ask lacks.
func (r *Reason) Exceeds(queue, user string, used, bound, short records.Resource) {
	r.Queue, r.User, r.Used, r.Bound, r.Short = queue, user, used, bound, short
}

// IsBehind sets the queue and the application whose ask comes first.
func (r *Reason) IsBehind(queue string, app handle.App) { r.Queue, r.Behind = queue, app }

// Lack sets what the ask lacks.
func (r *Reason) Lack(short records.Resource) { r.Short = short }

// Explain says for each ask of an application that is pending what holds it. The limits are looked at in the order in
// which they bind: those that keep the application from having containers at all, those of queues and users, then nodes.
// Of an application with very many the most urgent ones are explained.
func (s *Explainer) Explain(h handle.App) (out []Reason) {
	s.ExplainAll([]handle.App{h}, func(reasons []Reason) bool {
		out = reasons
		return true
	})
	return out
}

// maxExplained is how many asks of an application are explained.
const maxExplained = 1000

// ExplainAll is Explain for many applications, in their order, until tell returns false. Facts that they share are computed once: what
// nodes lack for a size, which request blocks a leaf, and limits on ApplicationMasters.
func (s *Explainer) ExplainAll(apps []handle.App, tell func([]Reason) bool) {
	s.core.Refresh()
	s.explaining = &explaining{
		surveys: map[records.Resource]Reason{}, reservations: map[*core.Demand]handle.Container{},
	}
	s.policy.Explaining(true)
	defer func() {
		s.explaining = nil
		s.policy.Explaining(false)
	}()
	for _, h := range apps {
		if !tell(s.explainApp(h)) {
			return
		}
	}
}

// Explainer says what holds requests.
type Explainer struct {
	core       *core.Core
	policy     Policy
	explaining *explaining // while applications are explained
}

// New returns an explainer of what a core holds under its policy.
func New(c *core.Core, p Policy) *Explainer { return &Explainer{core: c, policy: p} }

// explaining holds facts computed once while applications are explained, between which nothing changes.
type explaining struct {
	surveys      map[records.Resource]Reason       // what nodes lack for a container
	reservations map[*core.Demand]handle.Container // the latest reservation of each demand that has one; see lastReservation
	listed       bool                              // reservations is filled
	lookups      int64                             // for constraints of the application that is explained
}

// lastReservation returns the latest reservation of a demand that has one.
func (s *Explainer) lastReservation(d *core.Demand) handle.Container {
	x := s.explaining
	if x == nil {
		x = &explaining{reservations: map[*core.Demand]handle.Container{}}
	}
	if !x.listed {
		x.listed = true
		for _, c := range s.core.Reserved {
			x.reservations[s.core.ReservationOf(c).Demand] = c
		}
	}
	return x.reservations[d]
}

// StandingOf returns where the policy of its leaf sees an application, for people; empty if it says nothing.
func (s *Explainer) StandingOf(h handle.App) string {
	if g, a := s.core.PolicyOf(&s.core.Apps[h]); g != nil {
		return g.Standing(a)
	}
	return ""
}

func (s *Explainer) explainApp(h handle.App) []Reason {
	a := &s.core.Apps[h]
	if s.explaining != nil {
		s.explaining.lookups = 0
	}
	var out []Reason
	for d := range s.core.Demands(a) {
		if d.Pending == 0 || d.Guest {
			continue
		}
		if len(out) == maxExplained {
			break
		}
		r := s.explain(a, d)
		r.Ask = d.Row()
		if r.Node != handle.NoNode {
			r.Host = s.core.Nodes.Name(s.core.Nodes.At[r.Node].Host)
		}
		out = append(out, r)
	}
	return out
}

// WhatIf says what would hold one container that a user asked for in a queue now: that of a new ApplicationMaster, or one
// of an application that is active already.
func (s *Explainer) WhatIf(path, name string, capability records.Resource, master bool) (Reason, error) {
	s.core.Refresh()
	leaf, ok := s.core.ByPath[path]
	if !ok || !s.core.Queues[leaf].Leaf {
		return Reason{}, fmt.Errorf("%q is not a leaf queue", path)
	}
	u := core.User{Name: name, Leaf: leaf, Weight: float64(s.core.Queues[leaf].Cfg.UserWeight(name))}
	if h, ok := s.core.Queues[leaf].Names[name]; ok {
		u = s.core.Users[h]
	}
	d := core.Demand{Capability: capability, Size: s.core.Calc.Measure(capability), RelaxAny: true, Pending: 1, Work: nodeset.WorkOf(0)}
	a := core.App{Leaf: leaf, Spec: core.AppSpec{User: name, AM: capability}, Am: capability, Set: demand.NewSet()}
	r := Reason{Node: handle.NoNode, Behind: handle.NoApp, Open: s.core.Nodes.OpenNodes()}
	held := master && (s.explainParallel(&a, &r) || s.policy.ExplainMasters(&a, &u, &r)) ||
		s.explainQueues(leaf, &d, &r, false) || s.policy.ExplainTurn(&a, &u, &d, &r) || s.explainNodes(&a, &d, &r) ||
		s.explainQueues(leaf, &d, &r, true)
	if !held {
		r.Text = "it would start at once"
		if q := &s.core.Queues[leaf]; q.Pending != (records.Resource{}) && q.Wanting > 0 {
			r.Text = "there is room for it; it would start after what is waiting in the queue already"
		}
	}
	r.Ask = core.Ask{Name: core.Any, Capability: capability, Count: 1, RelaxLocality: true}
	if r.Node != handle.NoNode {
		r.Host = s.core.Nodes.Name(s.core.Nodes.At[r.Node].Host)
	}
	return r, nil
}

func (s *Explainer) explain(a *core.App, d *core.Demand) Reason {
	r := Reason{Node: handle.NoNode, Behind: handle.NoApp, Open: s.core.Nodes.OpenNodes()}
	u := &s.core.Users[a.User]
	switch {
	case !a.Runnable && s.explainParallel(a, &r):
	case !a.Active && s.policy.ExplainMasters(a, u, &r):
	case !a.Active:
		r.Limit, r.Queue = QueueMasters, s.core.Queues[a.Leaf].Cfg.Path
		r.Text = fmt.Sprintf("the limit of queue %s on ApplicationMasters admits it now", r.Queue)
		r.Free = "the next look at the limit, at most half a second from now"
	case s.explainLeafPolicy(a, d, &r):
	case s.explainQueues(a.Leaf, d, &r, false):
	case s.policy.ExplainTurn(a, u, d, &r):
	case s.explainNodes(a, d, &r):
	case s.explainQueues(a.Leaf, d, &r, true):
	default:
		r.Limit, r.Text = OthersFirst, fmt.Sprintf("there is room for %s; others are served first", s.core.Format(d.Capability))
		r.Free = "the next decisions"
	}
	switch r.Limit {
	case OthersFirst, ClusterFull, LeafPolicy, HasReservation: // these depend on the policy's order
		if standing := s.StandingOf(d.App); standing != "" {
			r.Text += "; " + standing
		}
	}
	return r
}

func (s *Explainer) explainParallel(a *core.App, r *Reason) bool {
	ok, full := s.core.MayRun(a)
	if ok {
		return false
	}
	r.Limit = ParallelApps
	if full == ranking.Nothing {
		r.User = a.Spec.User
		r.Text = fmt.Sprintf("user %s has %d applications running at once, and may have %d", r.User, s.core.Running[r.User], s.core.Tree.Settings.MaxParallel(r.User))
		r.Free = "the end of one of them, or a higher limit of the user"
		return true
	}
	q := &s.core.Queues[full]
	r.Queue = q.Cfg.Path
	r.Text = fmt.Sprintf("queue %s has %d applications running at once, and may have %d", r.Queue, q.Runnable, q.Cfg.MaxParallelApps)
	r.Free = "the end of one of them, or a higher max-parallel-apps (maxRunningApps)"
	return true
}

// HeldByQueueMasters says that ApplicationMasters have their share of a leaf.
func HeldByQueueMasters(s *core.Core, a *core.App, limit records.Resource, r *Reason) {
	q := &s.Queues[a.Leaf]
	r.Limit, r.Queue, r.Used, r.Bound = QueueMasters, q.Cfg.Path, q.AmUsed, limit
	r.Text = fmt.Sprintf("ApplicationMasters of queue %s have %s and may have %s; %s more is too much",
		r.Queue, s.Format(r.Used), s.Format(r.Bound), s.Format(a.Am))
	r.Free = "the end of an application of the queue, or a higher maximum-am-resource-percent (maxAMShare)"
	r.Short = s.Calc.Measure(r.Used.Add(a.Am).Sub(r.Bound)).Max(records.Resource{})
}

// explainQueues looks for a maximum that binds: first those that are less than all there is, as others only bind where the
// cluster is full, or reservations count for more than is free.
func (s *Explainer) explainQueues(leaf int32, d *core.Demand, r *Reason, all bool) bool {
	for h := leaf; h != ranking.Nothing; h = s.core.Queues[h].Parent {
		q := &s.core.Queues[h]
		if !s.core.Limited(q) || !all && !q.Bounded {
			continue
		}
		if d.Size.FitsIn(s.core.Calc.Measure(q.Maximum.Sub(q.Used))) {
			continue
		}
		r.Limit, r.Queue, r.Used, r.Bound = QueueMaximum, q.Cfg.Path, q.Used, q.Maximum
		r.Short = d.Size.Add(s.core.Calc.Measure(q.Used)).Sub(s.core.Calc.Measure(q.Maximum)).Max(records.Resource{})
		r.Text = fmt.Sprintf("queue %s has %s and may have %s at most; for %s it lacks %s",
			r.Queue, s.core.Format(r.Used), s.core.Format(r.Bound), s.core.Format(d.Capability), s.core.Format(r.Short))
		if s.core.Rules.ReservedIsUsed && !q.Reserved.IsZero() {
			r.Text += fmt.Sprintf(" (%s of it is reserved on nodes)", s.core.Format(q.Reserved))
		}
		r.Free = "the end of containers of the queue, or a higher maximum-capacity (maxResources)"
		return true
	}
	return false
}

// explainLeafPolicy asks the policy of the leaf whether it makes a request wait.
func (s *Explainer) explainLeafPolicy(a *core.App, d *core.Demand, r *Reason) bool {
	w := s.core.HoldsBack(a, d)
	if w.Policy == "" || d.Reservations > 0 {
		return false
	}
	r.Limit, r.Queue, r.Until = LeafPolicy, s.core.Queues[a.Leaf].Cfg.Path, w.Until
	left := time.Duration(w.Until-s.core.Now) * time.Millisecond
	if !w.Capped {
		r.Text = fmt.Sprintf("leaf policy %s of queue %s holds it back, for %v at the most", w.Policy, r.Queue, left)
		if why := s.core.WhyHeld(a, d); why != "" {
			r.Text += ": " + why
		}
		r.Free = "the policy, or the end of that time"
		return true
	}
	r.Used, r.Bound = a.Used, w.Cap
	r.Short = Lacks(d.Size, s.core.Calc.Measure(w.Cap.Sub(a.Used)))
	r.Text = fmt.Sprintf("leaf policy %s of queue %s lets the application have %s now, and it has %s; that holds for %v at the most",
		w.Policy, r.Queue, s.core.Format(w.Cap), s.core.Format(a.Used), left)
	r.Free = "the policy, the end of containers of the application, or the end of that time"
	return true
}

func HeldByNoNodes(s *core.Core, size records.Resource, r *Reason) bool {
	r.Limit, r.Short = NoNodes, size
	r.Text = "no node takes containers: none is registered and healthy"
	r.Free = "a node that registers"
	return true
}

// explainNodes counts the nodes that could take a container, and finds the one that lacks least.
func (s *Explainer) explainNodes(a *core.App, d *core.Demand, r *Reason) bool {
	if s.core.Nodes.OpenNodes() == 0 {
		return HeldByNoNodes(s.core, d.Capability, r)
	}
	if s.explainReservation(a, d, r) || s.explainMany(d, r) {
		return true
	}
	common := s.explaining != nil && d.RelaxAny && !d.Placed && !s.core.BarsSome(a) && a.Reserved.IsZero()
	var surveys map[records.Resource]Reason
	if common {
		surveys = s.explaining.surveys
	}
	if known, ok := surveys[d.Capability]; ok {
		*r = known
	} else if !s.survey(a, d, r) {
		return false
	} else if common && (r.Limit == TooLarge || r.Limit == ClusterFull || r.Limit == Reserved) {
		surveys[d.Capability] = *r
	}
	if r.Limit == ClusterFull || r.Limit == Reserved {
		s.policy.ExplainUnreserved(a, d, r)
	}
	return true
}

// census counts the nodes that a request could have, by why they are none for it.
type census struct {
	places  int // that the request admits and that are open to it
	wanted  int // of places, those that the application and the constraint let it have
	closed  int // to its kind of work
	unmet   int // of places, those that don't satisfy its constraint
	example handle.Node
	largest handle.Node // lacks least for the request when it is empty
	freest  handle.Node // lacks least of those that are large enough

	room, reserved bool // there is a node with room that isn't reserved, that is
}

// count looks at all nodes.
func (s *Explainer) count(a *core.App, d *core.Demand, r *Reason) (x census) {
	x.example, x.largest, x.freest = handle.NoNode, handle.NoNode, handle.NoNode
	least := [2]float64{}
	for h := range s.core.Nodes.At {
		n := &s.core.Nodes.At[h]
		if n.Open == nodeset.NoWork {
			continue
		}
		if !d.RelaxAny && d.Wants(n.Host) == 0 && !d.Relaxes(n.Rack) {
			continue
		}
		if n.Open&d.Work == 0 {
			x.closed++
			continue
		}
		if x.places++; a.Blacklisted(n) {
			continue
		}
		if d.Placed && d.Unsatisfied(n.Self) != nil {
			x.unmet, x.example = x.unmet+1, n.Self
			continue
		}
		x.wanted++
		if by := lack(d.Size, s.core.Calc.Measure(*s.core.Nodes.Capability(n))); x.largest == handle.NoNode || by < least[0] {
			x.largest, least[0] = handle.Node(h), by
		}
		if !d.Size.FitsIn(s.core.Calc.Measure(*s.core.Nodes.Capability(n))) {
			continue
		}
		r.Eligible++
		free := s.core.Calc.Measure(s.core.Nodes.Capability(n).Sub(n.Used))
		switch {
		case !d.Size.FitsIn(free):
		case n.Reserved != handle.NoContainer:
			x.reserved = true
		default:
			x.room = true
		}
		if by := lack(d.Size, free); x.freest == handle.NoNode || by < least[1] {
			x.freest, least[1] = handle.Node(h), by
		}
	}
	return x
}

// survey says why no node is one for a request, if that is so.
func (s *Explainer) survey(a *core.App, d *core.Demand, r *Reason) bool {
	x := s.count(a, d, r)
	size := s.core.Format(d.Capability)
	switch {
	case x.places == 0 && x.closed > 0:
		r.Limit, r.Short = WrongPlace, d.Size
		r.Text = fmt.Sprintf("each of the %d nodes that the request admits is closed to its kind of work", x.closed)
		r.Free = "a node that is open to it"
	case x.places == 0:
		r.Limit, r.Short = WrongPlace, d.Size
		r.Text = fmt.Sprintf("none of the %d nodes that take containers is one that the request admits", r.Open)
		r.Free = "one of the hosts or racks that are asked for, or a request that relaxes locality"
	case x.wanted == 0 && x.unmet > 0:
		r.Limit, r.Short, r.Node = Constrained, d.Size, x.example
		r.Text = fmt.Sprintf("none of the %d nodes that the request admits satisfies its placement constraint %s: %s doesn't satisfy %s",
			x.places, brief(d.Scheduling().Constraint), s.core.Nodes.Name(s.core.Nodes.At[x.example].Host), brief(d.Unsatisfied(x.example)))
		r.Free = "containers with the tags that it names that start or end, other attributes of nodes, or another node"
	case x.wanted == 0:
		r.Limit, r.Short = Blacklisted, d.Size
		r.Text = fmt.Sprintf("the application excludes each of the %d nodes that the request admits (%s)", x.places,
			strings.Join(s.core.BlacklistOf(a), ", "))
		r.Free = "the application's taking a node off its blacklist, or another node"
	case r.Eligible == 0:
		r.Limit, r.Node = TooLarge, x.largest
		r.Short = Lacks(d.Size, s.core.Calc.Measure(*s.core.Nodes.Capability(&s.core.Nodes.At[x.largest])))
		r.Text = fmt.Sprintf("no node is large enough for %s: %s, the largest, lacks %s", size,
			s.core.Nodes.Name(s.core.Nodes.At[x.largest].Host), s.core.Format(r.Short))
		r.Free = "a larger node, or a smaller request"
	case x.room && s.explainDelay(d, r):
	case x.room:
		return false
	case x.reserved:
		r.Limit, r.Node, r.Short = Reserved, x.freest, d.Size
		r.Text = fmt.Sprintf("%s has room for %s, and is reserved for another container", s.core.Nodes.Name(s.core.Nodes.At[x.freest].Host), size)
		r.Free = "the end of the reservation, or containers that end elsewhere"
	default:
		r.Limit, r.Node = ClusterFull, x.freest
		r.Short = Lacks(d.Size, s.core.Calc.Measure(s.core.Nodes.Capability(&s.core.Nodes.At[x.freest]).Sub(s.core.Nodes.At[x.freest].Used)))
		r.Text = fmt.Sprintf("no node has %s free: %s, which comes nearest, lacks %s", size,
			s.core.Nodes.Name(s.core.Nodes.At[x.freest].Host), s.core.Format(r.Short))
		r.Free = "the end of containers on a node that is large enough, or another node"
	}
	if x.wanted > 0 && x.unmet > 0 {
		r.Text += fmt.Sprintf("; %d nodes more don't satisfy its placement constraint %s", x.unmet, brief(d.Scheduling().Constraint))
	}
	if x.places > 0 && x.closed > 0 {
		r.Text += fmt.Sprintf("; %d nodes more are closed to its kind of work", x.closed)
	}
	return true
}

// brief is a constraint in few words.
func brief(c *constraint.Constraint) string {
	const maxText = 300
	text := c.String()
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// maxLookups bounds what comparing nodes with the constraints of one application's requests looks up.
const maxLookups = 500_000

// explainMany says that a request is one of very many with constraints, for which nodes aren't compared with these.
func (s *Explainer) explainMany(d *core.Demand, r *Reason) bool {
	if !d.Placed || s.explaining == nil {
		return false
	}
	if s.explaining.lookups += d.Weight() * int64(len(s.core.Nodes.At)); s.explaining.lookups <= maxLookups {
		return false
	}
	r.Limit, r.Short = Constrained, d.Size
	r.Text = fmt.Sprintf("it waits for its placement constraint %s; the application has so many requests with constraints that nodes aren't compared with all of them here",
		brief(d.Scheduling().Constraint))
	r.Free = "containers with the tags that it names that start or end, other attributes of nodes, or another node"
	return true
}

// lack returns the largest part of an amount that isn't there.
func lack(want, has records.Resource) (worst float64) {
	for i, n := range want {
		if d := n - has[i]; d > 0 {
			worst = max(worst, float64(d)/float64(n))
		}
	}
	return worst
}

func Lacks(want, has records.Resource) records.Resource { return want.Sub(has).Max(records.Resource{}) }

func (s *Explainer) explainDelay(d *core.Demand, r *Reason) bool {
	if d.Until <= s.core.Now || d.Why != demand.NoPlace {
		return false
	}
	r.Limit, r.Until = LocalityDelay, d.Until
	r.Text = fmt.Sprintf("it waits %d ms longer for room on one of the hosts or racks that it prefers", d.Until-s.core.Now)
	r.Free = "room there, or the end of the delay (node-locality-delay)"
	return true
}

func (s *Explainer) explainReservation(_ *core.App, d *core.Demand, r *Reason) bool {
	if d.Reservations == 0 {
		return false
	}
	x := &s.core.Containers[s.lastReservation(d)]
	n := &s.core.Nodes.At[x.Node]
	r.Limit, r.Node, r.Eligible = HasReservation, x.Node, 1
	r.Used, r.Bound = n.Used, *s.core.Nodes.Capability(n)
	r.Short = Lacks(d.Size, s.core.Nodes.Free(n))
	many := fmt.Sprintf(" (%d of %d reservations)", d.Reservations, d.Pending)
	if !s.core.Rules.OnePerContainer {
		many = fmt.Sprintf(" (one of %d nodes, for %d containers)", d.Reservations, d.Pending)
	}
	r.Text = fmt.Sprintf("%s is reserved for it%s, and lacks %s yet", s.core.Nodes.Name(n.Host), many, s.core.Format(r.Short))
	r.Free = "the end of containers on that node, or room for it on another"
	return true
}

// Another stands for the application Reason.Behind in Reason.Text, as the scheduler doesn't know its name.
const Another = "another application"

// Policy is how a policy explains what holds a request. Each method fills in the reason if it finds one.
type Policy interface {
	// Explaining says that explanations begin, between which nothing changes, or that they end.
	Explaining(on bool)
	// ExplainMasters looks at limits on ApplicationMasters.
	ExplainMasters(a *core.App, u *core.User, r *Reason) bool
	// ExplainTurn looks at limits of users, and for requests that come first.
	ExplainTurn(a *core.App, u *core.User, d *core.Demand, r *Reason) bool
	// ExplainUnreserved adds why no node is reserved for a request that has room nowhere.
	ExplainUnreserved(a *core.App, d *core.Demand, r *Reason)
}
