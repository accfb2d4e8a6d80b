package serviceacl

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/yarn/ipc"
	"heddle/yarn/protocol"
)

// folder is a configuration folder with a core-site.xml, and a hadoop-policy.xml if that has lines; both of lines key=value.
func folder(t *testing.T, core, policy string) *conf.Config {
	t.Helper()
	dir := t.TempDir()
	for file, lines := range map[string]string{"core-site.xml": core, File: policy} {
		if lines == "" && file == File {
			continue
		}
		var b strings.Builder
		b.WriteString("<configuration>")
		for line := range strings.SplitSeq(lines, "\n") {
			key, value, _ := strings.Cut(line, "=")
			b.WriteString("<property><name>" + key + "</name><value>" + value + "</value></property>")
		}
		b.WriteString("</configuration>")
		if err := os.WriteFile(filepath.Join(dir, file), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func groups(user string) ([]string, error) {
	return map[string][]string{"alice": {"staff"}, "eve": {"staff", "bad"}}[user], nil
}

func peer(full, short string, auth ipc.AuthMethod) *ipc.Peer {
	return &ipc.Peer{User: short, FullUser: full, Auth: auth, Addr: netip.MustParseAddrPort("10.1.2.3:4000")}
}

// The lists of a folder, or those for all services, say who may connect; refusals have Hadoop's words. Formerly Heddle checked none, and refused to start with any.
func TestLists(t *testing.T) {
	alice, eve := peer("alice@A.TEST", "alice", ipc.AuthMethodKerberos), peer("eve", "eve", ipc.AuthMethodSimple)
	proxied := &ipc.Peer{User: "alice", FullUser: "alice", RealUser: "oozie", FullRealUser: "oozie@A.TEST", Auth: ipc.AuthMethodKerberos, Addr: alice.Addr}
	byToken := *proxied
	byToken.Auth = ipc.AuthMethodToken
	const client, admin = "security.applicationclient.protocol", "security.resourcemanager-administration.protocol"
	clientName, adminName := protocol.ApplicationClient.Name, protocol.Administration.Name
	denied := func(who, name string) string {
		return "User " + who + " is not authorized for protocol interface " + name + ": denied by configured ACL"
	}
	for name, x := range map[string]struct {
		core, policy, protocol string
		peer                   *ipc.Peer
		want                   string
	}{
		"off":                      {"x=y", client + ".acl=nobody", clientName, alice, ""},
		"no file":                  {On + "=true", "", clientName, alice, ""},
		"everybody":                {On + "=true", client + ".acl=*", clientName, eve, ""},
		"a user by the short name": {On + "=true", client + ".acl=alice", clientName, alice, ""},
		"not by the full one":      {On + "=true", client + ".acl=alice@A.TEST", clientName, alice, denied("alice@A.TEST (auth:KERBEROS)", clientName)},
		"a group":                  {On + "=true", client + ".acl= staff", clientName, alice, ""},
		"a blocked group":          {On + "=true", client + ".acl= staff\n" + client + ".acl.blocked= bad", clientName, eve, denied("eve (auth:SIMPLE)", clientName)},
		"nobody":                   {On + "=true", client + ".acl= ", clientName, proxied, denied("alice (auth:PROXY) via oozie@A.TEST (auth:KERBEROS)", clientName)},
		"by a token":               {On + "=true", client + ".acl= ", clientName, &byToken, denied("alice (auth:TOKEN) via oozie@A.TEST (auth:TOKEN)", clientName)},
		"another service":          {On + "=true", admin + ".acl=nobody", clientName, alice, ""},
		"that service":             {On + "=true", admin + ".acl=nobody", adminName, alice, denied("alice@A.TEST (auth:KERBEROS)", adminName)},
		"Heddle's beside it":       {On + "=true", admin + ".acl=nobody", protocol.LeaderControl.Name, alice, denied("alice@A.TEST (auth:KERBEROS)", protocol.LeaderControl.Name)},
		"all services":             {On + "=true\nsecurity.service.authorization.default.acl=nobody", "", clientName, alice, denied("alice@A.TEST (auth:KERBEROS)", clientName)},
		"its own before":           {On + "=true\nsecurity.service.authorization.default.acl=nobody", client + ".acl=alice", clientName, alice, ""},
		"hosts":                    {On + "=true", client + ".hosts=10.1.0.0/16", clientName, alice, ""},
		"other hosts":              {On + "=true", client + ".hosts=10.2.0.0/16", clientName, alice, "Host 10.1.2.3 is not authorized for protocol interface " + clientName},
		"blocked hosts":            {On + "=true", client + ".hosts.blocked=10.1.2.3", clientName, alice, "Host 10.1.2.3 is not authorized for protocol interface " + clientName},
		"an unknown protocol":      {On + "=true", "", "x.Y", alice, "Protocol interface x.Y is not known."},
	} {
		p, err := Read(folder(t, x.core, x.policy), groups)
		if err != nil {
			t.Fatal(err)
		}
		var l Live
		l.Set(p)
		got := ""
		if err := l.Authorize(x.protocol, x.peer); err != nil {
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// With Kerberos NodeManagers alone may register. Whoever registers gets keys with which tokens are made.
func TestNodeManagersHaveTheirAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(path, []byte("[libdefaults]\n default_realm = A.TEST\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", path)
	const tracker = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
	for _, x := range []struct {
		account, lists, who string
		from                string
		good                bool
	}{
		{"nm/localhost@A.TEST", "true", "nm/localhost@A.TEST", "127.0.0.1", true},
		{"nm/localhost@A.TEST", "false", "nm/other@A.TEST", "127.0.0.1", false},
		{"nm/localhost@A.TEST", "true", "alice@A.TEST", "127.0.0.1", false},
		{"nm/_HOST@A.TEST", "true", "nm/localhost@A.TEST", "127.0.0.1", true},
		{"nm/_HOST@A.TEST", "true", "nm/elsewhere@A.TEST", "127.0.0.1", false},
		{"nm/_HOST@A.TEST", "false", "nm/elsewhere@A.TEST", "127.0.0.1", true}, // as in Hadoop, which compares nothing then
		{"nm/_HOST@A.TEST", "false", "alice@A.TEST", "127.0.0.1", false},       // which Hadoop would take
		{"nm/_HOST@A.TEST", "false", "nm/x@B.TEST", "127.0.0.1", false},
	} {
		p, err := Read(folder(t, secure.Authentication+"=kerberos\n"+secure.NodeAccount+"="+x.account+"\n"+On+"="+x.lists, ""), groups)
		if err != nil {
			t.Fatal(err)
		}
		who := &ipc.Peer{User: "yarn", FullUser: x.who, Auth: ipc.AuthMethodKerberos, Addr: netip.MustParseAddrPort(x.from + ":1")}
		err = p.authorize(tracker, who)
		if (err == nil) != x.good {
			t.Errorf("%+v: %v", x, err)
		}
		if err != nil && !strings.Contains(err.Error(), "User "+x.who+" (auth:KERBEROS) is not authorized for protocol interface "+tracker+": this service is only accessible by nm/") {
			t.Error(err)
		}
	}
	if _, err := Read(folder(t, secure.Authentication+"=kerberos", ""), groups); err == nil || !strings.Contains(err.Error(), secure.NodeAccount) {
		t.Errorf("no account of NodeManagers: %v", err)
	}
}

func TestPolicyThatCantBeRead(t *testing.T) {
	c := folder(t, On+"=true", "")
	if err := os.WriteFile(filepath.Join(c.Dir(), File), []byte("<configuration"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(c, groups); err == nil || !strings.Contains(err.Error(), File) {
		t.Error(err)
	}
}
