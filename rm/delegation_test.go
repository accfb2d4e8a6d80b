package rm

import (
	"strings"
	"testing"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/token"
)

// as speaks to the clients' port under an identity.
func (w *world) as(who ipc.Identity) ipc.Invoker {
	return w.to(ClientAddress, protocol.ApplicationClient, who)
}

func delegationRequest(renewer string) *pb.GetDelegationTokenRequest {
	req := &pb.GetDelegationTokenRequest{}
	req.SetRenewer(renewer)
	return req
}

func renewRequest(t token.Token) *pb.RenewDelegationTokenRequest {
	req := &pb.RenewDelegationTokenRequest{}
	req.SetToken(t.PB())
	return req
}

func cancelRequest(t token.Token) *pb.CancelDelegationTokenRequest {
	req := &pb.CancelDelegationTokenRequest{}
	req.SetToken(t.PB())
	return req
}

// refusedAs reports whether an error is a YarnException about one of a class.
func refusedAs(err error, class string) bool {
	return ipc.IsClass(err, ipc.YarnException) && strings.Contains(err.Error(), class+": ")
}

// A token works as its owner, with every leader, until it is cancelled.
func TestDelegationTokens(t *testing.T) {
	members := start(t, 3)
	lead := leaderOf(t, members)
	w := newWorld(t, members)
	alice := w.as(ipc.Identity{User: "alice"})
	tok := token.FromPB(call(w, protocol.GetDelegationToken, alice, delegationRequest("oozie/host@REALM")).GetToken())
	id, err := token.ParseDelegation(tok.Identifier)
	if err != nil || id.Owner != "alice" || id.Renewer != "oozie" || id.MaxMS-id.IssueMS != 7*24*3600*1000 {
		t.Fatalf("%+v %v", id, err)
	}

	if _, err := protocol.RenewDelegationToken.Call(t.Context(), w.as(ipc.Identity{User: "mallory"}), renewRequest(tok)); !refusedAs(err, ipc.AccessControlException) {
		t.Errorf("renewed by a stranger: %v", err)
	}
	forged := tok
	forged.Password = append([]byte{}, tok.Password...)
	forged.Password[0] ^= 1
	if _, err := protocol.RenewDelegationToken.Call(t.Context(), w.as(ipc.Identity{User: "oozie"}), renewRequest(forged)); !refusedAs(err, ipc.AccessControlException) {
		t.Errorf("a forged token was renewed: %v", err)
	}
	if until := call(w, protocol.RenewDelegationToken, w.as(ipc.Identity{User: "oozie"}), renewRequest(tok)).GetNewExpiryTime(); int64(until) <= id.IssueMS || int64(until) > id.MaxMS {
		t.Errorf("renewed until %d", until)
	}

	lead.halt(t)
	leaderOf(t, members)
	bearer := w.as(ipc.Identity{User: "nobody", Token: &tok})
	app := call(w, protocol.GetNewApplication, bearer, &pb.GetNewApplicationRequest{})
	sub := &pb.SubmitApplicationRequest{}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(app.GetApplicationId())
	ctx.SetAmContainerSpec(&pb.ContainerLaunchContext{})
	ctx.SetUnmanagedAm(true)
	sub.SetApplicationSubmissionContext(ctx)
	call(w, protocol.SubmitApplication, bearer, sub)
	report := &pb.GetApplicationReportRequest{}
	report.SetApplicationId(app.GetApplicationId())
	if user := call(w, protocol.GetApplicationReport, bearer, report).GetApplicationReport().GetUser(); user != "alice" {
		t.Errorf("submitted as %q", user)
	}

	if _, err := protocol.CancelDelegationToken.Call(t.Context(), w.as(ipc.Identity{User: "mallory"}), cancelRequest(tok)); !refusedAs(err, ipc.AccessControlException) {
		t.Errorf("cancelled by a stranger: %v", err)
	}
	call(w, protocol.CancelDelegationToken, alice, cancelRequest(tok))
	if _, err := protocol.CancelDelegationToken.Call(t.Context(), alice, cancelRequest(tok)); !refusedAs(err, ipc.InvalidToken) {
		t.Errorf("cancelled twice: %v", err)
	}
	again := newWorld(t, members).as(ipc.Identity{Token: &tok})
	if _, err := protocol.GetNewApplication.Call(t.Context(), again, &pb.GetNewApplicationRequest{}); !ipc.IsClass(err, ipc.InvalidToken) {
		t.Errorf("a cancelled token: %v", err)
	}
}

// A name with a realm, or a host, stayed as it was, so that lists, queues, folders and owners had other names than in YARN; x/y failed.
func TestNamesOfUsersAreShort(t *testing.T) {
	m := startOne(t, settingsFor(t, t.TempDir(), 1), 0)
	defer m.halt(t)
	leaderOf(t, []*member{m})
	w := newWorld(t, []*member{m})
	for name, want := range map[string]string{"john@CORP.COM": "john", "x/y": "x", "bob": "bob"} {
		if rep := w.report(w.submit(name)); rep.GetUser() != want {
			t.Errorf("an application of %s belongs to %q", name, rep.GetUser())
		}
	}
	if _, err := protocol.GetNewApplication.Call(t.Context(), w.as(ipc.Identity{User: "a@b@c"}), &pb.GetNewApplicationRequest{}); err == nil {
		t.Error("a@b@c is somebody")
	}
}
