package leader

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/asktime"
	"heddle/rm/leader/constraints"
	"heddle/rm/leader/division"
	"heddle/rm/leader/failures"
	"heddle/rm/leader/hints"
	"heddle/rm/leader/logstate"
	"heddle/rm/leader/pastapps"
	"heddle/rm/leader/placement"
	"heddle/rm/leader/preemption"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/request"
	"heddle/rm/leader/session"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// applications are submitted, changed and ended here.
type applications struct {
	*core
	attempts   *attempts
	containers *containers
	placement  *placement.Placement
	requests   *request.Checker
	ended      pastapps.Apps
	seq        int64 // of the last application that the scheduler has got
}

// appSoft is what the leader alone knows of a live application.
type appSoft struct {
	id        records.ApplicationID
	handle    scheduler.AppHandle
	amAsks    []scheduler.Ask  // for the ApplicationMaster's container
	granted   []drive.Decision // that aren't entered yet
	session   *amSession       // of the current attempt
	asked     asktime.Times
	nodes     map[records.NodeID]bool // that have, or had, containers of it
	longTasks bool
	launches  failures.Launches // of its ApplicationMasters
	// inherited: an earlier leader set Expires.
	inherited bool
	progress  float32 // as the driver knows it
	told      hints.Told

	wishes   constraints.Wishes
	box      session.MasterBox // for the ApplicationMaster's next heartbeat
	warnings preemption.Warnings
}

// NeverSuspend is the tag of applications whose containers preemption doesn't suspend, as they can't be suspended for long.
const NeverSuspend = "never-suspend"

func (as *applications) addApp(app *ledger.Application, asks []scheduler.Ask) *appSoft {
	as.seq++
	submitted := eventlog.Submitted(drive.AppSpec{
		AppSpec: scheduler.AppSpec{
			Priority: app.Priority, Seq: as.seq, Queue: app.Queue, User: app.User, Type: app.Context.GetApplicationType(),
			AM: request.MasterSize(asks), Label: request.MasterLabel(asks),
		},
		ID: app.ID, SpareMaster: app.Context.GetUnmanagedAm(), NeverSuspend: slices.Contains(app.Context.GetApplicationTags(), NeverSuspend),
	})
	as.sched.Apply(&submitted)
	a := &appSoft{
		id: app.ID, handle: submitted.App, amAsks: asks, nodes: map[records.NodeID]bool{}, box: session.NewMasterBox(&as.nodeNews),
	}
	if as.Settings.Constraints.On() {
		as.sched.Apply(&eventlog.Event{Op: eventlog.NameApp, App: a.handle, Name: app.ID.String(), Add: app.Context.GetApplicationTags()})
	}
	var err error
	if a.longTasks, err = as.Settings.Division.Long(app.Context, app.Queue); err != nil {
		as.Log.WithField("application", app.ID).WithError(err).Warn("invalid task time; treating tasks as long")
	}
	division.Mark(a.amAsks, a.longTasks)
	as.apps[app.ID] = a
	as.byHandle[a.handle] = a
	as.totals.Submitted(app.Queue)
	as.events.appBegan(app)
	return a
}

// Kill ends an application. It reports that it has ended; only an unknown one is refused.
func (as *applications) Kill(id records.ApplicationID, diagnostics string) error {
	return as.Do(func() error {
		app := as.work.Apps[id]
		if app == nil {
			return refusal.New(refusal.NoSuchApplication, "Trying to kill an absent application %v", id)
		}
		if !app.State.Ended() {
			as.kill(app, diagnostics)
		}
		return nil
	})
}

func (as *applications) kill(app *ledger.Application, diagnostics string) {
	if attempt := app.Current(); attempt != nil && !attempt.State.Ended() {
		as.attempts.stopAM(app, attempt)
		as.attempts.endAttempt(app, attempt, attemptEnd{
			state: pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, diagnostics: diagnostics,
			exit: records.ExitKilledByResourceManager,
		})
	}
	as.endApp(app, pb.YarnApplicationState_KILLED, pb.FinalApplicationStatus_APP_KILLED, diagnostics)
}

