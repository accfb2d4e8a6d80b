package placement

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/queue/label"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/records"
)

// Move puts a live application into another queue, and returns that queue's path. Refusals have the words of the YARN scheduler
// whose queues these are.
func (p *Placement) Move(id records.ApplicationID, name string) (path string, err error) {
	err = p.loop.Do(func() error {
		app := p.work.Apps[id]
		if app != nil && app.State.Ended() {
			return refusal.New(refusal.Refused, "App in %v state cannot be moved.", app.State)
		}
		if app, err = p.cfg.Apps.Live(id); err != nil {
			return err
		}
		if path, err = p.target(app, name); err != nil || app.Queue == path {
			return err
		}
		p.loop.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Queue: proto.String(path),
		}})
		if h, _, there := p.cfg.Apps.App(id); there {
			p.cfg.Scheduler.Apply(&eventlog.Event{Op: eventlog.MoveApp, App: h, Queue: path})
		}
		return nil
	})
	return path, err
}

// target finds the queue that an application may be moved to.
func (p *Placement) target(app *ledger.Application, name string) (path string, err error) {
	tree := p.cfg.Queues()
	if tree.Kind == queue.FIFO {
		return "", refusal.New(refusal.Refused, "FifoScheduler does not support pre-validation of moving apps between queues")
	}
	q, known := tree.Find(name)
	if known {
		q = q.Entrance()
	}
	switch {
	case tree.Kind == queue.Fair:
		// Unlike a submission, a move makes no queue, but it may lead to one that was made for another application.
		to := tree.Path(name)
		if at, there := p.cfg.Scheduler.Queue(to); !there || !at.Leaf {
			return "", refusal.New(refusal.Refused, "Target queue %s not found or is not a leaf queue.", name)
		}
		return to, p.fairMove(app, to)
	case name == "" || !known:
		return "", refusal.New(refusal.Refused, "The specified Queue: %s doesn't exist", name)
	case !q.Leaf():
		return "", refusal.New(refusal.Refused, "The specified Queue: %s is not a Leaf Queue.", name)
	case q.Path == app.Queue:
		return q.Path, nil
	}
	if lacking := label.Beyond(p.labelsOf(app.ID), q.Labels); len(lacking) > 0 {
		return "", refusal.New(refusal.Refused, "Specified queue=%s can't satisfy following apps label expressions =[%s] accessible node labels =[%s]",
			q.Path, strings.Join(lacking, ", "), strings.Join(q.Labels, ", "))
	}
	if err := q.Admits(queue.App{ID: app.ID.String()}); err != nil {
		return "", refusal.New(refusal.Refused, "%v", err)
	}
	if against := p.Full(app.ID, app.User, q.Path); against != "" {
		return "", refusal.New(refusal.Refused, "%s", against)
	}
	return q.Path, nil
}

// labelsOf returns the labels that an application asks for, or has asked for (Hadoop: CapacityScheduler.checkQueuePartition).
func (p *Placement) labelsOf(id records.ApplicationID) (names []string) {
	h, _, there := p.cfg.Apps.App(id)
	if !there {
		return nil
	}
	for _, u := range p.cfg.Scheduler.UsesOf(h) {
		if u.Asked {
			names = append(names, u.Label)
		}
	}
	return names
}

// fairMove refuses to move an application that runs into a queue in which it would not. It checks the limits of the queues to which the
// application doesn't count yet (Hadoop: FairScheduler.verifyMoveDoesNotViolateConstraints).
func (p *Placement) fairMove(app *ledger.Application, to string) error {
	if app.State != ledger.AppRunning {
		return nil
	}
	counted := map[string]bool{}
	for q, ok := p.cfg.Scheduler.Queue(app.Queue); ok; q, ok = p.cfg.Scheduler.Queue(q.Parent) {
		counted[q.Path] = true
	}
	for q, ok := p.cfg.Scheduler.Queue(to); ok && !counted[q.Path]; q, ok = p.cfg.Scheduler.Queue(q.Parent) {
		const against = "Moving app attempt %v to queue %s would violate queue %s constraints on queue %s"
		switch {
		case q.Queue != nil && q.Runnable >= int(q.Queue.MaxParallelApps):
			return refusal.New(refusal.Refused, against, app.Current().ID, to, "maxRunningApps", q.Path)
		case !q.Used.Add(app.Used).FitsIn(q.Maximum):
			return refusal.New(refusal.Refused, against, app.Current().ID, to, "maxShare", q.Path)
		}
	}
	return nil
}
