package leader

import (
	"github.com/sirupsen/logrus"

	"heddle/rm/leader/preemption"
	"heddle/rm/ledger"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/records"
)

// preempting warns ApplicationMasters of what preemption takes from them.
type preempting struct{ *core }

// preempted is a container that must end.
type preempted struct {
	id     records.ContainerID
	reason string
}

// Losses returns the containers that an application is to lose, by id.
func (pr *preempting) Losses(id records.ApplicationID) (out []preemption.Loss, err error) {
	err = pr.Do(func() error {
		if app := pr.work.Apps[id]; app != nil {
			out = preemption.Losses(app, handleOf, pr.sched.Loss)
		}
		return nil
	})
	return out, err
}

// preemptionLog is for a line about a container that preemption has chosen.
func (pr *preempting) preemptionLog(d *drive.Decision) *logrus.Entry {
	id := pr.sched.ContainerID(d.Container)
	return pr.Log.WithField("container", id).WithField("queue", pr.queueOf(d)).WithField("resource", d.Resource)
}

// logReservation logs what preemption does to a reservation.
func (pr *preempting) logReservation(d *drive.Decision) {
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

// queueOf returns the queue of the application that a decision is about.
func (pr *preempting) queueOf(d *drive.Decision) string {
	return pr.work.Apps[pr.byHandle[d.App].id].Queue
}

// tellPreempted tells an ApplicationMaster that it will lose a container.
func (pr *preempting) tellPreempted(d *drive.Decision) {
	soft := pr.byHandle[d.App]
	pr.preemptionLog(d).Info("to be preempted: " + d.Reason)
	soft.warnings.Add(pr.sched.ContainerID(d.Container))
	if soft.session != nil {
		soft.session.wake.Ring()
	}
}

// killPreempted ends a container, unless it has ended with another one.
func (cs *containers) killPreempted(p *preempted) {
	c := cs.work.Container(p.id)
	if c == nil || !c.Live() {
		return
	}
	cs.Log.WithField("container", c.ID).WithField("resource", c.Resource).Info("preempted: " + p.reason)
	cs.totals.Preempted(cs.work.Apps[c.ID.Attempt.App].Queue, c.Resource, cs.Time()-c.Allocated)
	cs.cleanUp(c)
	cs.containerEnded(c, records.ExitPreempted, "Container preempted by scheduler: "+p.reason)
}

// message returns what the answer to an ApplicationMaster's heartbeat says of preemption.
func (pr *preempting) message(soft *appSoft, attempt records.AttemptID) preemption.Message {
	return soft.warnings.Tell(attempt, pr.tree.Kind, pr.Settings.MinAllocation, func(id records.ContainerID) *ledger.Container {
		if c := pr.work.Container(id); c != nil && c.Live() {
			return c
		}
		return nil
	})
}
