package ledger

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
)

// submitted is a submission with all that an ApplicationMaster is started with.
func submitted(n int32, change func(*pb.ApplicationSubmissionContext)) *ledgerpb.Command {
	c := submit(n)
	ctx := c.ApplicationSubmitted.Context
	spec := &pb.ContainerLaunchContext{}
	spec.SetTokens([]byte("a secret"))
	spec.SetCommand([]string{"run --password secret"})
	spec.SetLocalResources([]*pb.StringLocalResourceMap{{}})
	acl := &pb.ApplicationACLMap{}
	acl.SetAcl("bob")
	spec.SetApplication_ACLs([]*pb.ApplicationACLMap{acl})
	ctx.SetAmContainerSpec(spec)
	ctx.SetApplicationType("SPARK")
	ctx.SetApplicationTags([]string{"nightly"})
	ctx.SetNodeLabelExpression("")
	if change != nil {
		change(ctx)
	}
	return c
}

func TestEndedApplicationsKeepNoCredentials(t *testing.T) {
	s := raised(t)
	run := func(c ...*ledgerpb.Command) {
		t.Helper()
		b := commands(c).at(0)
		b.Leadership = s.Leaders
		mustApply(t, s, b)
	}
	run(submitted(1, nil), submitted(2, nil))
	whole := s.Apps[app(1)].Context
	run(endApp(1, pb.YarnApplicationState_KILLED))
	if image := snapshot(t, s); bytes.Count(image, []byte("secret")) != 2 {
		t.Error("its secrets are still there, or those of another are gone")
	}
	kept := s.Apps[app(1)].Context
	want := proto.CloneOf(whole)
	spec := &pb.ContainerLaunchContext{}
	spec.SetApplication_ACLs(whole.GetAmContainerSpec().GetApplication_ACLs())
	want.SetAmContainerSpec(spec)
	if !proto.Equal(kept, want) {
		t.Errorf("kept %v, not %v", kept, want)
	}
	if string(whole.GetAmContainerSpec().GetTokens()) != "a secret" {
		t.Error("the submission itself was changed, which others share")
	}
}

// Before all members can do without, they keep it; what they kept goes when the version is raised.
func TestEndedApplicationsOfTheFirstVersionLoseTheirCredentialsWithIt(t *testing.T) {
	s := New()
	mustApply(t, s, commands{cluster(), submitted(1, nil), submitted(2, nil), endApp(1, pb.YarnApplicationState_KILLED)}.at(0))
	if bytes.Count(snapshot(t, s), []byte("secret")) != 4 {
		t.Error("something is gone")
	}
	mustApply(t, s, commands{{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: Version}}}.at(0))
	if bytes.Count(snapshot(t, s), []byte("secret")) != 2 {
		t.Error("not the ended application's alone is gone")
	}
}

func TestAttemptsOfAnApplicationThatFailsForEverAreForgotten(t *testing.T) {
	for name, forgiven := range map[string]bool{"excused": false, "forgiven": true} {
		s := raised(t)
		apply := func(c *ledgerpb.Command) {
			t.Helper()
			b := commands{c}.at(0)
			b.Leadership = s.Leaders
			mustApply(t, s, b)
		}
		apply(submitted(1, func(ctx *pb.ApplicationSubmissionContext) {
			if forgiven {
				ctx.SetAttemptFailuresValidityInterval(1000)
			}
		}))
		for i := int32(1); i <= 3*maxAttempts; i++ {
			apply(start(attempt(1, i)))
			end := endAttempt(attempt(1, i), pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED, false)
			end.AttemptEnded.Excused = !forgiven && i != 7
			apply(end)
		}
		a := s.Apps[app(1)]
		if n := len(a.Attempts); n != maxAttempts || a.Current().ID.Attempt != 3*maxAttempts {
			t.Errorf("%s: %d attempts up to %v", name, n, a.Current().ID)
		}
		if !forgiven && a.Attempts[0].ID.Attempt != 7 {
			t.Errorf("the one that counts is gone; the first is %v", a.Attempts[0].ID)
		}
	}
}
