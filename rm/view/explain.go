package view

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/leader/preemption"
	"heddle/rm/leader/report"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Explain says for each pending request of an application which limit holds it back, and by how much.
func (v *Viewer) Explain(a *App) []report.Hold { return v.explain(a.ID)[a.ID] }

// Losses returns the containers of an application that are about to be preempted.
func (v *Viewer) Losses(a *App) []preemption.Loss {
	l := v.Source.Leader()
	if l == nil {
		return nil
	}
	losses, err := l.Losses(a.ID)
	if err != nil { // it no longer leads
		return nil
	}
	return losses
}

func (v *Viewer) explain(ids ...records.ApplicationID) map[records.ApplicationID][]report.Hold {
	l := v.Source.Leader()
	if l == nil || len(ids) == 0 {
		return nil
	}
	reasons, err := l.Explain(ids...)
	if err != nil { // it no longer leads
		return nil
	}
	return reasons
}

// Summary says in one line for people what an application waits for, and which of its containers are suspended.
func (v *Viewer) Summary(a *App, reasons []report.Hold) string {
	parts := []string{waitsFor(a, reasons), a.Refused, suspensions(a.Suspended, v.Now().UnixMilli())}
	if parts[0] == nothing && parts[1]+parts[2] != "" {
		parts[0] = ""
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// nothing is the summary of an application that has all it asked for.
const nothing = "waits for nothing"

func waitsFor(a *App, reasons []report.Hold) string {
	return waits(a.State, a.Unmanaged, a.AMContainer != (records.ContainerID{}), reasons)
}

// Waits says in one line for people what the application waits for.
func (r *AppRow) Waits(reasons []report.Hold) string {
	return waits(r.State, r.Unmanaged(), r.Master, reasons)
}

func waits(state ledger.AppState, unmanaged, master bool, reasons []report.Hold) string {
	n := waiting(reasons)
	switch {
	case state.Ended():
		return "the application has ended"
	case len(reasons) > 0 && state == ledger.AppAccepted && !unmanaged && !master:
		return waitsForMaster + reasons[0].Text
	case n == 1:
		return "waits for 1 container: " + reasons[0].Text
	case len(reasons) > 0:
		return fmt.Sprintf("waits for %d containers: %s", n, reasons[0].Text)
	case state == ledger.AppAccepted && unmanaged:
		return "waits for its ApplicationMaster to register; it is unmanaged: its user must start it"
	case state == ledger.AppAccepted:
		return "waits for its ApplicationMaster, whose container has been granted, to start and register"
	}
	return nothing
}

const waitsForMaster = "waits for its ApplicationMaster's container: "

// awaitsMaster reports whether the application waits for its ApplicationMaster's container.
func (a *App) awaitsMaster() bool {
	return a.State == ledger.AppAccepted && !a.Unmanaged && a.AMContainer == (records.ContainerID{})
}

func waiting(reasons []report.Hold) (n int64) {
	for i := range reasons {
		n += int64(reasons[i].Ask.Count)
	}
	return n
}

// AddDiagnostics adds to the diagnostics of applications. Those that wait for their ApplicationMaster's container get the reason, if they have no
// other diagnostics. Running ones get the nodes where their containers can't start, and which of their containers are suspended.
func (v *Viewer) AddDiagnostics(apps []App) {
	var ids []records.ApplicationID
	for i := range apps {
		if a := &apps[i]; a.awaitsMaster() && a.Diagnostics == "" {
			ids = append(ids, a.ID)
		}
	}
	reasons := v.explain(ids...)
	for i := range apps {
		if a := &apps[i]; len(reasons[a.ID]) > 0 && a.awaitsMaster() && a.Diagnostics == "" {
			a.Diagnostics = "Application " + waitsForMaster + reasons[a.ID][0].Text
		}
		if a := &apps[i]; a.State == ledger.AppRunning && a.Refused != "" {
			a.Diagnostics = strings.TrimPrefix(a.Diagnostics+"\nC"+strings.TrimPrefix(a.Refused, "c"), "\n")
		}
		if a := &apps[i]; a.State == ledger.AppRunning && len(a.Suspended) > 0 {
			a.Diagnostics = strings.TrimPrefix(a.Diagnostics+"\nContainer "+suspensions(a.Suspended, v.Now().UnixMilli()), "\n")
		}
	}
}
