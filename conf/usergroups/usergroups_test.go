package usergroups

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
)

const (
	ldapClass = "org.apache.hadoop.security.LdapGroupsMapping"
	prefix    = "hadoop.security.group.mapping."
)

// plain are the settings of groups of groupOfNames on a server.
func plain(url string) map[string]string {
	return map[string]string{
		"hadoop.security.group.mapping": ldapClass, prefix + "ldap.url": url, prefix + "ldap.base": "dc=example,dc=com",
		prefix + "ldap.search.filter.user": "(&(objectClass=inetOrgPerson)(uid={0}))", prefix + "ldap.search.filter.group": "(objectClass=groupOfNames)",
		"hadoop.security.groups.negative-cache.secs": "0",
	}
}

func with(base map[string]string, more ...string) map[string]string {
	out := maps.Clone(base)
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// load returns the look-up of a configuration.
func load(t *testing.T, settings map[string]string) (func(string) ([]string, error), error) {
	t.Helper()
	var list []string
	for k, v := range settings {
		list = append(list, k+"="+v)
	}
	c, err := conf.Load(conf.Options{Overrides: list})
	if err != nil {
		t.Fatal(err)
	}
	_, of, err := Directory(c, nil)
	return of, err
}

func groupsOf(t *testing.T, settings map[string]string, user string) (string, error) {
	t.Helper()
	of, err := load(t, settings)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := of(user)
	slices.Sort(groups)
	return strings.Join(groups, ","), err
}

func expect(t *testing.T, settings map[string]string, user, want string) {
	t.Helper()
	if got, err := groupsOf(t, settings, user); got != want || (want == "") != (err != nil) {
		t.Errorf("%s: %q, %v, not %q", user, got, err, want)
	}
}

// A real server of LDAP: each way of Hadoop's to find groups in it.
func TestGroupsOfLDAP(t *testing.T) {
	s := startSlapd(t, "", "")
	url := fmt.Sprintf("ldap://127.0.0.1:%d", s.port)
	base := plain(url)
	t.Run("members by name", func(t *testing.T) {
		expect(t, base, "alice", "Analysts")
		expect(t, base, "bob", "")
		expect(t, base, "nobody-here", "")
	})
	t.Run("no name is a filter", func(t *testing.T) {
		for _, name := range []string{"*", "al*", "alice)(uid=*", "alice))(|(uid=*", "a\\2a"} {
			expect(t, base, name, "")
		}
	})
	t.Run("groups in groups", func(t *testing.T) {
		levels := prefix + "ldap.search.group.hierarchy.levels"
		expect(t, with(base, levels, "1"), "alice", "Analysts,Staff")
		expect(t, with(base, levels, "9"), "alice", "All,Analysts,Staff")
	})
	t.Run("groups that the user's entry names", func(t *testing.T) {
		one := with(base, prefix+"ldap.search.attr.memberof", "seeAlso", prefix+"ldap.search.filter.group", "(objectClass=noSuchClass)")
		expect(t, one, "alice", "Analysts")
		expect(t, with(base, prefix+"ldap.search.attr.memberof", "noSuchAttribute"), "alice", "Analysts")
	})
	t.Run("groups of POSIX", func(t *testing.T) {
		expect(t, with(base,
			prefix+"ldap.search.filter.user", "(&(objectClass=posixAccount)(uid={0}))", prefix+"ldap.search.filter.group", "(objectClass=posixGroup)",
			prefix+"ldap.search.attr.member", "memberUid", prefix+"ldap.posix.attr.uid.name", "uid", prefix+"ldap.groupbase", "ou=posix,dc=example,dc=com",
		), "alice", "extra,primary")
	})
	t.Run("letters", func(t *testing.T) {
		rule := with(base, "hadoop.security.group.mapping", "org.apache.hadoop.security.RuleBasedLdapGroupsMapping", prefix+"ldap.conversion.rule", "to_upper")
		expect(t, rule, "alice", "ANALYSTS")
	})
	t.Run("accounts", func(t *testing.T) { accounts(t, base) })
	t.Run("several servers", func(t *testing.T) {
		expect(t, with(base, prefix+"ldap.url", fmt.Sprintf("ldap://127.0.0.1:%d,%s", freePort(t), url), prefix+"ldap.num.attempts.before.failover", "1"), "alice", "Analysts")
	})
	t.Run("several sources", func(t *testing.T) { sources(t, base) })
	t.Run("the server goes", func(t *testing.T) {
		of, err := load(t, with(base, "hadoop.security.groups.cache.secs", "1000"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = of("alice")
		s.kill()
		if groups, err := of("alice"); err != nil || len(groups) != 1 {
			t.Errorf("alice: %v, %v", groups, err)
		}
		if groups, err := of("bob"); err == nil || !strings.Contains(err.Error(), url) {
			t.Errorf("bob: %v, %v", groups, err)
		}
	})
}

// accounts shows the server an account, by each way to name its password.
func accounts(t *testing.T, base map[string]string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte("the secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	who := prefix + "ldap.bind.user"
	const account = "cn=lookup,ou=people,dc=example,dc=com"
	expect(t, with(base, who, account, prefix+"ldap.bind.password", "the secret"), "alice", "Analysts")
	expect(t, with(base, who, account, prefix+"ldap.bind.password.file", file), "alice", "Analysts")
	expect(t, with(base, who, account, prefix+"ldap.bind.password", "wrong"), "alice", "")
	store, err := filepath.Abs("../credential/testdata/none.jceks") // made by hadoop credential create
	if err != nil {
		t.Fatal(err)
	}
	const stored, alias = "cn=stored,ou=people,dc=example,dc=com", "ssl.server.keystore.password"
	provided := with(base, who, stored, "hadoop.security.credential.provider.path", "localjceks://file"+store, prefix+"ldap.bind.password", "wrong")
	expect(t, with(provided, prefix+"ldap.bind.password.alias", alias), "alice", "Analysts")
	expect(t, provided, "alice", "")
	users := prefix + "ldap.bind.users"
	expect(t, with(base, users, "old,new", users+".old.bind.user", account, users+".old.bind.password", "wrong",
		users+".new.bind.user", account, users+".new.bind.password.file", file), "alice", "Analysts")
}

// composite asks several sources.
func sources(t *testing.T, base map[string]string) {
	all := map[string]string{
		"hadoop.security.group.mapping": "org.apache.hadoop.security.CompositeGroupsMapping", prefix + "providers": "away,corp,machine",
		prefix + "provider.away": ldapClass, prefix + "provider.away.ldap.url": fmt.Sprintf("ldap://127.0.0.1:%d", freePort(t)), prefix + "provider.away.ldap.num.attempts": "1",
		prefix + "provider.corp": ldapClass, prefix + "provider.machine": "org.apache.hadoop.security.ShellBasedUnixGroupsMapping",
	}
	for key, value := range base {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			all[prefix+"provider.corp."+rest] = value
		}
	}
	expect(t, all, "alice", "Analysts")
	expect(t, all, "root", "root")
	expect(t, with(all, prefix+"provider.machine", "org.apache.hadoop.security.NullGroupsMapping"), "root", "")
	both := with(all, prefix+"provider.corp.ldap.search.filter.user", "(uid=alice)") // root is alice there
	expect(t, both, "root", "Analysts,root")
	expect(t, with(both, prefix+"providers.combined", "false"), "root", "Analysts")
	expect(t, with(all, "hadoop.user.group.static.mapping.overrides", "alice=a,b"), "alice", "a,b")
}

// LDAP by TLS: a server of an authority that isn't known is refused.
func TestGroupsOfLDAPByTLS(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	tool := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	tool("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", at("key.pem"), "-out", at("cert.pem"))
	tool("keytool", "-importcert", "-noprompt", "-alias", "ldap", "-file", at("cert.pem"), "-keystore", at("trust.jks"), "-storetype", "JKS", "-storepass", "trustpass")
	if err := os.WriteFile(at("trustpass"), []byte("trustpass"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSlapd(t, at("cert.pem"), at("key.pem"))
	base := with(plain(fmt.Sprintf("ldap://localhost:%d", s.port)), prefix+"ldap.ssl", "true")
	if got, err := groupsOf(t, base, "alice"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("of an unknown server: %q, %v", got, err)
	}
	expect(t, with(base, prefix+"ldap.ssl.truststore", at("trust.jks"), prefix+"ldap.ssl.truststore.password.file", at("trustpass")), "alice", "Analysts")
}

// What is wrong is said when a daemon starts, with its key.
func TestWrongSettings(t *testing.T) {
	base := plain("ldap://ldap.example.com")
	for want, settings := range map[string]map[string]string{
		"no class org.example.Mine in Heddle. It knows":                  {"hadoop.security.group.mapping": "org.example.Mine"},
		"LDAP needs hadoop.security.group.mapping.ldap.url":              with(base, prefix+"ldap.url", ""),
		"hadoop.security.group.mapping.ldap.search.filter.group = ":      with(base, prefix+"ldap.search.filter.group", "(x="),
		"filled with the user's name":                                    with(base, prefix+"ldap.group.search.filter.pattern", "uid"),
		"cn=x needs a password":                                          with(base, prefix+"ldap.bind.user", "cn=x"),
		"set hadoop.security.group.mapping.ldap.bind.users.a.bind.":      with(base, prefix+"ldap.bind.users", "a"),
		"ldap.ssl.truststore = \"/nowhere\": /nowhere: open ":            with(base, prefix+"ldap.ssl", "true", prefix+"ldap.ssl.truststore", "/nowhere"),
		"needs hadoop.security.group.mapping.providers":                  {"hadoop.security.group.mapping": "org.apache.hadoop.security.CompositeGroupsMapping"},
		"set hadoop.security.group.mapping.provider.a to the class of a": {"hadoop.security.group.mapping": "org.apache.hadoop.security.CompositeGroupsMapping", prefix + "providers": "a"},
		"want none, to_upper or to_lower":                                with(base, "hadoop.security.group.mapping", "org.apache.hadoop.security.RuleBasedLdapGroupsMapping", prefix+"ldap.conversion.rule", "big"),
	} {
		if _, err := load(t, settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
