// Package ends tells of applications that are over.
package ends

import (
	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Ends is a part of a leadership that hears of applications' ends.
type Ends struct {
	Loop  loop.Operations
	State *ledger.State
	// Tell hears of each end once it is committed: of the application's id, user, state and diagnostics. It must not block. nil hears of none.
	Tell func(*ledger.Application)
}

// AppEnded is called in the loop.
func (e Ends) AppEnded(id records.ApplicationID) {
	app := e.State.Apps[id]
	if e.Tell == nil || app == nil {
		return
	}
	ended := &ledger.Application{ID: app.ID, User: app.User, State: app.State, Diagnostics: app.Diagnostics}
	e.Loop.AfterCommit(func() { e.Tell(ended) })
}
