package view

import (
	"fmt"
	"strings"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Explain says for each request of an application that waits which limit holds it, and by how much.
func (v *Viewer) Explain(a *App) []leader.Hold { return v.explain(a.ID)[a.ID] }

// Losses are the containers that an application is to lose to others.
func (v *Viewer) Losses(a *App) []leader.Loss {
	l := v.Source.Leader()
	if l == nil {
		return nil
	}
	losses, err := l.Losses(a.ID)
	if err != nil { // it leads no more
		return nil
	}
	return losses
}

func (v *Viewer) explain(ids ...records.ApplicationID) map[records.ApplicationID][]leader.Hold {
	l := v.Source.Leader()
	if l == nil || len(ids) == 0 {
		return nil
	}
	reasons, err := l.Explain(ids...)
	if err != nil { // it leads no more
		return nil
	}
	return reasons
}

// Summary is one line for people on what an application waits for.
func Summary(a *App, reasons []leader.Hold) string {
	s := waitsFor(a, reasons)
	switch {
	case a.Refused == "":
		return s
	case s == nothing:
		return a.Refused
	}
	return s + "; " + a.Refused
}

// nothing is what an application waits for that has all it wants.
const nothing = "waits for nothing"

func waitsFor(a *App, reasons []leader.Hold) string {
	switch {
	case a.State.Ended():
		return "the application has ended"
	case len(reasons) > 0 && a.awaitsMaster():
		return waitsForMaster + reasons[0].Text
	case len(reasons) > 0:
		return fmt.Sprintf("waits for %d containers: %s", waiting(reasons), reasons[0].Text)
	case a.State == ledger.AppAccepted && a.Unmanaged:
		return "waits for its ApplicationMaster to register; it is unmanaged, so that somebody must start it"
	case a.State == ledger.AppAccepted:
		return "waits for its ApplicationMaster, whose container has been granted, to start and register"
	}
	return nothing
}

const waitsForMaster = "waits for its ApplicationMaster's container: "

// awaitsMaster reports whether the application is stuck for want of a container for its ApplicationMaster.
func (a *App) awaitsMaster() bool {
	return a.State == ledger.AppAccepted && !a.Unmanaged && a.AMContainer == (records.ContainerID{})
}

func waiting(reasons []leader.Hold) (n int64) {
	for i := range reasons {
		n += int64(reasons[i].Ask.Count)
	}
	return n
}

// AddDiagnostics has applications that wait for their ApplicationMaster's container say why, where nothing else is said of
// them, and those that run say where their containers can't start.
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
	}
}