// endApp ends an application whose last attempt has ended, and cleans up behind it.
func (as *applications) endApp(
	app *ledger.Application, state pb.YarnApplicationState, final pb.FinalApplicationStatus, diagnostics string,
) {
	soft := as.apps[app.ID]
	if soft != nil {
		as.containers.releaseAll(app)
		as.sched.Apply(&eventlog.Event{Op: eventlog.RemoveApp, App: soft.handle})
		delete(as.byHandle, soft.handle)
		delete(as.apps, app.ID)
	}
	as.Enter(&ledgerpb.Command{ApplicationEnded: &ledgerpb.ApplicationEnded{
		App: ledger.AppRef(app.ID), State: int32(state), FinalStatus: int32(final),
		Diagnostics: diagnostics,
	}})
	if soft != nil {
		as.totals.Ended(app.Queue, app.State)
	}
	as.events.appEnded(app.ID)
	as.Log.WithField("application", app.ID).WithField("state", app.State).WithField("diagnostics", app.Diagnostics).
		Info("application ended")
	if soft != nil {
		id := app.ID
		as.AfterCommit(func() {
			for node := range soft.nodes {
				if n := as.nodes[node]; n != nil {
					n.session.box.EndApp(id)
				}
			}
		})
	}
	as.ended.Add(app.ID)
	as.forgetOld()
}

// forgetOld drops the applications that ended longest ago when there are too many, or when they take too much memory.
func (as *applications) forgetOld() {
	excess := as.work.Kept.Ended() - as.Settings.Bounds.EndedBytes
	if as.Settings.Bounds.EndedBytes == 0 {
		excess = 0
	}
	var refs []*ledgerpb.AppRef
	for n := as.ended.Len(); n > 0 && (n > as.Settings.MaxCompleted || excess > 0); n = as.ended.Len() {
		id := as.ended.Take()
		excess -= as.work.Apps[id].Bytes()
		refs = append(refs, ledger.AppRef(id))
	}
	if refs != nil {
		as.Enter(&ledgerpb.Command{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: refs}})
	}
}

// UpdatePriority sets an application's priority for a caller, at most the cluster's maximum, and returns the new one.
func (as *applications) UpdatePriority(id records.ApplicationID, user string, priority int32) (int32, error) {
	err := as.Do(func() error {
		app, err := as.liveApp(id)
		if err != nil {
			return err
		}
		if priority, err = as.priority(id, user, app.Queue, &priority); err != nil {
			return err
		}
		as.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Priority: proto.Int32(priority),
		}})
		as.sched.Apply(&eventlog.Event{Op: eventlog.SetPriority, App: as.apps[id].handle, Priority: app.Priority})
		return nil
	})
	return priority, err
}

// SetExpiry sets the end of an application's lifetime, in ms since 1970, and returns what it became: no later than the
// maximum lifetime of its queue allows (Hadoop: RMAppManager.updateApplicationTimeout).
func (as *applications) SetExpiry(id records.ApplicationID, expires int64) (int64, error) {
	err := as.Do(func() error {
		app, err := as.liveApp(id)
		if err != nil {
			return err
		}
		if q, ok := as.tree.Find(app.Queue); ok && q.MaxLifetime > 0 {
			expires = min(expires, request.Expiry(app.SubmitTime, q.MaxLifetime))
		}
		as.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Expires: proto.Int64(expires),
		}})
		as.apps[id].inherited = false
		return nil
	})
	return expires, err
}

func (c *core) liveApp(id records.ApplicationID) (*ledger.Application, error) {
	app := c.work.Apps[id]
	if app == nil {
		return nil, refusal.New(refusal.NoSuchApplication, "Application with id '%v' doesn't exist in RM. "+
			"Please check that the job submission was successful.", id)
	}
	if app.State.Ended() {
		return nil, refusal.New(refusal.Refused, "Application %v is in %v state and can't be changed any more", id, app.State)
	}
	return app, nil
}

// NodeHeard records the state of applications' log aggregation.
func (as *applications) NodeHeard(_ *nodeSoft, call *NodeCall) {
	logstate.Note(as.work, call.Logs, as.Enter)
}
