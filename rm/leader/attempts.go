package leader

import (
	"fmt"

	"heddle/rm/leader/failures"
	"heddle/rm/leader/refusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// attempts begin, launch their ApplicationMasters and end.
type attempts struct {
	*core
	containers *containers
	endApp     func(*ledger.Application, pb.YarnApplicationState, pb.FinalApplicationStatus, string)
}

// startAttempt begins the next attempt: it asks for a container, or, when the ApplicationMaster runs elsewhere, waits for it to register.
func (at *attempts) startAttempt(app *ledger.Application) {
	id := records.AttemptID{App: app.ID, Attempt: 1}
	if last := app.Current(); last != nil {
		id.Attempt = last.ID.Attempt + 1
	}
	at.Enter(&ledgerpb.Command{AttemptStarted: &ledgerpb.AttemptStarted{Attempt: ledger.AttemptRef(id)}})
	soft := at.apps[app.ID]
	at.openSession(soft, id)
	soft.asked.Clear()
	if app.Context.GetUnmanagedAm() {
		at.Enter(&ledgerpb.Command{AttemptLaunched: &ledgerpb.AttemptLaunched{Attempt: ledger.AttemptRef(id)}})
		return
	}
	at.pass(soft, soft.launches.Exclude(), nil)
	at.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: soft.handle, Asks: soft.amAsks})
}

func (at *attempts) openSession(soft *appSoft, id records.AttemptID) {
	soft.session = newAMSession(id, at.work.Apps[id.App].User)
	soft.session.seen.At(at.Now())
	soft.box.Open(soft.session.wake)
	session := soft.session
	at.AfterCommit(func() { at.masterSessions.Put(id, session) })
}

// attemptEnd says how an attempt ended.
type attemptEnd struct {
	state       pb.YarnApplicationAttemptState
	diagnostics string
	exit        int32
	excused     bool
}

// endAttempt ends the current attempt with its containers, unless they are to continue under the next one.
func (at *attempts) endAttempt(app *ledger.Application, attempt *ledger.Attempt, end attemptEnd) {
	keep := end.state == pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED &&
		app.Context.GetKeepContainersAcrossApplicationAttempts()
	for c := range app.Containers.All() {
		if c.Live() && (c.AM || !keep) {
			at.containers.free(c)
			at.containers.cleanUp(c)
		}
	}
	soft := at.apps[app.ID]
	at.sched.Apply(&eventlog.Event{Op: eventlog.ClearAsks, App: soft.handle})
	soft.wishes.Clear()
	soft.box.EndAttempt(keep)
	at.swaps.Abandon(app)
	soft.warnings.Clear()
	at.Enter(&ledgerpb.Command{AttemptEnded: &ledgerpb.AttemptEnded{
		Attempt: ledger.AttemptRef(attempt.ID), State: int32(end.state), Diagnostics: end.diagnostics,
		ExitStatus: end.exit, Excused: end.excused, KeepContainers: keep,
	}})
	at.AfterCommit(func() { at.masterSessions.Drop(attempt.ID) })
}

// failAttempt ends the current attempt as failed; the next one begins, unless there were too many.
func (at *attempts) failAttempt(app *ledger.Application, attempt *ledger.Attempt, end attemptEnd) {
	end.state = pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED
	end.excused = end.excused && !app.Context.GetUnmanagedAm()
	at.Log.WithField("attempt", attempt.ID).WithField("exit", end.exit).WithField("excused", end.excused).
		WithField("diagnostics", end.diagnostics).Warn("attempt failed")
	at.endAttempt(app, attempt, end)
	failed := failures.Count(app, at.Time())
	if failed < app.MaxAttempts && !app.Context.GetUnmanagedAm() {
		at.startAttempt(app)
		return
	}
	at.endApp(app, pb.YarnApplicationState_FAILED, pb.FinalApplicationStatus_APP_FAILED, fmt.Sprintf(
		"Application %v failed %d times%s due to %s. Failing the application.",
		app.ID, failed, failures.Limits(app, at.Settings.GlobalMaxAttempts), end.diagnostics))
}

// masterEnded handles the end of the current attempt's own container.
func (at *attempts) masterEnded(app *ledger.Application, attempt *ledger.Attempt, exit int32, diagnostics string) {
	if attempt.State == ledger.AttemptFinishing {
		at.finish(app, attempt, exit)
		return
	}
	at.failAttempt(app, attempt, attemptEnd{
		diagnostics: fmt.Sprintf("AM Container for %v exited with  exitCode: %d\nFailing this attempt.Diagnostics: %s"+
			"For more detailed output, check the application tracking page: %s Then click on links to logs of each attempt.\n",
			attempt.ID, exit, diagnostics, at.Settings.PageURL(app.ID)),
		exit: exit, excused: failures.Excused(exit),
	})
}

// finish ends an application whose ApplicationMaster has unregistered.
func (at *attempts) finish(app *ledger.Application, attempt *ledger.Attempt, exit int32) {
	final, diagnostics := attempt.FinalStatus, attempt.Diagnostics
	at.endAttempt(app, attempt, attemptEnd{state: pb.YarnApplicationAttemptState_APP_ATTEMPT_FINISHED, exit: exit})
	at.endApp(app, pb.YarnApplicationState_FINISHED, final, diagnostics)
}

// FailAttempt ends an attempt as failed at a caller's request.
func (at *attempts) FailAttempt(id records.AttemptID) error {
	return at.Do(func() error {
		app, attempt, err := at.liveAttempt(id)
		if err != nil {
			if at.work.Apps[id.App] == nil {
				return refusal.New(refusal.NoSuchApplication, "Application with id '%v' doesn't exist in RM.", id.App)
			}
			return refusal.New(refusal.NoSuchAttempt, "ApplicationAttempt with id '%v' doesn't exist in RM.", id)
		}
		at.stopAM(app, attempt)
		at.failAttempt(app, attempt, attemptEnd{
			diagnostics: fmt.Sprintf("Attempt failed by user.Failing attempt %v. ", id), exit: records.ExitKilledByResourceManager,
		})
		return nil
	})
}
