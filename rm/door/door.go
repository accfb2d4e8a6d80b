// Package door is what callers may do to applications and their containers, whichever way they come in: it checks their rights, has the leader act, and
// writes the audit log. rm/service and rm/rest translate between it and the messages of RPC and REST, and give its refusals their words.
package door

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"heddle/rm/access"
	"heddle/rm/audit"
	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Config is what a Door works with.
type Config struct {
	View   *view.Viewer
	Access *access.Checker
	Audit  *audit.Log // nil writes none
}

// Door is one for all ways in. It is safe for concurrent use.
type Door struct {
	Config
	machines machines
}

// New returns the door of a ResourceManager.
func New(cfg Config) *Door { return &Door{Config: cfg} }

// Caller is who asks.
type Caller struct {
	User    string
	Address netip.Addr // the machine; invalid if it isn't known
	Context string     // what the caller says of the call, for the audit log
}

// Absent is the refusal for an application that isn't there. A member that was deposed without knowing it may just not have heard of it.
type Absent struct{ App records.ApplicationID }

func (e *Absent) Error() string {
	return fmt.Sprintf("Application with id '%v' doesn't exist in RM.", e.App)
}

// NotPermitted is the refusal for callers who may not change an application.
type NotPermitted struct {
	User string
	App  records.ApplicationID
}

func (e *NotPermitted) Error() string {
	return fmt.Sprintf("User %s cannot perform operation MODIFY_APP on %v", e.User, e.App)
}

// NoSuchTarget is the refusal for moves to queues that aren't there, or that the caller may not use.
type NoSuchTarget struct {
	User, Queue string
	App         records.ApplicationID
}

func (e *NoSuchTarget) Error() string {
	return fmt.Sprintf("User %s cannot submit applications to target queue or the target queue doesn't exist: %s while moving %v", e.User, e.Queue, e.App)
}

// Submit enters an application. The user's name is the caller's.
func (d *Door) Submit(l *leader.Leader, who Caller, c *pb.ApplicationSubmissionContext) error {
	id := records.ApplicationIDFrom(c.GetApplicationId())
	err := l.Submit(who.User, c)
	e := d.entry(who, audit.Submit, id)
	e.Submitted, e.Queue, e.Label = err == nil, queueOf(c), c.GetNodeLabelExpression()
	d.wrote(e, err, audit.Failure{Description: "Exception in submitting application"})
	if err == nil {
		d.Note(id, who)
	}
	return err
}

// queueOf is the queue that a submission names.
func queueOf(c *pb.ApplicationSubmissionContext) string {
	if q := c.GetQueue(); q != "" {
		return q
	}
	return "default"
}

// Kill ends an application. The diagnostics are its caller's and may be empty. An application that has ended stays as it is, which is no error.
func (d *Door) Kill(l *leader.Leader, who Caller, id records.ApplicationID, diagnostics string) error {
	e := d.entry(who, audit.Kill, id)
	if _, err := d.modifiable(e); err != nil {
		return err
	}
	why := fmt.Sprintf("Application %v was killed by user %s", id, who.User)
	if who.Address.IsValid() {
		why += fmt.Sprintf(" at %s", who.Address)
	}
	if diagnostics != "" {
		why += " with the following diagnostics: " + diagnostics
	}
	err := l.Kill(id, why)
	if err == nil {
		e.Target, e.Context = audit.App, ""
	}
	return d.wrote(e, err, audit.Failure{Description: "Error in killing application"})
}

// FailAttempt ends an application's attempt as failed. One that has ended with its application stays as it is, which is no error.
func (d *Door) FailAttempt(l *leader.Leader, who Caller, id records.AttemptID) error {
	e := d.entry(who, audit.FailAttempt, id.App)
	a, err := d.modifiable(e)
	if err != nil {
		return err
	}
	list, _ := d.View.Attempts(id.App)
	if e.Attempt = id; !a.State.Ended() || !slices.ContainsFunc(list, func(t view.Attempt) bool { return t.ID == id }) {
		err = l.FailAttempt(id)
	}
	return d.wrote(e, err, audit.Failure{Description: "Error in failing attempt"})
}

// Move puts a live application into another queue, and returns that queue's path.
func (d *Door) Move(l *leader.Leader, who Caller, id records.ApplicationID, queue string) (path string, err error) {
	if err := d.CheckMove(who, id, queue); err != nil {
		return "", err
	}
	path, err = l.Move(id, queue)
	return path, d.wrote(d.entry(who, audit.Move, id), err, audit.Failure{Description: "Error in moving application"})
}

// CheckMove returns an error unless the caller may move an application to a queue. The audit log has what it refuses.
func (d *Door) CheckMove(who Caller, id records.ApplicationID, queue string) error {
	e := d.entry(who, audit.Move, id)
	if _, err := d.modifiable(e); err != nil {
		return err
	}
	if d.Access.MayMoveTo(who.User, queue) {
		return nil
	}
	e.Failed = &audit.Failure{
		Description: audit.Unauthorized.Description,
		Permissions: "Target queue doesn't exist or user doesn't have permissions to submit to target queue: " + queue,
	}
	d.Audit.Write(e)
	return &NoSuchTarget{who.User, queue, id}
}

