package ledger

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func TestErrorsOfVersionsSayWhatToDo(t *testing.T) {
	has := fmt.Sprintf("and this ResourceManager can apply version %d", Version)
	for want, err := range map[string]error{
		"this needs a newer ledger version, " + has + ": install the release of Heddle that the leader runs or a newer one here and start it again; it continues where it stopped": &NewerError{},
		"this needs ledger version 1, " + has + ": install Heddle 2.0 or a newer one here and start it again; it continues where it stopped": &NewerError{
			Version: 1, Release: "2.0",
		},
		"this needs a newer ledger version, " + has + " (it doesn't know field 3 of X): install the release of Heddle that the leader runs or a newer one here and start it again; it continues where it stopped": &NewerError{
			What: "field 3 of X",
		},
		"this member's ledger differs from that of rm2: it has refused 3 batches of the log, and that one 4. One of the two was changed by a defect or by hand; start the wrong one again with an empty state folder": &DivergedError{
			Refused: 3, Leader: "rm2", LeaderRefused: 4,
		},
	} {
		if err.Error() != want {
			t.Errorf("\n%q\nto be\n%q", err, want)
		}
	}
}

func TestNewerBatchChangesNothing(t *testing.T) {
	s := world(t)
	want := s.Clone()
	b := commands{submit(7)}.at(40)
	b.Leadership, b.Version = s.Leaders, Version+1
	var newer *NewerError
	if err := s.Apply(b); !errors.As(err, &newer) || newer.Version != Version+1 {
		t.Errorf("%v", err)
	}
	if err := s.ApplyCommand(created, &ledgerpb.Command{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version + 1, Release: "9.9"}}); !errors.As(err, &newer) || *newer != (NewerError{Version: Version + 1, Release: "9.9"}) {
		t.Errorf("%v", err)
	}
	for _, d := range differences(s, want) {
		t.Error(d)
	}
}

// A member that has refused a batch takes none until the next leader, and as many as a leader may have under way: then it knows that
// its leader has refused nothing, and stops.
func TestBatchesBehindARefusedOneAreVoid(t *testing.T) {
	s := world(t)
	s.Refused = 5
	batch := func(c ...*ledgerpb.Command) *ledgerpb.Batch {
		b := commands(c).at(40)
		b.Leadership, b.Version = s.Leaders, Version
		return b
	}
	if err := s.Apply(batch()); err != nil {
		t.Errorf("a batch of nothing: %v", err)
	}
	want := s.Clone()
	if err := s.Apply(batch(submit(1), submit(1))); err == nil {
		t.Error("it was taken")
	}
	for void := int32(1); void <= maxVoid; void++ {
		want.Refused, want.Void = 6, void
		for _, d := range differences(s, want) {
			t.Errorf("after %d batches: %s", void, d)
		}
		if void < maxVoid {
			if err := s.Apply(batch(submit(7))); !errors.Is(err, ErrDeposed) {
				t.Errorf("%v", err)
			}
		}
	}
	var diverged *DivergedError
	if err := s.Apply(batch(submit(7))); !errors.As(err, &diverged) || *diverged != (DivergedError{Refused: 6, Leader: "rm1", LeaderRefused: 5}) {
		t.Errorf("%v", err)
	}
	lead := batch(&ledgerpb.Command{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm2", Refused: 8}})
	lead.Leadership++
	if err := s.Apply(lead); !errors.As(err, &diverged) || *diverged != (DivergedError{Refused: 6, Leader: "rm2", LeaderRefused: 8}) {
		t.Errorf("under a leader that has refused more: %v", err)
	}
	for _, d := range differences(s, want) {
		t.Error(d)
	}
}

// Of the first version, members compare nothing.
func TestRefusalsDontCountInTheFirstVersion(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), submit(1)}.at(0))
	if err := s.Apply(commands{submit(1)}.at(0)); err == nil || s.Refused != 0 || s.Void != 0 {
		t.Errorf("%v: %d, %d", err, s.Refused, s.Void)
	}
	lead := commands{{LeaderStarted: &ledgerpb.LeaderStarted{RmId: "rm1", Refused: 4}}}.at(0)
	lead.Leadership = 1
	mustApply(t, s, lead)
}

// Attempts that are too many go when the version that forgets them comes.
func TestAttemptsAreForgottenWithTheVersion(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), submit(1), submit(2)}.at(0))
	for i := int32(1); i <= maxAttempts+20; i++ {
		end := endAttempt(attempt(1, i), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false)
		end.AttemptEnded.Excused = true
		mustApply(t, s, commands{start(attempt(1, i)), end}.at(0))
	}
	if n := len(s.Apps[app(1)].Attempts); n != maxAttempts+20 {
		t.Errorf("%d are left before", n)
	}
	mustApply(t, s, commands{{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version, Release: "1.1"}}}.at(0))
	if a := s.Apps[app(1)]; len(a.Attempts) != maxAttempts || a.Attempts[0].ID.Attempt != 21 || s.Release != "1.1" {
		t.Errorf("%d are left, from %v on, by %s", len(a.Attempts), a.Attempts[0].ID, s.Release)
	}
}

