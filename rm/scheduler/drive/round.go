package drive

import (
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// fairInterval is the time between rounds with Fair queues, in ms.
const fairInterval = 1000

// note is the reason for a decision on a reservation that the scheduler announces with the next call of Schedule.
type note struct {
	kind      scheduler.DecisionKind
	container scheduler.ContainerHandle // that is unreserved
	node      scheduler.NodeHandle      // that is reserved instead of another one
	reason    string
}

// round runs a round of preemption, if the settings of the queues ask for rounds. It reports whether something may have changed.
func (d *Driver) round() bool {
	d.next = 0
	var rounds []preempt.Round
	var snaps []*preempt.Snapshot
	lazy := false
	switch s := &d.tree.Settings; {
	case d.tree.Kind == queue.Capacity && s.Preemption.Enabled:
		settings := preempt.CapacityOf(&s.Preemption)
		d.next = d.now + max(settings.Interval.Milliseconds(), 1)
		lazy = s.Preemption.Lazy
		if idle(d) {
			return false
		}
		snaps = d.sus.snapshots()
		var chosen records.Resource
		for i, snap := range snaps {
			if i == len(d.capacity) {
				d.capacity = append(d.capacity, preempt.Capacity{})
			}
			d.capacity[i].Settings = settings
			snap.Chosen = chosen
			rounds = append(rounds, d.capacity[i].Round(d.now, snap))
			chosen = chosen.Add(rounds[i].Chosen)
		}
	case d.tree.Kind == queue.Fair && s.Fair.Preemption:
		d.fair.Settings = preempt.FairOf(&s.Fair, d.cfg.Heartbeat)
		d.next = d.now + fairInterval
		snaps = d.sus.snapshots()
		rounds = append(rounds, d.fair.Round(d.now, snaps[0]))
	}
	spare := !lazy && len(d.killable) > 0
	if spare {
		d.SpareKillable()
		clear(d.killable)
	}
	for i := range rounds {
		carry(d, &rounds[i], lazy)
	}
	for _, snap := range snaps {
		if len(d.sus.nodes) > 0 && d.Suspends() {
			d.sus.suspend(snap)
		}
	}
	return spare || d.next > 0
}

// idle reports whether a round with Capacity queues would decide nothing: no request waits, and no round before has begun anything. It
// spares the snapshot, which goes through all containers.
func idle(d *Driver) bool {
	if d.Waits() || len(d.killable) > 0 || d.Suspends() {
		return false
	}
	for i := range d.capacity {
		if d.capacity[i].Marks() > 0 {
			return false
		}
	}
	return true
}

// snapshots are of all partitions, each of which has a round of its own. Where containers can only be killed, a round completes them if it has to take any: most
// rounds of a busy cluster take none.
func (x *suspender) snapshots() []*preempt.Snapshot {
	if d := x.d; d.tree.Kind == queue.Capacity && len(d.killable) == 0 && !d.Suspends() {
		return d.SnapshotsOfQueues(names{d})
	}
	all := x.d.Snapshots(names{x.d})
	for i := range all {
		all[i] = x.prepare(all[i])
	}
	return all
}

// carry carries out what a round has decided.
func carry(d *Driver, r *preempt.Round, lazy bool) {
	d.reserve(r.Undo, r.Move)
	for i := range r.Kill {
		if v := &r.Kill[i]; lazy {
			d.makeKillable(v)
		} else {
			d.kill(v)
		}
	}
	for i := range r.Tell {
		d.decide(Tell, &r.Tell[i])
	}
}

// reserve undoes and moves reservations. The scheduler announces that itself; only the reasons are missing then.
func (d *Driver) reserve(undo []preempt.Victim, move []preempt.Move) {
	for i := range undo {
		v := &undo[i]
		if h := scheduler.ContainerHandle(v.Handle); d.Of(h).Unreserve(h) {
			d.notes = append(d.notes, note{kind: scheduler.Unreserve, container: h, reason: v.Reason})
		}
	}
	for i := range move {
		m := &move[i]
		if to := scheduler.NodeHandle(m.To); d.Of(scheduler.ContainerHandle(m.Handle)).MoveReservation(scheduler.ContainerHandle(m.Handle), to) {
			d.notes = append(d.notes, note{kind: scheduler.Reserve, node: to, reason: m.Reason})
		}
	}
}

// noted returns the reason for what the scheduler has announced, if a round has caused it.
func (d *Driver) noted(x *scheduler.Decision) string {
	for i := range d.notes {
		n := &d.notes[i]
		if n.kind == x.Kind && n.reason != "" &&
			(x.Kind == scheduler.Unreserve && n.container == x.Container || x.Kind == scheduler.Reserve && n.node == x.Node) {
			reason := n.reason
			n.reason = ""
			return reason
		}
	}
	return ""
}

// makeKillable lets a container live on until its room is needed.
func (d *Driver) makeKillable(v *preempt.Victim) {
	if h := scheduler.ContainerHandle(v.Handle); d.MakeKillable(h) {
		d.killable[h] = v.Reason
		d.decide(Killable, v)
	}
}

// kill takes a container. Its room goes to the application that it is taken for.
func (d *Driver) kill(v *preempt.Victim) {
	if to, there := d.byID[v.For]; there {
		d.PreemptFor(scheduler.ContainerHandle(v.Handle), to)
	}
	d.decide(Kill, v)
	d.kills++
}

func (d *Driver) decide(k Kind, v *preempt.Victim) {
	h := scheduler.ContainerHandle(v.Handle)
	d.out = append(d.out, Decision{ // it may have grown since it was chosen
		Kind: k, Container: h, App: d.containers[h].app, Resource: d.Claim(h), Priority: d.containers[h].priority, Reason: v.Reason,
	})
}

// Loss says of a live container whether preemption has chosen it, why, and when it is killed unless others are given back (ms);
// 0 means that it is killed when its room is needed.
func (d *Driver) Loss(h scheduler.ContainerHandle) (until int64, reason string, ok bool) {
	if reason, ok = d.killable[h]; ok {
		return 0, reason, true
	}
	id := d.ContainerID(h)
	if d.tree.Kind == queue.Fair {
		return d.fair.Marked(id)
	}
	for i := range d.capacity {
		if until, reason, ok = d.capacity[i].Marked(id); ok {
			break
		}
	}
	return until, reason, ok
}
