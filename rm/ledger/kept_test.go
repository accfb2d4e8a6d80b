package ledger

import (
	"strings"
	"testing"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// within fails the test unless a number is at least so large, and at most a tenth and 4 KiB larger.
func within(t *testing.T, what string, got int64, least int) {
	t.Helper()
	if got < int64(least) || got > int64(least+least/10+4<<10) {
		t.Errorf("%s take %d bytes, and have %d", what, got, least)
	}
}

// What requests leave behind is counted with whoever left it, as long as it is there.
func TestWhatRequestsLeaveBehindIsCounted(t *testing.T) {
	s := New()
	big := submit(2)
	big.ApplicationSubmitted.User = "bob"
	ctx := &pb.ApplicationSubmissionContext{}
	spec := &pb.ContainerLaunchContext{}
	spec.SetTokens(make([]byte, 100_000))
	ctx.SetAmContainerSpec(spec)
	big.ApplicationSubmitted.Context = ctx
	mustApply(t, s, commands{cluster(), register(node1, records.NewResource(4096, 4)), submit(1), big}.at(0))
	bob, all := s.Kept.Live("bob")
	within(t, "bob's applications", bob, 100_000)
	within(t, "all applications", all, 100_000)
	alice, _ := s.Kept.Live(s.Apps[app(1)].User)
	within(t, "alice's applications", alice, 0)

	text := strings.Repeat("d", 50_000)
	c := container(1, 1, 1)
	done := complete(c, 1)
	done.ContainersCompleted.Completions[0].Diagnostics = text
	mustApply(t, s, commands{start(attempt(1, 1)), allocate(c, false), done}.at(1))
	if more, _ := s.Kept.Live(s.Apps[app(1)].User); more < alice+50_000 {
		t.Errorf("an end that isn't acknowledged counts %d bytes", more-alice)
	}
	mustApply(t, s, commands{{ContainersReported: &ledgerpb.ContainersReported{Containers: ContainerRefs(c)}}}.at(2))
	if more, _ := s.Kept.Live(s.Apps[app(1)].User); more > alice+1000 {
		t.Errorf("an end that was acknowledged counts %d bytes", more-alice)
	}

	end := endApp(2, pb.YarnApplicationState_KILLED)
	end.ApplicationEnded.Diagnostics = text
	mustApply(t, s, commands{{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version}}, end}.at(3))
	if bob, _ := s.Kept.Live("bob"); bob != 0 {
		t.Errorf("bob has %d bytes of applications that have ended", bob)
	}
	within(t, "ended applications", s.Kept.Ended(), 50_000)
	forget := &ledgerpb.Command{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: []*ledgerpb.AppRef{AppRef(app(2))}}}
	mustApply(t, s, commands{forget}.at(4))
	if n := s.Kept.Ended(); n != 0 {
		t.Errorf("forgotten applications take %d bytes", n)
	}

	before := s.Kept.Nodes()
	mustApply(t, s, commands{{NodeUpdated: &ledgerpb.NodeUpdated{Node: NodeRef(node1), HealthReport: &text}}}.at(5))
	if n := s.Kept.Nodes() - before; n != 50_000 {
		t.Errorf("a health report counts %d bytes", n)
	}
}

func TestTokensAreCountedByOwner(t *testing.T) {
	s := New()
	issue := func(seq int32, owner string) *ledgerpb.Command {
		id := token.Delegation{Owner: owner, Renewer: "yarn", Sequence: seq}
		return &ledgerpb.Command{DelegationIssued: &ledgerpb.DelegationIssued{Sequence: seq, Identifier: id.Encode(), Password: []byte{1}}}
	}
	mustApply(t, s, commands{cluster(), issue(1, "alice"), issue(2, "alice"), issue(3, "bob")}.at(0))
	twin := s.Clone()
	mustApply(t, s, commands{{DelegationsEnded: &ledgerpb.DelegationsEnded{Sequences: []int32{1, 3}}}}.at(1))
	if a, b := s.Kept.Tokens("alice"), s.Kept.Tokens("bob"); a != 1 || b != 0 {
		t.Errorf("alice has %d tokens, bob %d", a, b)
	}
	if a, b := twin.Kept.Tokens("alice"), twin.Kept.Tokens("bob"); a != 2 || b != 1 {
		t.Errorf("in a copy that was made before alice has %d tokens, bob %d", a, b)
	}
}

// A context of many small parts takes many times its bytes on the wire.
func TestSmallPartsCountWithTheirMemory(t *testing.T) {
	spec := &pb.ContainerLaunchContext{}
	for range 1000 {
		spec.SetEnvironment(append(spec.GetEnvironment(), &pb.StringStringMap{}))
	}
	if n := limit.Footprint(spec); n < 100_000 {
		t.Errorf("a thousand empty entries count %d bytes", n)
	}
}