// Attempts that count are kept, however many they are, and so is the last one.
func TestAttemptsThatAreKept(t *testing.T) {
	attempts := func(n int) (all []*Attempt) {
		for i := range n {
			all = append(all, &Attempt{ID: attempt(1, int32(i+1))})
		}
		return all
	}
	forgiving := &pb.ApplicationSubmissionContext{}
	forgiving.SetAttemptFailuresValidityInterval(1)
	for name, c := range map[string]struct {
		app  Application
		want int32 // number of the first one that is left; all behind it are, too
	}{
		"all count":              {Application{Attempts: attempts(maxAttempts + 5)}, 1},
		"may have more":          {Application{Attempts: attempts(maxAttempts + 5), Context: forgiving, MaxAttempts: maxAttempts + 3}, 3},
		"forgiven after a while": {Application{Attempts: attempts(maxAttempts + 5), Context: forgiving}, 6},
	} {
		c.app.forgetAttempts()
		if c.app.Attempts[0].ID.Attempt != c.want || len(c.app.Attempts) != int(maxAttempts+5-c.want+1) {
			t.Errorf("%s: %d are left, from %v on", name, len(c.app.Attempts), c.app.Attempts[0].ID)
		}
	}
	for excused, left := range map[int]int{0: maxAttempts, maxAttempts - 1: maxAttempts, maxAttempts: maxAttempts + 1} {
		a := Application{Attempts: attempts(maxAttempts + 1)}
		a.Attempts[excused].Excused = true
		a.forgetAttempts()
		if len(a.Attempts) != left {
			t.Errorf("number %d of %d is excused: %d are left", excused+1, maxAttempts+1, len(a.Attempts))
		}
	}
}

// What an application keeps of its submission is what was in it, cut to what a name may have, and nothing else.
func TestWhatEndedApplicationsKeep(t *testing.T) {
	type context = pb.ApplicationSubmissionContext
	name := func(n int) string { return string(make([]byte, n)) }
	id := &pb.ApplicationId{}
	id.SetId(4)
	for what, set := range map[string]struct {
		set  func(*context, int)
		want func(*context)
	}{
		"nothing": {func(*context, int) {}, nil},
		"id":      {func(c *context, _ int) { c.SetApplicationId(id) }, nil},
		"name":    {func(c *context, n int) { c.SetApplicationName(name(n)) }, nil},
		"type":    {func(c *context, n int) { c.SetApplicationType(name(n)) }, nil},
		"label":   {func(c *context, n int) { c.SetNodeLabelExpression(name(n)) }, nil},
		"no AM":   {func(c *context, _ int) { c.SetUnmanagedAm(true) }, nil},
		"an AM":   {func(c *context, _ int) { c.SetUnmanagedAm(false) }, nil},
		"tags":    {func(c *context, _ int) { c.SetApplicationTags([]string{"a"}) }, nil},
		"queue":   {func(c *context, _ int) { c.SetQueue("q") }, func(*context) {}},
		"no ACLs": {func(c *context, _ int) { c.SetAmContainerSpec(&pb.ContainerLaunchContext{}) }, func(*context) {}},
	} {
		submitted, want := &context{}, &context{}
		set.set(submitted, limit.MaxName+1)
		if set.want == nil {
			set.set(want, limit.MaxName)
		}
		if got := limit.Remains(submitted); !proto.Equal(got, want) {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// A clone and what it was made from share nothing that changes.
func TestClonesAreIndependent(t *testing.T) {
	s := world(t)
	for i := range int64(3) { // so many leave room in the array of those that have ended
		run(t, s, 40, allocate(container(1, 2, 3+i), false), complete(container(1, 2, 3+i), 0), &ledgerpb.Command{
			ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(container(1, 2, 3+i))},
		})
	}
	a := s.Apps[app(1)]
	clone := s.Clone()
	end := func(s *State, id records.ContainerID) {
		done := &ledgerpb.Completion{Container: ContainerRef(id), Unreported: true}
		run(t, s, 50, &ledgerpb.Command{ContainersCompleted: &ledgerpb.ContainersCompleted{Completions: []*ledgerpb.Completion{done}}})
	}
	end(s, container(1, 2, 1))
	end(clone, container(1, 2, 2))
	if past := last(a.Past); past.ID != container(1, 2, 1) {
		t.Errorf("the last that ended is %v", past.ID)
	}
	if past := last(clone.Apps[app(1)].Past); past.ID != container(1, 2, 2) {
		t.Errorf("in the clone it is %v", past.ID)
	}
	run(t, clone, 60, endAttempt(attempt(1, 2), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false), endApp(1, pb.YarnApplicationState_FAILED))
	if s.Ended[AppFailed] != 0 || clone.Ended[AppFailed] != 1 || a.Attempts[1].State.Ended() {
		t.Errorf("%v, %v", s.Ended, clone.Ended)
	}
}
