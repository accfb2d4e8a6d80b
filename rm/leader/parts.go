package leader

import (
	"context"
	"math/rand/v2"
	"time"

	"heddle/rm/leader/lending"
	"heddle/rm/leader/level"
	"heddle/rm/leader/nodespeed"
	"heddle/rm/leader/opportunistic"
	"heddle/rm/leader/opportunity"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/resize"
	"heddle/rm/leader/speed"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/leader/warming"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// The types of this file hear of events for parts that know nothing of heartbeats, or of the scheduler.

// dividing keeps nodes for short tasks, and suspends long ones for them.
type dividing struct {
	*core
	*opportunity.Preemption
}

func (d *dividing) NodeJoined(id records.NodeID) { d.redivide(d.division.Add(id)) }
func (d *dividing) NodeLeft(id records.NodeID)   { d.redivide(d.division.Remove(id)) }

func (d *dividing) NodeHeard(n *nodeSoft, call *NodeCall) {
	d.Heard(n.id, call.Status.Waiting, call.Levels)
}

func (d *dividing) Tick(now time.Time) {
	d.Preemption.Tick(d.redivide(d.division.Tick(now.Sub(d.began), rand.IntN)))
}

// heardSizes takes the sizes that nodes confirm.
type heardSizes struct {
	*resize.Sizes
	core *core
}

func (s heardSizes) NodeHeard(n *nodeSoft, call *NodeCall) {
	for _, given := range call.Increased {
		if c := s.core.work.Container(given.ID); c != nil && c.Live() && c.Node == n.id {
			s.Confirm(c, given.Resource)
		}
	}
}

// heardLevels takes what nodes say of the levels of containers.
type heardLevels struct{ *level.Levels }

func (l heardLevels) NodeHeard(n *nodeSoft, call *NodeCall) {
	l.Show(n.id, n.handle, call.Memory)
	l.Failed(call.Failed)
	l.Heard(call.Levels)
	for _, m := range call.Used {
		l.SetMemory(m.ID, m.Bytes)
	}
}

// heardLoans takes what nodes use of what they were lent.
type heardLoans struct{ *lending.Loans }

func (l heardLoans) NodeHeard(n *nodeSoft, call *NodeCall) {
	if t := call.Status.ShortTasks; t != nil {
		l.Heard(n.id, t.Lent, t.Used)
	}
}

// heardChances takes how long nodes' queues of opportunistic containers are.
type heardChances struct{ *opportunistic.Allocator }

func (c heardChances) NodeHeard(n *nodeSoft, call *NodeCall) { c.Heard(n.id, call.Status.Chances) }

// heardOutputs takes what nodes say of maps' outputs, and tells the scheduler.
type heardOutputs struct {
	*outputs.Outputs
	core *core
}

func (o heardOutputs) NodeBegins(id records.NodeID, _ scheduler.NodeHandle) { o.NodeLeft(id) } // its heartbeats tell

func (o heardOutputs) NodeHeard(n *nodeSoft, call *NodeCall) {
	for _, x := range call.Outputs {
		if soft := o.core.apps[x.App]; soft != nil {
			o.Heard(n.id, x.App, soft.handle, x.Amount)
		}
	}
	o.Fetched(n.id, call.FetchRate)
}

func (o heardOutputs) Tick(time.Time) { o.Tell(o.core.sched) }

// heardInputs takes what nodes say of jobs' inputs.
type heardInputs struct{ *warming.Warming }

func (i heardInputs) NodeHeard(n *nodeSoft, call *NodeCall) { i.Hear(n.id, call.Inputs) }

// heardRefusals takes which containers nodes refuse to start.
type heardRefusals struct {
	*startrefusal.Refusals
	core *core
}

func (r heardRefusals) NodeBegins(id records.NodeID, _ scheduler.NodeHandle) { r.Replace(id, nil) } // its heartbeats tell
func (r heardRefusals) NodeLeft(id records.NodeID)                           { r.Replace(id, nil) }

// NodeHeard passes on the node's refusals for live applications, and registers the node to be told of their end.
func (r heardRefusals) NodeHeard(n *nodeSoft, call *NodeCall) {
	var live []startrefusal.Refusal
	for _, x := range call.Refused {
		r.core.appOnNode(n, x.App)
		if r.core.apps[x.App] != nil {
			live = append(live, x)
		}
	}
	r.Replace(n.id, live)
}

// speeds tell the scheduler how fast nodes are, as was learned or configured.
type speeds struct {
	*core
	learned *speed.Speeds
	told    *nodespeed.Speeds
}

func (s *speeds) NodeJoined(id records.NodeID) { s.told.Joined(s.sched, id.Host) }
func (s *speeds) NodeLeft(id records.NodeID)   { s.told.Left(s.sched, id.Host) }

func (s *speeds) Tick(now time.Time) {
	if s.learned.Due() {
		s.Go(func(context.Context) { s.learned.Sort() }) // it takes long, and other operations continue meanwhile
	}
	s.told.Tell(s.sched)
	if s.justBegun(now) {
		return
	}
	for _, pattern := range s.told.Unmatched() {
		s.Log.Warnf("heddle.scheduler.node-speeds: no node matches %q first, so that its speed has no effect", pattern)
	}
}
