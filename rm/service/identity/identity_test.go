package identity

import (
	"errors"
	"testing"

	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/principal"
)

// Tokens have full names with Kerberos; the ResourceManager is its account; and who came with a token gets no other.
func TestNames(t *testing.T) {
	rules, err := principal.Parse("DEFAULT", principal.Hadoop, "A.TEST")
	if err != nil {
		t.Fatal(err)
	}
	simple := &Names{Login: "root"}
	secured := &Names{Login: "root", Rules: rules.Short, Kerberos: &kerberos.Acceptor{Principal: "rm/h@A.TEST"}}
	call := &ipc.Call{Peer: &ipc.Peer{User: "alice", FullUser: "alice@A.TEST", RealUser: "oozie", FullRealUser: "oozie@A.TEST", Auth: ipc.AuthMethodToken}}
	for n, want := range map[*Names][2]string{simple: {"alice", "oozie"}, secured: {"alice@A.TEST", "oozie@A.TEST"}} {
		if user, realUser := n.Of(call); user != want[0] || realUser != want[1] {
			t.Errorf("%q %q, want %q", user, realUser, want)
		}
	}
	for _, x := range []struct {
		names      *Names
		name, want string
	}{{simple, "yarn/h@B.TEST", "yarn"}, {secured, "yarn/h@A.TEST", "yarn"}, {secured, "x@OTHER.TEST", ""}, {secured, "", ""}} {
		if got, err := x.names.Short(x.name); got != x.want || (err == nil) != (x.want != "" || x.name == "") {
			t.Errorf("%q: %q, %v", x.name, got, err)
		}
	}
	if !simple.IsLogin("root") || secured.IsLogin("root") || !secured.IsLogin("rm/h@A.TEST") {
		t.Error("the ResourceManager isn't itself")
	}
	if err := simple.ByTicket(call, "issued"); err != nil {
		t.Error(err)
	}
	err = secured.ByTicket(call, "issued")
	if !ipc.IsClass(err, ipc.YarnException) || err.(*ipc.Exception).Text != "java.io.IOException: Delegation Token can be issued only with kerberos authentication" {
		t.Error(err)
	}
	call.Auth = ipc.AuthMethodKerberos
	if err := secured.ByTicket(call, "issued"); err != nil {
		t.Error(err)
	}
	if other := errors.New("x"); AsYARN(other) != other || AsYARN(nil) != nil {
		t.Error("other errors changed")
	}
}

// A node of another host isn't the account's.
func TestAccountsOfHosts(t *testing.T) {
	for _, x := range []struct {
		principal, host string
		auth            ipc.AuthMethod
		on              bool
	}{
		{"nm/h@A.TEST", "H", ipc.AuthMethodKerberos, true},
		{"nm/h@A.TEST", "i", ipc.AuthMethodKerberos, false},
		{"nm@A.TEST", "", ipc.AuthMethodKerberos, false},
		{"nm/h@A.TEST", "h", ipc.AuthMethodToken, false},
	} {
		if got := IsOn(&ipc.Call{Peer: &ipc.Peer{Principal: x.principal, Auth: x.auth}}, x.host); got != x.on {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
