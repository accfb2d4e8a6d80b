package hdfsadapter

import (
	"net"
	"testing"
	"time"

	"heddle/hdfsadapter/access"
	"heddle/integration/hadooplab"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/token"
)

// A NameNode of a cluster without Kerberos that hands out tokens nevertheless.
func TestTokensOfANameNode(t *testing.T) {
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, Site: map[string]string{"dfs.namenode.delegation.token.always-use": "true"}})
	a := newAdapter(t, lab.Conf())
	addrs, err := access.NameNodes(a.conf, a.deflt.Authority)
	if err != nil {
		t.Fatal(err)
	}
	as := func(user string, tok *token.Token) ipc.Invoker {
		return a.client.Endpoint(addrs[0], protocol.HDFSClient, ipc.Identity{User: user, Token: tok})
	}
	issue := func(renewer string) token.Token {
		req := &pb.GetDelegationTokenRequest{}
		req.SetRenewer(renewer)
		resp, err := protocol.GetHDFSToken.Call(t.Context(), as("alice", nil), req)
		if err != nil {
			t.Fatal(err)
		}
		tok := token.FromPB(resp.GetToken())
		resolved, err := net.ResolveTCPAddr("tcp", addrs[0])
		if err != nil {
			t.Fatal(err)
		}
		tok.Service = resolved.String()
		return tok
	}

	tok := issue(a.self)
	if !a.Renews(tok) {
		t.Errorf("tokens of kind %s are not renewed", tok.Kind)
	}
	until, err := a.RenewToken(t.Context(), tok)
	if left := time.Until(until); err != nil || left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("renewed until %v, %v", until, err)
	}
	home := &pb.GetFileInfoRequest{}
	home.SetSrc("/")
	if _, err := protocol.GetFileInfo.Call(t.Context(), as("", &tok), home); err != nil {
		t.Errorf("with the token: %v", err)
	}
	if err := a.CancelToken(t.Context(), tok); err != nil {
		t.Error(err)
	}
	if _, err := a.RenewToken(t.Context(), tok); !ipc.IsClass(err, ipc.InvalidToken) {
		t.Errorf("renewing what was cancelled: %v", err)
	}
	if _, err := a.RenewToken(t.Context(), issue("somebody")); !ipc.IsClass(err, ipc.AccessControlException) {
		t.Errorf("renewing what somebody else is to renew: %v", err)
	}
	tok.Service = "ha-hdfs:nowhere:x"
	if _, err := a.RenewToken(t.Context(), tok); err == nil {
		t.Error("renewed a token of a nameservice that there isn't")
	}
}
