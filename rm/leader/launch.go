package leader

import (
	"context"
	"fmt"
	"time"

	"heddle/rm/leader/refusal"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Launch is what starts an ApplicationMaster.
type Launch struct {
	Container Grant
	User      string
	Context   *pb.ApplicationSubmissionContext // not to be changed
	Submitted int64                            // when the application was, in ms since 1970
}

// pass makes the scheduler pass over hosts, and admit others again.
func (at *attempts) pass(soft *appSoft, over, again []string) {
	if len(over)+len(again) > 0 {
		at.sched.Apply(&eventlog.Event{Op: eventlog.UpdateBlacklist, App: soft.handle, Add: over, Remove: again})
	}
}

// launch tells a node to start the ApplicationMaster that it was chosen for, and admits the hosts again that were passed over for it. It is tried for a while, as the node may
// just be restarting; then the attempt fails, which isn't held against the application.
func (at *attempts) launch(app *ledger.Application, c *ledger.Container) {
	soft := at.apps[app.ID]
	at.pass(soft, nil, soft.launches.Admit())
	l := Launch{Container: session.GrantOf(c), User: app.User, Context: app.Context, Submitted: app.SubmitTime}
	at.AfterCommit(func() {
		at.Go(func(ctx context.Context) { at.tryLaunch(ctx, l) })
	})
}

const (
	launchPatience = 30 * time.Second
	launchPause    = 500 * time.Millisecond
)

func (at *attempts) tryLaunch(ctx context.Context, launch Launch) {
	log := at.Log.WithField("container", launch.Container.ID).WithField("node", launch.Container.Node)
	leading := ctx
	ctx, cancel := context.WithTimeout(ctx, launchPatience)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = at.Launcher.Launch(ctx, launch); err == nil || refusal.Is(err, refusal.Refused) {
			break
		}
		log.WithError(err).Warn("launching an ApplicationMaster failed, trying again")
		pause := time.NewTimer(launchPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	if leading.Err() != nil {
		return
	}
	if err != nil {
		log.WithError(err).Error("launching an ApplicationMaster failed")
	}
	_ = at.Do(func() error { // a deposed leader's successor launches again
		at.launched(launch.Container.ID, err)
		return nil
	})
}

func (at *attempts) launched(id records.ContainerID, failure error) {
	app := at.work.Apps[id.Attempt.App]
	if app == nil || app.State.Ended() {
		return
	}
	attempt := app.Current()
	if attempt == nil || attempt.AMContainer != id || attempt.State != ledger.AttemptAllocated {
		return
	}
	soft := at.apps[app.ID]
	if failure == nil {
		soft.launches.Launched()
		at.Enter(&ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: ledger.AttemptRef(attempt.ID)}})
		soft.session.seen.At(at.Now())
		return
	}
	excused := soft.launches.Failed(attempt.AMNode.Host, at.sched.OpenNodes())
	at.failAttempt(app, attempt, attemptEnd{
		diagnostics: fmt.Sprintf("Error launching %v. Got exception: %v", attempt.ID, failure),
		exit:        records.ExitAborted, excused: excused && !refusal.Is(failure, refusal.Refused),
	})
}

// stopAM tells the node to end the ApplicationMaster's container at once, rather than with its next heartbeat.
func (at *attempts) stopAM(app *ledger.Application, attempt *ledger.Attempt) {
	id := attempt.AMContainer
	c := app.Containers.Get(id)
	if c == nil || !c.Live() {
		return
	}
	node := c.Node
	at.AfterCommit(func() {
		at.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, launchPatience)
			defer cancel()
			if err := at.Launcher.Stop(ctx, node, id.Attempt, id); err != nil {
				at.Log.WithError(err).WithField("container", id).Info("stopping it is left to the node's next heartbeat")
			}
		})
	})
}

func (at *attempts) launchedAM(c *ledger.Container) bool {
	a := at.work.Attempt(c.ID.Attempt)
	return a != nil && a.State >= ledger.AttemptLaunched
}
