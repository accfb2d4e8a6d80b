// Package pastapps keeps the applications that have ended in the order of their ends, so that the oldest are found without a look at the others. It is pure.
package pastapps

import (
	"cmp"
	"slices"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// Apps are the ended applications that the ledger has. The zero value has none.
type Apps struct{ oldest []records.ApplicationID }

// Begin takes those of a ledger.
func (a *Apps) Begin(s *ledger.State) {
	var all []*ledger.Application
	for _, app := range s.Apps {
		if app.State.Ended() {
			all = append(all, app)
		}
	}
	slices.SortFunc(all, func(a, b *ledger.Application) int {
		return cmp.Or(cmp.Compare(a.FinishTime, b.FinishTime), a.ID.Compare(b.ID))
	})
	a.oldest = make([]records.ApplicationID, len(all))
	for i, app := range all {
		a.oldest[i] = app.ID
	}
}

// Add appends an application that has just ended.
func (a *Apps) Add(id records.ApplicationID) { a.oldest = append(a.oldest, id) }

// Len returns how many there are.
func (a *Apps) Len() int { return len(a.oldest) }

// Take takes off the one that ended longest ago. There must be one.
func (a *Apps) Take() records.ApplicationID {
	id := a.oldest[0]
	a.oldest = a.oldest[1:]
	return id
}

// Live returns the applications of a ledger that have not ended, in the order of their submission.
func Live(s *ledger.State) []*ledger.Application {
	var apps []*ledger.Application
	for _, a := range s.Apps {
		if !a.State.Ended() {
			apps = append(apps, a)
		}
	}
	slices.SortFunc(apps, func(a, b *ledger.Application) int {
		return cmp.Or(cmp.Compare(a.SubmitTime, b.SubmitTime), a.ID.Compare(b.ID))
	})
	return apps
}
