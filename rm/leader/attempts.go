package leader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
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

func sortByEnd(apps []*ledger.Application) {
	slices.SortFunc(apps, func(a, b *ledger.Application) int {
		if a.FinishTime != b.FinishTime {
			return int(a.FinishTime - b.FinishTime)
		}
		return a.ID.Compare(b.ID)
	})
}

// startAttempt begins the next attempt: it asks for a container, or, when the ApplicationMaster runs elsewhere, waits for
// it to register.
func (t *turn) startAttempt(app *ledger.Application) {
	id := records.AttemptID{App: app.ID, Attempt: 1}
	if last := app.Current(); last != nil {
		id.Attempt = last.ID.Attempt + 1
	}
	t.Enter(&ledgerpb.Command{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(id)}})
	soft := t.apps[app.ID]
	t.openSession(soft, id)
	clear(soft.asked)
	if app.Context.GetUnmanagedAm() {
		t.Enter(&ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: ledger.AttemptRef(id)}})
		return
	}
	t.avoid(soft)
	t.sched.UpdateAsks(soft.handle, soft.amAsks)
}

// avoid excludes the hosts that are shunned while an ApplicationMaster's container is asked for, and spare ends it once there is one.
func (t *turn) avoid(soft *appSoft) {
	if len(soft.shunned) > 0 {
		soft.avoided = slices.Clone(soft.shunned)
		t.sched.UpdateBlacklist(soft.handle, soft.avoided, nil)
	}
}

func (t *turn) spare(soft *appSoft) {
	if len(soft.avoided) > 0 {
		t.sched.UpdateBlacklist(soft.handle, nil, soft.avoided)
		soft.avoided = nil
	}
}

func (t *turn) openSession(soft *appSoft, id records.AttemptID) {
	soft.session = newAMSession(id)
	soft.session.seen.at(t.Now())
	session := soft.session
	t.AfterCommit(func() { t.sessions.putAM(session) })
}

// launch has a node start the ApplicationMaster that it was chosen for. It is tried for a while, as the node may just be
// restarting; then the attempt fails, which isn't held against the application.
func (t *turn) launch(app *ledger.Application, c *ledger.Container) {
	l := Launch{Container: t.grant(c), User: app.User, Context: app.Context, Submitted: app.SubmitTime}
	leader := t.Leader
	t.AfterCommit(func() {
		leader.Go(func(ctx context.Context) { leader.tryLaunch(ctx, l) })
	})
}

const (
	launchPatience = 30 * time.Second
	launchPause    = 500 * time.Millisecond
)

func (l *Leader) tryLaunch(ctx context.Context, launch Launch) {
	log := l.Log.WithField("container", launch.Container.ID).WithField("node", launch.Container.Node)
	leading := ctx
	ctx, cancel := context.WithTimeout(ctx, launchPatience)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = l.Launcher.Launch(ctx, launch); err == nil || IsReason(err, Refused) {
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
	_ = l.do(func(t *turn) error { // a deposed leader's successor launches again
		t.launched(launch.Container.ID, err)
		return nil
	})
}

func (t *turn) launched(id records.ContainerID, failure error) {
	app := t.work.Apps[id.Attempt.App]
	if app == nil || app.State.Ended() {
		return
	}
	attempt := app.Current()
	if attempt == nil || attempt.AMContainer != id || attempt.State != ledger.AttemptAllocated {
		return
	}
	soft := t.apps[app.ID]
	if failure == nil {
		soft.misfires = 0
		t.Enter(&ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: ledger.AttemptRef(attempt.ID)}})
		t.apps[app.ID].session.seen.at(t.Now())
		return
	}
	soft.misfires++
	t.shunForMaster(soft, attempt.AMNode.Host)
	t.failAttempt(app, attempt, attemptEnd{
		diagnostics: fmt.Sprintf("Error launching %v. Got exception: %v", attempt.ID, failure),
		exit:        records.ExitAborted, excused: !IsReason(failure, Refused) && soft.misfires <= maxMisfires,
	})
}

// maxMisfires is how many launches in a row may fail on nodes that don't answer before they count as the application's failures.
const maxMisfires = 10

// shunForMaster has an application's next ApplicationMaster started elsewhere than on a host on which that has failed, as long as a
// fifth of the nodes are left (Hadoop: yarn.am.blacklisting.disable-failure-threshold). The host's other containers aren't concerned.
func (t *turn) shunForMaster(soft *appSoft, host string) {
	soft.shunned = append(soft.shunned, host)
	if 5*len(soft.shunned) > 4*t.sched.OpenNodes() {
		soft.shunned = nil
	}
}

// attemptEnd says how an attempt ended.
type attemptEnd struct {
	state       pb.YarnApplicationAttemptState
	diagnostics string
	exit        int32
	excused     bool
}

// endAttempt ends the current attempt with its containers, unless they are to go on under the next one.
func (t *turn) endAttempt(app *ledger.Application, attempt *ledger.Attempt, end attemptEnd) {
	keep := end.state == pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED &&
		app.Context.GetKeepContainersAcrossApplicationAttempts()
	for c := range app.Containers.All() {
		if c.Live() && (c.AM || !keep) {
			t.free(c)
			t.cleanUp(c)
		}
	}
	soft := t.apps[app.ID]
	t.sched.ClearAsks(soft.handle)
	soft.told, soft.grants, soft.updated = nil, nil, nil
	soft.preempted, soft.warned = nil, 0
	if !keep {
		soft.completed = nil
	}
	t.Enter(&ledgerpb.Command{AttemptEnded: &ledgerpb.AttemptEnded{
		Attempt: ledger.AttemptRef(attempt.ID), State: int32(end.state), Diagnostics: end.diagnostics,
		ExitStatus: end.exit, Excused: end.excused, KeepContainers: keep,
	}})
	t.AfterCommit(func() { t.sessions.dropAM(attempt.ID) })
}

