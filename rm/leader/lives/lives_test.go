package lives

import (
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// What is told last counts, no time is before the grant, and what lives no more is forgotten.
func TestLives(t *testing.T) {
	var l Lives
	c := &ledger.Container{ID: records.ContainerID{ID: 7}, Allocated: 1000}
	l.Note(c, ledgerpb.NewContainerTimes(2000, -1, -1, -1), 2500)
	if got, want := l.Of(c.ID), (ledger.Times{Accepted: 1000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	l.Note(c, ledgerpb.NewContainerTimes(900, 500, 100, -1), 3000)
	l.Note(c, nil, 4000)
	if got, want := l.Of(c.ID), (ledger.Times{Accepted: 2100, Localized: 2500, Launched: 2900}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	l.Forget(c.ID)
	if got := l.Of(c.ID); got != (ledger.Times{}) {
		t.Errorf("%+v of a container that lives no more", got)
	}
}