// SetPriority changes an application's priority and returns the one that it has. That of an application that has ended stays, which is no error.
func (d *Door) SetPriority(l *leader.Leader, who Caller, id records.ApplicationID, priority int32) (int32, error) {
	e := d.entry(who, audit.UpdatePriority, id)
	a, err := d.modifiable(e)
	if err != nil {
		return 0, err
	}
	p := a.Priority
	if !a.State.Ended() {
		p, err = l.UpdatePriority(id, who.User, priority)
	}
	return p, d.wrote(e, err, audit.Failure{Description: "Error in updating application priority"})
}

// SetExpiry sets when an application's lifetime ends, in ms since 1970, and returns when it does: the queue may have a maximum.
func (d *Door) SetExpiry(l *leader.Leader, who Caller, id records.ApplicationID, at int64) (int64, error) {
	if _, err := d.Check(who, audit.UpdateTimeouts, id); err != nil {
		return 0, err
	}
	at, err := l.SetExpiry(id, at)
	return at, d.wrote(d.entry(who, audit.UpdateTimeouts, id), err, audit.Failure{Description: "Error in updating application timeouts"})
}

// entry begins a line of the audit log.
func (d *Door) entry(who Caller, o audit.Operation, id records.ApplicationID) audit.Entry {
	e := audit.Entry{User: who.User, Address: who.Address, Operation: o, Target: audit.Clients, App: id}
	if o == audit.Submit || o == audit.Kill { // the only lines in which YARN has it
		e.Context = who.Context
	}
	return e
}

// ofAbsent are what the audit log says of operations on applications that aren't there.
var ofAbsent = map[audit.Operation]string{
	audit.Kill:           "Trying to kill an absent application",
	audit.FailAttempt:    "Trying to fail an attempt of an absent application",
	audit.Move:           "Trying to move an absent application",
	audit.UpdatePriority: "Trying to update priority of an absent application",
	audit.UpdateTimeouts: "Trying to update timeouts of an absent application",
	audit.Suspend:        "The container's application is absent",
	audit.Resume:         "The container's application is absent",
}

// modifiable returns the application of an entry, if its user may change it.
func (d *Door) modifiable(e audit.Entry) (view.App, error) {
	a, ok := d.View.App(e.App)
	if !ok {
		e.Failed = &audit.Failure{Description: ofAbsent[e.Operation], Permissions: "UNKNOWN"}
		d.Audit.Write(e)
		return a, &Absent{e.App}
	}
	if !d.Access.MayModify(e.User, a.Rights()) {
		e.Failed = &audit.Unauthorized
		d.Audit.Write(e)
		return a, &NotPermitted{e.User, e.App}
	}
	return a, nil
}

// wrote writes what came of an operation, and returns its error.
func (d *Door) wrote(e audit.Entry, err error, failure audit.Failure) error {
	if err != nil {
		if failure.Permissions == "" {
			failure.Permissions = err.Error()
		}
		e.Failed = &failure
	}
	d.Audit.Write(e)
	return err
}

// Check returns an application that the caller may change by an operation, or else an error. The audit log has what it refuses.
func (d *Door) Check(who Caller, o audit.Operation, id records.ApplicationID) (view.App, error) {
	return d.modifiable(d.entry(who, o, id))
}

// Administered writes what came of a call of an administrator, which has checked the caller's rights itself; denied: they have none.
func (d *Door) Administered(who Caller, call string, denied bool, err error) {
	e := d.entry(who, audit.Operation(call), records.ApplicationID{})
	e.Target = audit.Admins
	switch {
	case denied:
		e.Failed = &audit.Failure{Description: audit.Unauthorized.Description}
	case err != nil:
		e.Failed = &audit.Failure{Description: "Exception in " + call, Permissions: strings.TrimPrefix(err.Error(), javaException)}
	}
	d.Audit.Write(e)
}

// javaException stands before the errors that REST answers with, as in YARN's answers. YARN's log doesn't have it.
const javaException = "java.lang.Exception: "

// Mastered writes that an ApplicationMaster has registered or unregistered.
func (d *Door) Mastered(who Caller, o audit.Operation, id records.AttemptID) {
	e := d.entry(who, o, id.App)
	e.Target, e.Attempt = audit.Masters, id
	d.Audit.Write(e)
}

// Ended writes that an application is over, for its owner.
func (d *Door) Ended(a *ledger.Application) {
	e := audit.Entry{User: a.User, Target: audit.Manager, App: a.ID, Operation: audit.FinishedSucceeded}
	switch a.State {
	case ledger.AppFailed:
		e.Operation, e.Failed = audit.FinishedFailed, &audit.Failure{Description: "App failed with state: FAILED", Permissions: a.Diagnostics}
	case ledger.AppKilled:
		e.Operation = audit.FinishedKilled
	}
	d.Audit.Write(e)
}
