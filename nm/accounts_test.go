package nm

import (
	"errors"
	"slices"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/store"
	"heddle/yarn/account"
)

// A node that is restarted while its directory of users is down knows whom it ran containers for, for a while.
func TestUsersAreKnownWhileTheirDirectoryIsDown(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	down := errors.New("the directory is down")
	now := time.UnixMilli(1_000_000)
	life := func(lookUp func(string) (account.Account, error)) *accounts {
		a := newAccounts()
		a.lookUp, a.now = lookUp, func() time.Time { return now }
		a.keep(s.Bucket("accounts"), quiet())
		return a
	}
	ann := account.Account{UID: 1001, GID: 100, Groups: []int{100, 200}}
	a := life(func(string) (account.Account, error) { return ann, nil })
	if _, err := a.Lookup("ann"); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the note", func() bool { b, _ := s.Bucket("accounts").Get("ann"); return b != nil })

	a = life(func(string) (account.Account, error) { return account.Account{}, down })
	got, err := a.Lookup("ann")
	if err != nil || got.UID != 1001 || got.GID != 100 || !slices.Equal(got.Groups, ann.Groups) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := a.Lookup("bob"); !errors.Is(err, down) {
		t.Errorf("who was never here: %v", err)
	}
	now = now.Add(accountsKept + time.Second)
	if _, err := a.Lookup("ann"); !errors.Is(err, down) {
		t.Errorf("after a long time: %v", err)
	}
}
