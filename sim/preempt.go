package sim

import (
	"errors"
	"time"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
)

// preemptible is a Scheduler whose containers can be preempted.
type preemptible interface {
	Snapshot(scheduler.Names) *preempt.Snapshot
	Unreserve(scheduler.ContainerHandle) bool
	MoveReservation(scheduler.ContainerHandle, scheduler.NodeHandle) bool
	MakeKillable(scheduler.ContainerHandle) bool
	Promise(scheduler.ContainerHandle, scheduler.AppHandle)
}

// preemption has rounds run while a Cluster runs.
type preemption struct {
	*Cluster
	sched    preemptible
	lazy     bool
	interval Time
	round    func(now int64, s *preempt.Snapshot) preempt.Round
}

// fairInterval is the time between rounds with fair queues.
const fairInterval = Time(time.Second)

// Preempt has containers preempted as the settings of queues say, if they do; nodes report with a heartbeat. It must be called before
// Run. A task whose container is preempted begins anew, on any node; jobs give nothing back before, and ApplicationMasters are
// spared.
func (c *Cluster) Preempt(t *queue.Tree, heartbeat time.Duration) error {
	s := &t.Settings
	p := preemption{Cluster: c}
	switch {
	case t.Kind == queue.Capacity && s.Preemption.Enabled:
		by := &preempt.Capacity{Settings: preempt.CapacityOf(&s.Preemption)}
		p.round, p.lazy, p.interval = by.Round, s.Preemption.Lazy, Time(s.Preemption.Interval)
	case t.Kind == queue.Fair && s.Fair.Preemption:
		by := &preempt.Fair{Settings: preempt.FairOf(&s.Fair, heartbeat)}
		p.round, p.interval = by.Round, fairInterval
	default:
		return nil
	}
	var ok bool
	if p.sched, ok = c.sched.(preemptible); !ok {
		return errors.New("the scheduler can't preempt")
	}
	if len(c.jobs) > 0 {
		c.engine.At(c.jobs[0].Submit+p.interval, p, 0)
	}
	return nil
}

// Handle runs a round, and has the next one wait for its time while anything else happens.
func (p preemption) Handle(int64) {
	r := p.round(p.engine.Now().Millis(), p.sched.Snapshot(names{p.Cluster}))
	for i := range r.Undo {
		p.sched.Unreserve(scheduler.ContainerHandle(r.Undo[i].Handle))
	}
	for _, m := range r.Move {
		p.sched.MoveReservation(scheduler.ContainerHandle(m.Handle), scheduler.NodeHandle(m.To))
	}
	for i := range r.Kill {
		if h := scheduler.ContainerHandle(r.Kill[i].Handle); p.lazy {
			p.sched.MakeKillable(h)
		} else {
			if i := r.Kill[i].For.ID; i > 0 {
				p.sched.Promise(h, p.states[i-1].app)
			}
			p.lose(h)
		}
	}
	if _, more := p.engine.Next(); more {
		p.engine.At(p.engine.Now()+p.interval, p, 0)
	}
}

// names says of containers what the scheduler doesn't know.
type names struct{ *Cluster }

func (n names) App(h scheduler.AppHandle) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: 1, ID: n.apps[h] + 1}
}

func (n names) Container(h scheduler.ContainerHandle, to *preempt.Container) bool {
	l, job := &n.lives[h], n.running[h]
	to.ID = records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: job + 1}, Attempt: 1}, ID: l.id}
	to.Since = l.begun.Millis()
	if to.AM = l.master; to.AM {
		to.Spared = true
	} else {
		j := &n.jobs[job]
		to.Priority = j.Stages[n.states[job].stage].Priority
	}
	return true
}

// lose ends the container of a task, and asks for another one.
func (c *Cluster) lose(h scheduler.ContainerHandle) {
	l, job := &c.lives[h], c.running[h]
	s := &c.states[job]
	st := &c.jobs[job].Stages[s.stage]
	c.metrics.lost(c.engine.Now() - l.begun)
	s.again = append(s.again, l.task)
	l.turn++
	c.release(h, st.Resource)
	c.ask(int64(s.stage), st.Priority, st.Resource, len(st.Tasks)-int(s.begun)+len(s.again))
	c.sched.UpdateAsks(s.app, c.asks)
}