// failAttempt ends the current attempt as failed; the next one begins, unless there were too many.
func (t *turn) failAttempt(app *ledger.Application, attempt *ledger.Attempt, end attemptEnd) {
	end.state = pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED
	if app.Context.GetUnmanagedAm() {
		end.excused = false
	}
	t.Log.WithField("attempt", attempt.ID).WithField("exit", end.exit).WithField("excused", end.excused).
		WithField("diagnostics", end.diagnostics).Warn("attempt failed")
	t.endAttempt(app, attempt, end)
	failures := t.failures(app)
	if failures < app.MaxAttempts && !app.Context.GetUnmanagedAm() {
		t.startAttempt(app)
		return
	}
	t.endApp(app, pb.YarnApplicationState_FAILED, pb.FinalApplicationStatus_APP_FAILED, fmt.Sprintf(
		"Application %v failed %d times%s due to %s. Failing the application.",
		app.ID, failures, t.limits(app), end.diagnostics))
}

// limits words the limits of attempts as Hadoop does.
func (t *turn) limits(app *ledger.Application) string {
	var words string
	if validity := app.Context.GetAttemptFailuresValidityInterval(); validity > 0 {
		words = fmt.Sprintf(" in previous %d milliseconds", validity)
	}
	if global := t.Settings.GlobalMaxAttempts; global != app.MaxAttempts {
		words += fmt.Sprintf(" (global limit =%d; local limit is =%d)", global, app.MaxAttempts)
	}
	return words
}

// failures counts the failed attempts that count: not excused, and not before the validity interval.
func (t *turn) failures(app *ledger.Application) int32 {
	validity := app.Context.GetAttemptFailuresValidityInterval()
	var n int32
	for _, a := range app.Attempts {
		if a.State != ledger.AttemptFailed || a.Excused {
			continue
		}
		if validity > 0 && t.Time()-a.FinishTime > validity {
			continue
		}
		n++
	}
	return n
}

// excused reports whether an exit status is not the application's fault (Hadoop:
// RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry).
func excused(exit int32) bool {
	switch exit {
	case records.ExitPreempted, records.ExitAborted, records.ExitDisksFailed, records.ExitKilledByResourceManager:
		return true
	}
	return false
}

// amEnded takes note of the end of the current attempt's own container.
func (t *turn) amEnded(app *ledger.Application, attempt *ledger.Attempt, exit int32, diagnostics string) {
	if attempt.State == ledger.AttemptFinishing {
		t.finish(app, attempt, exit)
		return
	}
	t.failAttempt(app, attempt, attemptEnd{
		diagnostics: fmt.Sprintf("AM Container for %v exited with  exitCode: %d\nFailing this attempt.Diagnostics: %s"+
			"For more detailed output, check the application tracking page: %s Then click on links to logs of each attempt.\n",
			attempt.ID, exit, diagnostics, t.Settings.PageURL(app.ID)),
		exit: exit, excused: excused(exit),
	})
}

// finish ends an application whose ApplicationMaster has said farewell.
func (t *turn) finish(app *ledger.Application, attempt *ledger.Attempt, exit int32) {
	final, diagnostics := attempt.FinalStatus, attempt.Diagnostics
	t.endAttempt(app, attempt, attemptEnd{
		state: pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED, exit: exit,
	})
	t.endApp(app, pb.YarnApplicationState_FINISHED, final, diagnostics)
}

// stopAM has the node end the ApplicationMaster's container at once, rather than with its next heartbeat.
func (t *turn) stopAM(app *ledger.Application, attempt *ledger.Attempt) {
	id := attempt.AMContainer
	c := app.Containers.Get(id)
	if c == nil || !c.Live() {
		return
	}
	node, leader := c.Node, t.Leader
	t.AfterCommit(func() {
		leader.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, launchPatience)
			defer cancel()
			if err := leader.Launcher.Stop(ctx, node, id.Attempt, id); err != nil {
				leader.Log.WithError(err).WithField("container", id).Info("stopping it is left to the node's next heartbeat")
			}
		})
	})
}

// FailAttempt ends an attempt as failed on somebody's wish.
func (l *Leader) FailAttempt(id records.AttemptID) error {
	return l.do(func(t *turn) error {
		app, attempt, err := t.liveAttempt(id)
		if err != nil {
			if t.work.Apps[id.App] == nil {
				return refuse(NoSuchApplication, "Application with id '%v' doesn't exist in RM.", id.App)
			}
			return refuse(NoSuchAttempt, "ApplicationAttempt with id '%v' doesn't exist in RM.", id)
		}
		t.stopAM(app, attempt)
		t.failAttempt(app, attempt, attemptEnd{
			diagnostics: fmt.Sprintf("Attempt failed by user.Failing attempt %v. ", id), exit: records.ExitKilledByResourceManager,
		})
		return nil
	})
}
