package scheduler

import (
	"slices"

	"heddle/yarn/records"
)

// Activity is what a queue, application or request comes to when containers are given out on a node, in the words of YARN's
// scheduler (Hadoop: ActivityNode, ActivityDiagnosticConstant).
type Activity struct {
	Queue      string    // path; "" of what isn't a queue
	App        AppHandle // -1 of a queue
	Ask        *Ask      // of a request, the row for any node
	Priority   int32     // of the application
	State      ActivityState
	Diagnostic string // "" if the activities below say it
	// From is the application whose ask ends the search in a queue, -1 if there is none. The diagnostic names it at its end.
	From     AppHandle
	Children []Activity
}

// ActivityState says how far a queue, application or request got.
type ActivityState string

// States of activities.
const (
	ActivitySkipped  ActivityState = "SKIPPED"  // others may still be served
	ActivityRejected ActivityState = "REJECTED" // by a limit
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
	nodeElsewhere   = "Node skipped because node/rack locality cannot be satisfied"
	nodeDelayed     = "Node skipped because of off-switch delay"
)

// Activities tells what each queue, application and request that is looked at comes to where containers are given out on a
// node now. Only capacity queues are told of.
func (s *Scheduler) Activities(h NodeHandle) Activity {
	s.refresh()
	n := &s.nodes[h]
	least, free := s.measure(s.cfg.Minimum), s.free(n)
	out := Activity{Queue: s.queues[root].cfg.Path, App: noApp, From: noApp, State: ActivityRejected}
	switch {
	case !s.fits(&least, &free):
		out.Diagnostic = nodeTooFull
	case n.reserved != nobody && !s.queues[root].pending.IsZero():
		out.Diagnostic = nodeKept
	default:
		v := visit{s: s, node: n}
		out, _, _ = v.queue(root, s.limitsOf)
	}
	return out
}

// visit is a walk through the queues for one node.
type visit struct {
	s    *Scheduler
	node *node
}

// queue tells of a queue that has at most so much room left above it, and what it keeps from its later siblings if it is
// blocked.
func (v *visit) queue(h int32, room records.Resource) (out Activity, kept records.Resource, blocks bool) {
	s := v.s
	q := &s.queues[h]
	out = Activity{Queue: q.cfg.Path, App: noApp, From: noApp, State: ActivitySkipped}
	if q.pending.IsZero() {
		out.Diagnostic = queueIdle
		return out, kept, false
	}
	if h == root {
		room = room.Sub(q.used)
	}
	room = room.Min(q.maximum.Sub(q.used))
	if s.spent(&q.used, &room) {
		out.State, out.Diagnostic = ActivityRejected, queueAtMaximum
		if apps := v.inOrder(h); len(apps) > 0 {
			first := v.app(apps[0])
			first.State, first.Diagnostic = ActivityRejected, queueAtMaximum
			out.Children = []Activity{first}
		}
		return out, kept, false
	}
	if q.leaf {
		return v.leaf(h, out, room)
	}
	left := room
	s.el.all(&q.inner, func(i int32) bool {
		child, k, stopped := v.queue(s.el.at[i].ref, left)
		out.Children = append(out.Children, child)
		if stopped {
			kept, left, blocks = kept.Add(k), left.Sub(k), true
		}
		return true
	})
	return out, kept, blocks
}

// inOrder is the active applications of a leaf in the order in which they are served.
func (v *visit) inOrder(leaf int32) (apps []AppHandle) {
	s := v.s
	q := &s.queues[leaf]
	if !q.leaf {
		return nil
	}
	s.el.all(&q.inner, func(u int32) bool {
		s.el.all(&s.users[s.el.at[u].ref].apps, func(a int32) bool {
			apps = append(apps, AppHandle(s.el.at[a].ref))
			return true
		})
		return true
	})
	slices.SortFunc(apps, func(a, b AppHandle) int {
		if s.el.less(q.apps, s.apps[a].el, s.apps[b].el) {
			return -1
		}
		return 1
	})
	return apps
}

func (v *visit) app(h AppHandle) Activity {
	return Activity{App: h, From: noApp, Priority: v.s.apps[h].spec.Priority, State: ActivitySkipped}
}

func (v *visit) leaf(h int32, out Activity, room records.Resource) (Activity, records.Resource, bool) {
	s := v.s
	q := &s.queues[h]
	for _, ref := range v.inOrder(h) {
		a := &s.apps[ref]
		act := v.app(ref)
		switch {
		case s.overUserLimit(q, &s.users[a.user]):
			act.State, act.Diagnostic = ActivityRejected, userAtLimit
		case a.pending == 0:
			act.Diagnostic = appIdle
		case v.requests(h, a, &act, &room):
			out.State, out.Diagnostic, out.From = ActivityRejected, queueBlocked, ref
			out.Children = append(out.Children, act)
			return out, s.measure(room).Max(records.Resource{}), true
		}
		out.Children = append(out.Children, act)
	}
	return out, records.Resource{}, false
}

// requests tells of what an application asks for, the most urgent first, and whether one of it blocks the leaf.
func (v *visit) requests(leaf int32, a *app, act *Activity, room *records.Resource) (blocks bool) {
	s := v.s
	for _, d := range a.demands {
		if d.pending == 0 {
			continue
		}
		one := Activity{App: act.App, From: noApp, State: ActivitySkipped, Ask: &Ask{
			Priority: d.priority, AllocationRequestID: d.requestID, Name: Any, Capability: d.capability, Count: d.pending,
			RelaxLocality: d.relaxAny, ExecutionType: d.execution,
		}}
		if !s.fits(&d.size, room) && !s.lifted(a, d, room) {
			one.State, one.Diagnostic = ActivityRejected, queueBlocked
			blocks = s.everFits(leaf, &d.size)
		} else {
			one.Diagnostic = v.request(a, d)
		}
		act.Children = append(act.Children, one)
		if blocks {
			act.State = ActivityRejected
			return true
		}
	}
	return false
}

// request says why a request that its queues have room for isn't served on the node.
func (v *visit) request(a *app, d *demand) string {
	s, n := v.s, v.node
	capability, free := s.measure(n.capability), s.free(n)
	switch {
	case a.blacklisted(n):
		return nodeBlacklisted
	case !d.relaxAny && d.wants(n.host) == 0 && !d.relaxes(n.rack):
		return nodeElsewhere
	case !s.fits(&d.size, &capability):
		return nodeTooSmall
	case !s.fits(&d.size, &free):
		return nodeLacks
	}
	return nodeDelayed
}
