// Package audit writes who did what, and what was refused, as YARN's ResourceManager does (Hadoop: RMAuditLogger): pairs of key and value with tabs
// between them, so that programs that read YARN's audit log read Heddle's.
package audit

import (
	"net/netip"
	"strings"

	"heddle/internal/plain"
	"heddle/yarn/records"
)

// Operation is what was asked for, in YARN's words (Hadoop: RMAuditLogger.AuditConstants).
type Operation string

// Operations of YARN. Those of administrators have the names of their calls, such as refreshQueues.
const (
	Submit            Operation = "Submit Application Request"
	Kill              Operation = "Kill Application Request"
	Move              Operation = "Move Application Request"
	UpdatePriority    Operation = "Update Application Priority"
	UpdateTimeouts    Operation = "Update Application Timeouts"
	FailAttempt       Operation = "Fail Attempt Request"
	Signal            Operation = "Signal Container Request"
	RegisterMaster    Operation = "Register App Master"
	UnregisterMaster  Operation = "Unregister App Master"
	FinishedSucceeded Operation = "Application Finished - Succeeded"
	FinishedFailed    Operation = "Application Finished - Failed"
	FinishedKilled    Operation = "Application Finished - Killed"
)

// Operations of Heddle, with YARN's pattern of words.
const (
	Suspend Operation = "Suspend Container Request"
	Resume  Operation = "Resume Container Request"
)

// Targets are the parts of YARN's ResourceManager that its lines name.
const (
	Clients = "ClientRMService"
	Masters = "ApplicationMasterService"
	Admins  = "AdminService"
	Manager = "RMAppManager"
	App     = "RMAppImpl"
	Web     = "RMWebServices"
)

// Failure says why an operation was refused. In YARN's lines Permissions often has the reason, and Description what was tried.
type Failure struct{ Description, Permissions string }

// Unauthorized is the failure of users who may not change an application.
var Unauthorized = Failure{"Unauthorized user", "User doesn't have permissions to MODIFY_APP"}

// Entry is one line.
type Entry struct {
	User      string
	Address   netip.Addr // the caller's; invalid for what the ResourceManager does itself
	Operation Operation
	Target    string
	Failed    *Failure // nil: the operation was carried out

	App       records.ApplicationID
	Attempt   records.AttemptID
	Container records.ContainerID
	Context   string // the caller's own description of the call (hadoop.caller.context)
	Submitted bool   // Queue and Label stand in the line
	Queue     string
	Label     string
}

// String returns the line as YARN writes it. A control character, which could forge a pair or a line, and what is no UTF-8 become U+FFFD.
func (e *Entry) String() string {
	var b strings.Builder
	pair := func(key, value string) {
		if b.Len() > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(clean(value))
	}
	pair("USER", e.User)
	if e.Address.IsValid() {
		pair("IP", e.Address.Unmap().String())
	}
	pair("OPERATION", string(e.Operation))
	pair("TARGET", e.Target)
	if e.Failed == nil {
		pair("RESULT", "SUCCESS")
	} else {
		pair("RESULT", "FAILURE")
		pair("DESCRIPTION", e.Failed.Description)
		pair("PERMISSIONS", e.Failed.Permissions)
	}
	if e.App != (records.ApplicationID{}) {
		pair("APPID", e.App.String())
	}
	if e.Attempt != (records.AttemptID{}) {
		pair("APPATTEMPTID", e.Attempt.String())
	}
	if e.Container != (records.ContainerID{}) {
		pair("CONTAINERID", e.Container.String())
	}
	if e.Context != "" {
		pair("CALLERCONTEXT", e.Context)
	}
	if e.Submitted {
		pair("QUEUENAME", e.Queue)
		pair("NODELABEL", e.Label)
	}
	return b.String()
}

// maxValue bounds a value, in bytes: diagnostics and contexts are their senders' choice.
const maxValue = 4096

func clean(s string) string { return plain.Cell(s[:min(len(s), maxValue)]) }
