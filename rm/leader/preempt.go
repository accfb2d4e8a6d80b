package leader

import (
	"github.com/sirupsen/logrus"

	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// preemption tells ApplicationMasters what they will lose, and takes it.
type preemption struct {
	*core
	containers *containers
}

// Preemption tells an ApplicationMaster which containers it will lose.
type Preemption struct {
	// Strict says that these very containers will go; otherwise any of the same size will do as well.
	Strict     bool
	Containers []records.ContainerID
	// Minimum times Count is what is to be given back, in units of the smallest container, unless it is strict.
	Minimum records.Resource
	Count   int32
	New     bool // the ApplicationMaster learns of some of the containers for the first time
}

// preempted is a container that has to end.
type preempted struct {
	id     records.ContainerID
	reason string
}

// Loss is a container that its application is to lose.
type Loss struct {
	Container records.ContainerID
	Until     int64 // when it is killed unless others give enough back, in ms since 1970; 0: when its room is needed
	Reason    string
}

// Losses are the containers that an application is to lose, by id.
func (pr *preemption) Losses(id records.ApplicationID) (out []Loss, err error) {
	err = pr.Do(func() error {
		if app := pr.work.Apps[id]; app != nil {
			out = pr.losses(app)
		}
		return nil
	})
	return out, err
}

func (pr *preemption) losses(app *ledger.Application) (out []Loss) {
	for c := range app.Containers.All() {
		h, known := handleOf(c)
		if !c.Live() || !known {
			continue
		}
		if until, reason, ok := pr.sched.Loss(h); ok {
			out = append(out, Loss{Container: c.ID, Until: until, Reason: reason})
		}
	}
	return out
}

// preemptionLog is for a line about a container that preemption has chosen.
func (pr *preemption) preemptionLog(d *drive.Decision) *logrus.Entry {
	id := pr.sched.ContainerID(d.Container)
	return pr.Log.WithField("container", id).WithField("queue", pr.queueOf(d)).WithField("resource", d.Resource)
}

// logReservation logs what preemption does to a reservation.
func (pr *preemption) logReservation(d *drive.Decision) {
	soft := pr.byHandle[d.App]
	if d.Reason == "" || soft == nil { // it may have ended with a container that the same round has killed
		return
	}
	what := "a reservation is preempted: "
	if d.Kind == drive.Reserve {
		what = "a reservation is moved: "
	}
	pr.Log.WithField("application", soft.id).WithField("queue", pr.queueOf(d)).WithField("resource", d.Resource).Info(what + d.Reason)
}

// queueOf is the queue of the application that a decision is about.
func (pr *preemption) queueOf(d *drive.Decision) string {
	return pr.work.Apps[pr.byHandle[d.App].id].Queue
}

// tellPreempted has an ApplicationMaster learn that it will lose a container.
func (pr *preemption) tellPreempted(d *drive.Decision) {
	soft := pr.byHandle[d.App]
	pr.preemptionLog(d).Info("to be preempted: " + d.Reason)
	soft.preempted = append(soft.preempted, pr.sched.ContainerID(d.Container))
	if soft.session != nil {
		soft.session.wake.Ring()
	}
}

// killPreempted ends a container, unless it has ended with another one.
func (pr *preemption) killPreempted(p *preempted) {
	c := pr.work.Container(p.id)
	if c == nil || !c.Live() {
		return
	}
	pr.Log.WithField("container", c.ID).WithField("resource", c.Resource).Info("preempted: " + p.reason)
	pr.containers.cleanUp(c)
	pr.containers.containerEnded(c, records.ExitPreempted, "Container preempted by scheduler: "+p.reason)
}

// preemptionOf is what the answer to an ApplicationMaster's heartbeat says of preemption. A Capacity tree announces each container once,
// a Fair tree again and again while it lives (Hadoop: FiCaSchedulerApp.getAllocation, FSAppAttempt.getPreemptionContainerIds).
func (pr *preemption) preemptionOf(soft *appSoft, attempt records.AttemptID) (p Preemption) {
	var lost records.Resource
	p.New = len(soft.preempted) > soft.warned
	defer func() { soft.warned = len(soft.preempted) }()
	for _, id := range soft.preempted {
		if c := pr.work.Container(id); c != nil && c.Live() && id.Attempt == attempt {
			p.Containers = append(p.Containers, id)
			lost = lost.Add(c.Resource)
		}
	}
	soft.preempted = nil
	if len(p.Containers) == 0 {
		return p
	}
	if p.Strict = pr.Settings.Queues.Kind == queue.Fair; p.Strict {
		soft.preempted = p.Containers
		return p
	}
	p.Minimum = pr.Settings.MinAllocation
	for i, n := range p.Minimum {
		if n > 0 {
			p.Count = max(p.Count, int32((lost[i]+n-1)/n))
		}
	}
	return p
}
