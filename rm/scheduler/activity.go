package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"
)

// Activity is what a queue, application or request comes to when containers are given out on a node, in the words of YARN's
// scheduler (Hadoop: ActivityNode, ActivityDiagnosticConstant). Below a request that its queues have room for is what it comes to on
// the node itself.
type Activity struct {
	Queue      string     // path; "" of what isn't a queue
	App        handle.App // -1 of a queue
	Ask        *Ask       // of a request, the row for any node
	OnNode     bool       // what a request comes to on the node itself
	Priority   int32      // of the application
	State      ActivityState
	Diagnostic string // "" if the activities below say it
	// From is the application whose ask ends the search in a queue, -1 if there is none. The diagnostic names it at its end.
	From     handle.App
	Children []Activity
}

// ActivityState says how far a queue, application or request got.
type ActivityState string

// States of activities.
const (
	ActivitySkipped    ActivityState = "SKIPPED"     // others may still be served
	ActivityRejected   ActivityState = "REJECTED"    // by a limit
	ActivityReReserved ActivityState = "RE_RESERVED" // the node is kept for it, and still hasn't room
)

const (
	nodeTooFull     = "Initial check: node resource is insufficient for minimum allocation"
	nodeKept        = "Queue skipped because node has been reserved"
	queueIdle       = "Queue does not need more resource"
	queueAtMaximum  = "Queue hits max-capacity limit"
	userAtLimit     = "Queue hits user max-capacity limit"
	queueBlocked    = "Queue does not have enough headroom for inner highest-priority request"
	appIdle         = "Application does not need more resource"
	nodeBlacklisted = "Node is blacklisted"
	nodeTooSmall    = "Node's total resource is insufficient for request"
	nodeLacks       = "Node does not have sufficient resource for request"
	nodeElsewhere   = "Node skipped because relax locality is not allowed"
	nodeDelayed     = "Node skipped because of off-switch delay"
)

// Activities tells what each queue, application and request that is looked at comes to where containers are given out on a
// node now. Only capacity queues are told of.
func (s *Scheduler) Activities(h handle.Node) Activity {
	s.refresh()
	n := &s.nodes[h]
	least, free := s.calc.Measure(s.cfg.Minimum), s.free(n)
	out := Activity{Queue: s.queues[root].cfg.Path, App: handle.NoApp, From: handle.NoApp, State: ActivityRejected}
	switch {
	case !s.calc.Fits(&least, &free):
		out.Diagnostic = nodeTooFull
	case n.reserved != handle.NoContainer && !s.queues[root].pending.IsZero():
		out.Diagnostic = nodeKept
	default:
		v := visit{s: s, node: n, heads: s.look()}
		out = v.queue(root)
	}
	return out
}

// visit is a walk through the queues for one node.
type visit struct {
	s     *Scheduler
	node  *node
	heads map[int32]head
}

// head is what holds back a queue. Those in which there is nothing to try now have what queues above them leave.
func (v *visit) head(h int32) head {
	if at, ok := v.heads[h]; ok {
		return at
	}
	q := &v.s.queues[h]
	room := v.s.room(h).Sub(q.used)
	return head{room: room, spent: v.s.calc.Spent(&q.used, &room)}
}

// queue tells of a queue.
func (v *visit) queue(h int32) Activity {
	s := v.s
	q := &s.queues[h]
	out := Activity{Queue: q.cfg.Path, App: handle.NoApp, From: handle.NoApp, State: ActivitySkipped}
	if q.pending.IsZero() {
		out.Diagnostic = queueIdle
		return out
	}
	at := v.head(h)
	switch {
	case at.spent:
		out.State, out.Diagnostic = ActivityRejected, queueAtMaximum
		if apps := v.inOrder(h); len(apps) > 0 {
			first := v.app(apps[0])
			first.State, first.Diagnostic = ActivityRejected, queueAtMaximum
			out.Children = []Activity{first}
		}
	case q.leaf:
		v.leaf(h, &out, &at)
	default:
		s.el.All(&q.inner, func(i int32) bool {
			out.Children = append(out.Children, v.queue(s.el.Ref(i)))
			return true
		})
	}
	return out
}

// inOrder is the active applications of a leaf in the order in which they are served.
func (v *visit) inOrder(leaf int32) (apps []handle.App) {
	s := v.s
	q := &s.queues[leaf]
	if !q.leaf {
		return nil
	}
	s.el.All(&q.inner, func(u int32) bool {
		s.el.All(&s.users[s.el.Ref(u)].apps, func(a int32) bool {
			apps = append(apps, handle.App(s.el.Ref(a)))
			return true
		})
		return true
	})
	slices.SortFunc(apps, func(a, b handle.App) int {
		if s.el.Less(q.apps, s.apps[a].el, s.apps[b].el) {
			return -1
		}
		return 1
	})
	return apps
}

