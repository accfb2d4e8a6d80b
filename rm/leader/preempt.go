package leader

import (
	"slices"
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
	next     time.Time // of the next round; zero: with the next tick
	// Why containers are killable.
	killable map[records.ContainerID]string
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
		p.capacity.Settings = preempt.CapacityOf(&tree.Settings.Preemption)
		p.next = now.Add(p.capacity.Settings.Interval)
		r = p.capacity.Round(now.UnixMilli(), t.sched.Snapshot(t.preemptible()))
	case tree.Kind == queue.Fair && tree.Settings.Fair.Preemption:
		p.fair.Settings = preempt.FairOf(&tree.Settings.Fair, t.Settings.HeartbeatInterval)
		r = p.fair.Round(now.UnixMilli(), t.sched.Snapshot(t.preemptible()))
	default:
		p.next = time.Time{}
	}
	lazy := tree.Kind == queue.Capacity && tree.Settings.Preemption.Enabled && tree.Settings.Preemption.Lazy
	t.forgetKillable(lazy)
	for i := range r.Undo {
		v := &r.Undo[i]
		t.Log.WithField("application", v.App).WithField("queue", v.Queue).WithField("resource", v.Resource).
			Info("a reservation is preempted: " + v.Reason)
		t.sched.Unreserve(scheduler.ContainerHandle(v.Handle))
	}
	for _, m := range r.Move {
		if t.sched.MoveReservation(scheduler.ContainerHandle(m.Handle), scheduler.NodeHandle(m.To)) {
			t.Log.WithField("application", m.App).WithField("queue", m.Queue).Info("a reservation is moved: " + m.Reason)
		}
	}
	for i := range r.Kill {
		if lazy {
			t.makeKillable(&r.Kill[i])
		} else {
			t.killPreempted(&r.Kill[i])
		}
	}
	for i := range r.Tell {
		t.tellPreempted(&r.Tell[i])
	}
}

// wake is when a round is due, in ms; 0 if that is the next tick's matter.
func (p *preemption) wake() int64 {
	if p.next.IsZero() {
		return 0
	}
	return p.next.UnixMilli()
}

// makeKillable lets a container live on until its room is needed.
func (t *turn) makeKillable(v *preempt.Victim) {
	if !t.sched.MakeKillable(scheduler.ContainerHandle(v.Handle)) {
		return
	}
	preemptLog(t.Log, v).Info("may be killed when its room is needed: " + v.Reason)
	if t.preemption.killable == nil {
		t.preemption.killable = map[records.ContainerID]string{}
	}
	t.preemption.killable[v.ID] = v.Reason
}

// forgetKillable forgets killable containers that are gone, or all where containers aren't killed lazily.
func (t *turn) forgetKillable(lazy bool) {
	killable := t.preemption.killable
	if !lazy && len(killable) > 0 {
		t.sched.SpareKillable()
		clear(killable)
	}
	for id := range killable {
		if c := t.work.Container(id); c == nil || !c.Live() {
			delete(killable, id)
		}
	}
}

// killClaimed ends killable containers whose room the scheduler gives to others. It reports whether there were some.
func (t *turn) killClaimed(claimed []scheduler.ContainerHandle) bool {
	if len(claimed) == 0 {
		return false
	}
	for id := range t.preemption.killable {
		c := t.work.Container(id)
		if c == nil {
			continue
		}
		if h, ok := handleOf(c); !ok || !slices.Contains(claimed, h) {
			continue
		}
		t.endPreempted(c, t.preemption.killable[id]+"; its room is needed now")
		delete(t.preemption.killable, id)
	}
	return true
}

// Loss is a container that its application is to lose.
type Loss struct {
	Container records.ContainerID
	Until     int64 // when it is killed unless others give enough back, in ms since 1970; 0: when its room is needed
	Reason    string
}

// Losses are the containers that an application is to lose, by id.
func (l *Leader) Losses(id records.ApplicationID) (out []Loss, err error) {
	err = l.do(func(t *turn) error {
		if app := t.work.Apps[id]; app != nil {
			out = t.losses(app)
		}
		return nil
	})
	return out, err
}

func (t *turn) losses(app *ledger.Application) (out []Loss) {
	marked := t.preemption.capacity.Marked
	if t.Settings.Queues.Kind == queue.Fair {
		marked = t.preemption.fair.Marked
	}
	for c := range app.Containers.All() {
		if !c.Live() {
			continue
		}
		id := c.ID
		if reason, ok := t.preemption.killable[id]; ok {
			out = append(out, Loss{Container: id, Reason: reason})
		} else if until, reason, ok := marked(id); ok {
			out = append(out, Loss{Container: id, Until: until, Reason: reason})
		}
	}
	return out
}

// preemptible knows the containers that can be taken, by the scheduler's handles.
type preemptible struct {
	*turn
	containers map[scheduler.ContainerHandle]*ledger.Container
}

func (t *turn) preemptible() preemptible {
	p := preemptible{turn: t, containers: map[scheduler.ContainerHandle]*ledger.Container{}}
	for _, n := range t.work.Nodes {
		for _, c := range n.Containers {
			if h, ok := handleOf(c); ok {
				p.containers[h] = c
			}
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
	to.ID, to.Priority, to.AM, to.Since = c.ID, c.Priority, c.AM, c.Allocated
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
	if soft := t.apps[v.For]; soft != nil {
		if h, ok := handleOf(c); ok {
			t.sched.Promise(h, soft.handle)
		}
	}
	t.endPreempted(c, v.Reason)
}

// endPreempted ends a live container.
func (t *turn) endPreempted(c *ledger.Container, reason string) {
	t.Log.WithField("container", c.ID).WithField("resource", c.Resource).Info("preempted: " + reason)
	t.cleanUp(c)
	t.containerEnded(c, records.ExitPreempted, "Container preempted by scheduler: "+reason)
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
