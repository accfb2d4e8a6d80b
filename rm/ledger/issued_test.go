package ledger

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/rm/ledger/issued"
	"heddle/rm/ledger/ledgerpb"
)

func issueTo(user string) *ledgerpb.Command {
	return &ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{User: user}}
}

// What one user asks for, and what many ask for together, is bounded. The oldest ids are dropped first, and those of others stay.
func TestIssuedIDsAreBounded(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), {LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version}}, issueTo("bob")}.at(0))
	for range issued.MaxOfUser + 3 {
		mustApply(t, s, commands{issueTo("mallory")}.at(0))
	}
	is := func(id int32, want issued.Standing, owner string) {
		t.Helper()
		if standing, user := s.Issued.To(id, s.LastApplication); standing != want || user != owner {
			t.Errorf("id %d: %v, %q", id, standing, user)
		}
	}
	is(1, issued.Owned, "bob")
	is(2, issued.None, "")
	is(4, issued.None, "")
	is(5, issued.Owned, "mallory")
	is(s.LastApplication, issued.Owned, "mallory")
	is(s.LastApplication+1, issued.None, "")
	if n := len(s.Issued.Of["mallory"]); n != issued.MaxOfUser {
		t.Errorf("a user has %d ids", n)
	}
	for i := range issued.Max / 1000 {
		for range 1000 {
			s.Issued.Add(s.LastApplication+1, fmt.Sprint("user ", i))
			s.LastApplication++
		}
	}
	is(1, issued.None, "")
	is(s.LastApplication, issued.Owned, fmt.Sprint("user ", issued.Max/1000-1))
	if len(s.Issued.All) != issued.Max || len(s.Issued.Of) != issued.Max/1000 {
		t.Errorf("%d ids of %d users", len(s.Issued.All), len(s.Issued.Of))
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// Ids that were issued before the ledger recorded to whom are anybody's, as before, until many more were issued.
func TestIDsOfTheVersionBefore(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), issueTo(""), issueTo("")}.at(0))
	mustApply(t, s, commands{{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version}}}.at(0))
	for range issued.Grace {
		if standing, _ := s.Issued.To(1, s.LastApplication); standing != issued.Unowned {
			t.Fatalf("after %d: %v", s.LastApplication, standing)
		}
		mustApply(t, s, commands{issueTo("bob")}.at(0))
	}
	mustApply(t, s, commands{issueTo("bob")}.at(0))
	if standing, _ := s.Issued.To(1, s.LastApplication); standing != issued.None {
		t.Errorf("long after: %v", standing)
	}
}

// Behind the last number there is none: the first negative one was issued.
func TestNumbersOfApplicationsDontWrap(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), submit(math.MaxInt32)}.at(0))
	s.LastApplication = math.MaxInt32 - 2
	mustApply(t, s, commands{issueTo("")}.at(0))
	if err := s.ApplyCommand(0, issueTo("")); err == nil || s.LastApplication != math.MaxInt32-1 {
		t.Errorf("%v: %d", err, s.LastApplication)
	}
}

// What an id's submission takes away from the middle isn't taken away from a snapshot that is being written.
func TestFrozenIDsStay(t *testing.T) {
	s := New()
	mustApply(t, s, commands{
		cluster(), {LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version}}, issueTo("bob"), issueTo("bob"), issueTo("bob"), issueTo("bob"),
	}.at(0))
	f := s.Freeze()
	mustApply(t, s, commands{submit(2), submit(1), issueTo("bob")}.at(0))
	var image bytes.Buffer
	if err := f.WriteSnapshot(&image); err != nil {
		t.Fatal(err)
	}
	restored, err := ReadSnapshot(&image)
	if err != nil {
		t.Fatal(err)
	}
	if ids := restored.Issued.Of["bob"]; !slices.Equal(ids, []int32{1, 2, 3, 4}) {
		t.Errorf("%v", ids)
	}
	if ids := s.Issued.Of["bob"]; !slices.Equal(ids, []int32{3, 4, 5}) {
		t.Errorf("%v", ids)
	}
}
