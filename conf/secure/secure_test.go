package secure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/conftest"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
)

// network is a name service with one machine, node7.cluster.test at 10.0.0.7, and an address whose name belongs to another machine.
func network(t *testing.T) {
	t.Helper()
	was := machine
	t.Cleanup(func() { machine = was })
	hosts := map[string][]string{"node7": {"10.0.0.7"}, "node7.cluster.test": {"10.0.0.7"}, "liar.test": {"10.0.0.9"}}
	addrs := map[string][]string{"10.0.0.7": {"Node7.cluster.test."}, "10.0.0.8": {"liar.test."}}
	find := func(in map[string][]string) func(context.Context, string) ([]string, error) {
		return func(_ context.Context, name string) ([]string, error) {
			if found := in[strings.ToLower(name)]; found != nil {
				return found, nil
			}
			return nil, errors.New("no such host")
		}
	}
	machine = names{func() (string, error) { return "node7", nil }, find(hosts), find(addrs)}
}

// realm writes a krb5.conf, and a keytab with keys of accounts. An account with a blank before it has a key of a cipher that isn't taken.
func realm(t *testing.T, accounts ...string) (keytab string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "krb5.conf")
	if err := os.WriteFile(path, []byte("[libdefaults]\n default_realm = A.TEST\n[domain_realm]\n .b.test = B.TEST\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", path)
	var entries []kerberostest.Entry
	for _, a := range accounts {
		e := kerberostest.Entry{Principal: strings.TrimSpace(a), Version: 1, Cipher: 18, Key: make([]byte, 32)}
		if a != e.Principal {
			e.Cipher, e.Key = 23, make([]byte, 16)
		}
		entries = append(entries, e)
	}
	keytab = filepath.Join(dir, "keytab")
	kerberostest.Write(t, keytab, entries)
	return keytab
}

func TestHostOfAccounts(t *testing.T) {
	network(t)
	for address, want := range map[string]string{
		"RM.cluster.test:1": "rm.cluster.test", "10.0.0.7:1": "node7.cluster.test", "10.0.0.8:1": "10.0.0.8", "0.0.0.0:1": "node7.cluster.test",
	} {
		keytab := realm(t, "rm/"+want+"@A.TEST", "nm/node7.cluster.test@A.TEST")
		c := conftest.With(t, map[string]string{
			Authentication: "kerberos", managerAddress: address, ManagerAccount: "rm/_HOST@A.TEST", ManagerKeytab: keytab, NodeAccount: "nm/_HOST@A.TEST", NodeKeytab: keytab,
		})
		a, err := ResourceManager(c, "rm1")
		if err != nil || a.Principal != "rm/"+want+"@A.TEST" || a.Acceptor().Principal != a.Principal {
			t.Errorf("%s: %v, %v", address, a, err)
		}
		if a, err := NodeManager(c); err != nil || a.Principal != "nm/node7.cluster.test@A.TEST" {
			t.Errorf("NodeManager: %v, %v", a, err)
		}
	}
}

// A daemon that can't have its account says which key is wrong, and what to do.
func TestAccountsThatCantBe(t *testing.T) {
	keytab := realm(t, "nm/h@A.TEST", " rm/h@A.TEST")
	for name, x := range map[string]struct {
		set  map[string]string
		says []string
	}{
		"no principal":         {map[string]string{}, []string{ManagerAccount, "is not set", "rm/_HOST@REALM"}},
		"no host":              {map[string]string{ManagerAccount: "rm@A.TEST"}, []string{ManagerAccount, "SERVICE/HOST@REALM"}},
		"no realm":             {map[string]string{ManagerAccount: "rm/h"}, []string{ManagerAccount, "SERVICE/HOST@REALM"}},
		"no keytab":            {map[string]string{ManagerAccount: "rm/h@A.TEST", ManagerKeytab: "/nowhere"}, []string{ManagerKeytab, "/nowhere", "ktadd -k /nowhere rm/h@A.TEST"}},
		"a keytab of others":   {map[string]string{ManagerAccount: "rm/other@A.TEST", ManagerKeytab: keytab}, []string{ManagerKeytab, "rm/other@A.TEST", "nm/h@A.TEST"}},
		"keys that are broken": {map[string]string{ManagerAccount: "rm/h@A.TEST", ManagerKeytab: keytab}, []string{ManagerKeytab, "no AES key"}},
	} {
		x.set[Authentication] = "kerberos"
		_, err := ResourceManager(conftest.With(t, x.set), "rm1")
		for _, part := range x.says {
			if err == nil || !strings.Contains(fmt.Sprint(conf.Problems(err)), part) {
				t.Errorf("%s: %v, and not %q", name, conf.Problems(err), part)
			}
		}
	}
	t.Setenv("KRB5_CONFIG", "/nowhere/krb5.conf")
	if _, err := NodeManager(conftest.With(t, map[string]string{Authentication: "kerberos"})); err == nil || !strings.Contains(err.Error(), "/nowhere/krb5.conf") || !strings.Contains(err.Error(), "KRB5_CONFIG") {
		t.Error(err)
	}
}

