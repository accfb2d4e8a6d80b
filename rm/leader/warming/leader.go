package warming

import (
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Input is what a job will read, as the node of its ApplicationMaster says.
type Input struct {
	App    records.ApplicationID
	Splits []Split
}

// Loop is the part of the leader's loop that Warming needs.
type Loop interface {
	AfterCommit(f func())
}

// Warming is the leader's part: it knows which nodes there are, and delivers orders. The methods are for the loop's operations.
type Warming struct {
	loop    Loop
	work    *ledger.State
	deliver func(records.NodeID, Order)
	jobs    Jobs
}

// New returns the part of a leader whose working copy is work. deliver puts an order into a node's next heartbeat.
func New(loop Loop, work *ledger.State, deliver func(records.NodeID, Order)) *Warming {
	return &Warming{loop: loop, work: work, deliver: deliver}
}

// Learn has nodes read ahead what jobs will read whose ApplicationMasters run on the node that says so.
func (w *Warming) Learn(from records.NodeID, all []Input) {
	for _, in := range all {
		app := w.work.Apps[in.App]
		if app == nil || app.State.Ended() || app.Current() == nil {
			continue
		}
		if am := w.work.Container(app.Current().AMContainer); am == nil || !am.Live() || am.Node != from {
			continue
		}
		on := w.byHost()
		w.send(w.jobs.Learn(in.App, app.User, in.Splits, func(host string) (records.NodeID, bool) {
			node, found := on[host]
			return node, found
		}))
	}
}

// byHost has the first running node of each host.
func (w *Warming) byHost() map[string]records.NodeID {
	out := make(map[string]records.NodeID, len(w.work.Nodes))
	for id, n := range w.work.Nodes {
		if other, found := out[id.Host]; n.State == pb.NodeState_NS_RUNNING && (!found || id.Port < other.Port) {
			out[id.Host] = id
		}
	}
	return out
}

// Asked tells nodes how many of a job's maps still wait for them, as its ApplicationMaster asks.
func (w *Warming) Asked(app records.ApplicationID, asks []*pb.ResourceRequest) {
	if !w.jobs.Knows(app) {
		return
	}
	for _, a := range asks {
		if a.GetPriority().GetPriority() != MapPriority {
			continue
		}
		if order, tell := w.jobs.Waiting(app, a.GetResourceName(), int(a.GetNumContainers())); tell {
			w.send([]Sent{order})
		}
	}
}

// End ends what nodes do for an application that has ended.
func (w *Warming) End(app records.ApplicationID) { w.send(w.jobs.End(app)) }

// send delivers orders once everything is committed.
func (w *Warming) send(orders []Sent) {
	if len(orders) == 0 {
		return
	}
	w.loop.AfterCommit(func() {
		for _, s := range orders {
			w.deliver(s.Node, s.Order)
		}
	})
}
