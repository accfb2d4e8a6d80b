package capacity

import (
	"heddle/rm/scheduler/nodeset"

	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
)

// Activities tells what each queue, application and request that is looked at comes to where containers are given out on a
// node now. Only capacity queues are told of.
func (p *Policy) Activities(h handle.Node) explain.Activity {
	p.s.Refresh()
	n := &p.s.Nodes.At[h]
	smallest, free := p.s.Calc.Measure(p.s.Config.Minimum), p.s.Nodes.Free(n)
	out := explain.Activity{Queue: p.s.Queues[core.Root].Cfg.Path, App: handle.NoApp, From: handle.NoApp, State: explain.ActivityRejected}
	switch {
	case !p.s.Calc.Fits(&smallest, &free):
		out.Diagnostic = explain.NodeTooFull
	case n.Reserved != handle.NoContainer:
		out.Diagnostic = explain.NodeReserved
	default:
		v := visit{p: p, s: p.s, node: n, blockers: p.findBlockers()}
		out = v.queue(core.Root)
	}
	return out
}

// visit is a walk through the queues for one node.
type visit struct {
	p        *Policy
	s        *core.Core
	node     *nodeset.Node
	blockers map[int32]blocker
}

// blocker returns what holds back a queue. Those in which there is nothing to try now have what queues above them leave.
func (v *visit) blocker(h int32) blocker {
	if at, ok := v.blockers[h]; ok {
		return at
	}
	q := &v.s.Queues[h]
	room := v.s.Room(h).Sub(q.Used)
	return blocker{room: room, spent: v.s.Calc.Spent(&q.Used, &room)}
}

// queue tells of a queue.
func (v *visit) queue(h int32) explain.Activity {
	s := v.s
	q := &s.Queues[h]
	out := explain.Activity{Queue: q.Cfg.Path, App: handle.NoApp, From: handle.NoApp, State: explain.ActivitySkipped}
	if q.Pending.IsZero() {
		out.Diagnostic = explain.QueueIdle
		return out
	}
	at := v.blocker(h)
	switch {
	case at.spent:
		out.State, out.Diagnostic = explain.ActivityRejected, explain.QueueAtMaximum
		if apps := v.p.ranked(h, false); len(apps) > 0 {
			first := v.app(apps[0])
			first.State, first.Diagnostic = explain.ActivityRejected, explain.QueueAtMaximum
			out.Children = []explain.Activity{first}
		}
	case q.Leaf:
		v.leaf(h, &out, &at)
	default:
		s.Rankings.All(&q.Inner, func(i int32) bool {
			out.Children = append(out.Children, v.queue(s.Rankings.Ref(i)))
			return true
		})
	}
	return out
}

func (v *visit) app(h handle.App) explain.Activity {
	return explain.Activity{App: h, From: handle.NoApp, Priority: v.s.Apps[h].Spec.Priority, State: explain.ActivitySkipped}
}

func (v *visit) leaf(h int32, out *explain.Activity, at *blocker) {
	s := v.s
	q := &s.Queues[h]
	for _, ref := range v.p.ranked(h, false) {
		a := &s.Apps[ref]
		act := v.app(ref)
		blocks := false
		switch {
		case s.Policy.OverUserLimit(q, &s.Users[a.User]):
			act.State, act.Diagnostic = explain.ActivityRejected, explain.UserAtLimit
		case a.Pending == 0:
			act.Diagnostic = explain.AppIdle
		default:
			blocks = v.requests(a, &act, at)
		}
		out.Children = append(out.Children, act)
		if blocks {
			out.State, out.Diagnostic, out.From = explain.ActivityRejected, explain.QueueBlocked, ref
			return
		}
	}
}

// requests tells of what an application asks for, the most urgent first, and whether one of it blocks the leaf.
func (v *visit) requests(a *core.App, act *explain.Activity, at *blocker) (blocks bool) {
	s := v.s
	for d := range s.Demands(a) {
		if d.Pending == 0 {
			continue
		}
		ask := d.Row()
		one := explain.Activity{App: act.App, From: handle.NoApp, State: explain.ActivitySkipped, Ask: &ask}
		if !s.Calc.Fits(&d.Size, &at.room) && !v.p.lifted(a, d, &at.room) {
			one.State, one.Diagnostic = explain.ActivityRejected, explain.QueueBlocked
		} else {
			on := explain.OnNode(s, a, d, v.node)
			one.State, one.Children = on.State, []explain.Activity{on}
		}
		act.Children = append(act.Children, one)
		if d == at.by {
			act.State = explain.ActivityRejected
			return true
		}
	}
	return false
}
