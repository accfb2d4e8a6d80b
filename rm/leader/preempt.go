package leader

import (
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// preemption keeps what is between two rounds of preemption. A new leader begins anew, with a new wait for all.
type preemption struct {
	capacity preempt.Capacity
	fair     preempt.Fair
	next     time.Time // of the next round
}

// Preemption is what an ApplicationMaster is told of containers that it will lose.
type Preemption struct {
	// Strict says that these very containers will go; otherwise any of the same size will do as well.
	Strict     bool
	Containers []records.ContainerID
	// Minimum times Count is what is to be given back, in units of the smallest container, unless it is strict.
	Minimum records.Resource
	Count   int32
	New     bool // some of the containers weren't told of before
}

// preempt runs a round when one is due: it tells ApplicationMasters what they will lose, and takes what they were told of
// long enough ago.
func (t *turn) preempt(now time.Time) {
	p, tree := &t.preemption, t.Settings.Queues
	if now.Before(p.next) {
		return
	}
	var r preempt.Round
	switch {
	case tree.Kind == queue.Capacity && tree.Settings.Preemption.Enabled:
		p.capacity.Settings = capacityPreemption(&tree.Settings.Preemption)
		p.next = now.Add(p.capacity.Settings.Interval)
		r = p.capacity.Round(now.UnixMilli(), t.sched.Snapshot(t.preemptible()))
	case tree.Kind == queue.Fair && tree.Settings.Fair.Preemption:
		f := &tree.Settings.Fair
		p.fair.Settings = preempt.FairSettings{
			Utilization: f.UtilizationThreshold, Wait: f.Wait,
			Recheck: f.Wait + 4*t.Settings.HeartbeatInterval + f.StarvationInterval,
		}
		r = p.fair.Round(now.UnixMilli(), t.sched.Snapshot(t.preemptible()))
	default:
		return
	}
	for i := range r.Undo {
		v := &r.Undo[i]
		t.Log.WithField("application", v.App).WithField("queue", v.Queue).WithField("resource", v.Resource).
			Info("a reservation is preempted: " + v.Reason)
		t.sched.Unreserve(scheduler.ContainerHandle(v.Handle))
	}
	for i := range r.Kill {
		t.killPreempted(&r.Kill[i])
	}
	for i := range r.Tell {
		t.tellPreempted(&r.Tell[i])
	}
}

func capacityPreemption(s *queue.Preemption) preempt.CapacitySettings {
	return preempt.CapacitySettings{
		Interval: s.Interval, Wait: s.Wait, PerRound: s.PerRound, IgnoredOver: s.Ignored, Termination: s.Natural,
		ObserveOnly: s.ObserveOnly, Balance: s.Balance, BalanceWait: s.BalanceWait, Conservative: s.ConservativeDRF,
		Intra: preempt.IntraSettings{
			Enabled: s.Intra.Enabled, PriorityFirst: s.Intra.PriorityFirst, MostOfQueue: s.Intra.Most, Threshold: s.Intra.Threshold,
			Conservative: s.Intra.ConservativeDRF,
		},
	}
}

// preemptible knows the containers that can be taken, by the scheduler's handles.
type preemptible struct {
	*turn
	containers map[scheduler.ContainerHandle]*ledger.Container
}

func (t *turn) preemptible() preemptible {
	p := preemptible{turn: t, containers: make(map[scheduler.ContainerHandle]*ledger.Container, len(t.containers))}
	for id, h := range t.containers {
		if c := t.work.Container(id); c != nil && c.Live() {
			p.containers[h] = c
		}
	}
	return p
}

func (p preemptible) App(h scheduler.AppHandle) records.ApplicationID { return p.byHandle[h].id }

func (p preemptible) Container(h scheduler.ContainerHandle, to *preempt.Container) bool {
	c := p.containers[h]
	if c == nil {
		return false
	}
	to.ID, to.Priority, to.AM = c.ID, c.Priority, c.AM
	if app := p.work.Apps[c.ID.Attempt.App]; app != nil {
		to.Spared = app.KillRequested || app.Context.GetUnmanagedAm() && c.AM
	}
	return true
}

func preemptLog(log *logrus.Entry, v *preempt.Victim) *logrus.Entry {
	return log.WithField("container", v.ID).WithField("queue", v.Queue).WithField("resource", v.Resource)
}

// tellPreempted has an ApplicationMaster learn that it will lose a container.
func (t *turn) tellPreempted(v *preempt.Victim) {
	soft := t.apps[v.App]
	if soft == nil {
		return
	}
	preemptLog(t.Log, v).Info("to be preempted: " + v.Reason)
	soft.preempted = append(soft.preempted, v.ID)
	if soft.session != nil {
		soft.session.wakeUp()
	}
}

// killPreempted takes a container away.
func (t *turn) killPreempted(v *preempt.Victim) {
	c := t.work.Container(v.ID)
	if c == nil || !c.Live() {
		return
	}
	preemptLog(t.Log, v).Info("preempted: " + v.Reason)
	t.cleanUp(c)
	t.containerEnded(c, records.ExitPreempted, "Container preempted by scheduler")
}

// preemptionOf is what an ApplicationMaster is told with its heartbeat: under a Capacity tree once of each container, under a
// Fair tree again and again while they live (Hadoop: FiCaSchedulerApp.getAllocation, FSAppAttempt.getPreemptionContainerIds).
func (t *turn) preemptionOf(soft *appSoft, attempt records.AttemptID) (p Preemption) {
	var lost records.Resource
	p.New = len(soft.preempted) > soft.warned
	defer func() { soft.warned = len(soft.preempted) }()
	for _, id := range soft.preempted {
		if c := t.work.Container(id); c != nil && c.Live() && id.Attempt == attempt {
			p.Containers = append(p.Containers, id)
			lost = lost.Add(c.Resource)
		}
	}
	soft.preempted = nil
	if len(p.Containers) == 0 {
		return p
	}
	if p.Strict = t.Settings.Queues.Kind == queue.Fair; p.Strict {
		soft.preempted = p.Containers
		return p
	}
	p.Minimum = t.Settings.MinAllocation
	for i, n := range p.Minimum {
		if n > 0 {
			p.Count = max(p.Count, int32((lost[i]+n-1)/n))
		}
	}
	return p
}