type asked struct{ asked string }

func (s *asked) Ticket(_ context.Context, service, host string) (kerberos.Ticket, error) {
	s.asked = service + "/" + host
	return kerberos.Ticket{}, nil
}

// A server that is another one than the configuration says gets no ticket.
func TestServersThatAreExpected(t *testing.T) {
	network(t)
	realm(t)
	for _, x := range []struct {
		name, pattern, addr, service, host string
		good                               bool
	}{
		{"rm/_HOST@A.TEST", "", "node7:8032", "rm", "node7", true},
		{"rm/_HOST@A.TEST", "", "node7:8032", "rm", "node7.cluster.test", true},
		{"rm/_HOST@A.TEST", "", "10.0.0.7:8032", "rm", "node7.cluster.test", true},
		{"rm/_HOST@A.TEST", "", "10.0.0.8:8032", "rm", "liar.test", false},
		{"rm/_HOST@A.TEST", "", "node7:8032", "rm", "node8", false},
		{"rm/_HOST@A.TEST", "", "node7:8032", "nm", "node7", false},
		{"rm/_HOST@A.TEST", "", "", "rm", "node7", false},
		{"rm/_HOST@A.TEST", "", "x.b.test:8032", "rm", "x.b.test", false},
		{"rm/_HOST@B.TEST", "", "x.b.test:8032", "rm", "x.b.test", true},
		{"rm/fixed@A.TEST", "", "node7:8032", "rm", "fixed", true},
		{"rm/fixed@A.TEST", "", "node7:8032", "rm", "node7", false},
		{"rm/fixed@A.TEST", "rm/*@A.TEST", "node7:8032", "rm", "node9", true},
		{"rm/fixed@A.TEST", "*", "node7:8032", "rm", "node9", true},
		{"rm/fixed@A.TEST", "rm/*@B.TEST", "node7:8032", "rm", "fixed", false},
	} {
		tickets, err := ForResourceManagers(conftest.With(t, map[string]string{Authentication: "kerberos", ManagerAccount: x.name, ManagerAccount + ".pattern": x.pattern}), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &asked{}
		tickets.from = s
		_, err = tickets.TicketAt(t.Context(), x.addr, x.service, x.host)
		if (err == nil) != x.good || (s.asked != "") != x.good {
			t.Errorf("%+v: asked for %q, %v", x, s.asked, err)
		}
		if err != nil && !strings.Contains(err.Error(), x.service+"/"+x.host+"@") {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

func TestPrincipalOfServersMustBeSet(t *testing.T) {
	realm(t)
	if _, err := ForResourceManagers(conftest.With(t, map[string]string{Authentication: "kerberos"}), nil); err == nil || !strings.Contains(err.Error(), ManagerAccount) {
		t.Error(err)
	}
}

func TestCacheThatIsMissing(t *testing.T) {
	realm(t)
	t.Setenv("KRB5CCNAME", "FILE:/nowhere/cache")
	if _, err := Cache(conftest.With(t, map[string]string{Authentication: "kerberos"})); err == nil || !strings.Contains(err.Error(), "run kinit") || !strings.Contains(err.Error(), Authentication) {
		t.Error(err)
	}
}