func (v *visit) app(h handle.App) Activity {
	return Activity{App: h, From: handle.NoApp, Priority: v.s.apps[h].spec.Priority, State: ActivitySkipped}
}

func (v *visit) leaf(h int32, out *Activity, at *head) {
	s := v.s
	q := &s.queues[h]
	for _, ref := range v.inOrder(h) {
		a := &s.apps[ref]
		act := v.app(ref)
		blocks := false
		switch {
		case s.overUserLimit(q, &s.users[a.user]):
			act.State, act.Diagnostic = ActivityRejected, userAtLimit
		case a.pending == 0:
			act.Diagnostic = appIdle
		default:
			blocks = v.requests(a, &act, at)
		}
		out.Children = append(out.Children, act)
		if blocks {
			out.State, out.Diagnostic, out.From = ActivityRejected, queueBlocked, ref
			return
		}
	}
}

// requests tells of what an application asks for, the most urgent first, and whether one of it blocks the leaf.
func (v *visit) requests(a *app, act *Activity, at *head) (blocks bool) {
	s := v.s
	for d := range s.demands(a) {
		if d.pending == 0 {
			continue
		}
		ask := d.row()
		one := Activity{App: act.App, From: handle.NoApp, State: ActivitySkipped, Ask: &ask}
		if !s.calc.Fits(&d.size, &at.room) && !s.lifted(a, d, &at.room) {
			one.State, one.Diagnostic = ActivityRejected, queueBlocked
		} else {
			on := s.onNode(a, d, v.node)
			one.State, one.Children = on.State, []Activity{on}
		}
		act.Children = append(act.Children, one)
		if d == at.by {
			act.State = ActivityRejected
			return true
		}
	}
	return false
}

// maxOnNodes is how much OnNodes tells of more than one request.
const maxOnNodes = 20_000

// OnNodes tells, for each request of an application that waits, the most urgent first, what it comes to on each of some nodes, as far
// as that is up to the node. Of very many requests and nodes the most urgent requests are told of.
func (s *Scheduler) OnNodes(h handle.App, nodes []handle.Node) (out [][]Activity) {
	a := &s.apps[h]
	for d := range s.demands(a) {
		if d.pending == 0 {
			continue
		}
		if n := len(out) + 1; n > maxExplained || n > 1 && n*len(nodes) > maxOnNodes {
			break
		}
		list := make([]Activity, len(nodes))
		for i, n := range nodes {
			list[i] = s.onNode(a, d, &s.nodes[n])
		}
		out = append(out, list)
	}
	return out
}

// onNode says why a request that its queues have room for isn't served on a node.
func (s *Scheduler) onNode(a *app, d *demand, n *node) Activity {
	out := Activity{App: handle.NoApp, From: handle.NoApp, OnNode: true, State: ActivitySkipped}
	if n.reserved != handle.NoContainer && s.keepingOf(n.reserved).demand == d {
		out.State = ActivityReReserved
	}
	capability, free := s.calc.Measure(*s.capability(n)), s.free(n)
	switch {
	case a.blacklisted(n):
		out.Diagnostic = nodeBlacklisted
	case !d.relaxAny && d.wants(n.host) == 0 && !d.relaxes(n.rack):
		out.Diagnostic = nodeElsewhere
	case !s.calc.Fits(&d.size, &capability):
		out.Diagnostic = nodeTooSmall + s.insufficient(&d.capability, *s.capability(n))
	case !s.calc.Fits(&d.size, &free):
		out.Diagnostic = nodeLacks + s.insufficient(&d.capability, s.capability(n).Sub(n.used))
	default:
		out.Diagnostic = nodeDelayed
	}
	return out
}

// insufficient names what there isn't enough of (Hadoop: GenericDiagnosticsCollector). What follows the line is for a node alone.
func (s *Scheduler) insufficient(required *records.Resource, available records.Resource) string {
	var names []string
	for i := range s.cfg.Types.Len() {
		if required[i] > available[i] && (i == records.Memory || !s.calc.MemoryOnly) {
			names = append(names, s.cfg.Types.At(i).Name)
		}
	}
	return fmt.Sprintf(", insufficient resources=[%s]\nrequired=%s, available=%s", strings.Join(names, ", "), s.format(*required), s.format(available))
}
