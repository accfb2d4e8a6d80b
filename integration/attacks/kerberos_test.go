package attacks

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/integration/daemons"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/krb5conf"
	"heddle/yarn/kerberos/login"
	"heddle/yarn/sasl"
)

// realm is the KDC of a target with Kerberos. Users have tickets.
type realm struct {
	*kerberostest.KDC
	dir        string // for all to enter
	keys       string // of daemons
	logins     map[string]*login.Login
	identities map[string]ipc.Identity
}

// newRealm starts one with accounts of daemons, of root, and of the two users.
func newRealm(t *testing.T) *realm {
	t.Helper()
	r := &realm{KDC: kerberostest.StartKDC(t, 10*time.Hour), logins: map[string]*login.Login{}, identities: map[string]ipc.Identity{}}
	t.Setenv("KRB5_CONFIG", r.Conf)
	of := func(name string) string { return name + "@" + r.Realm }
	r.keys = r.Keytab("daemons.keytab", of("rm/localhost"), of("nm/localhost"))
	krb5, err := krb5conf.Load(r.Conf)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"root", honest, hostile} {
		keys, err := kerberos.OpenKeytab(r.Keytab(user+".keytab", of(user)))
		if err != nil {
			t.Fatal(err)
		}
		if r.logins[user], err = login.FromKeytab(krb5, keys, of(user)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// secure has a cluster's daemons ask for tickets, and encrypt.
func (r *realm) secure(t *testing.T, o *daemons.Options) {
	t.Helper()
	of := func(name string) string { return name + "@" + r.Realm }
	maps.Copy(o.Set, map[string]string{
		"hadoop.security.authentication": "kerberos",
		"hadoop.security.authorization":  "true",
		"hadoop.security.auth_to_local":  "RULE:[2:$1@$0]([rn]m@.*)s/.*/yarn/ DEFAULT",
		"hadoop.rpc.protection":          "privacy",
		"yarn.resourcemanager.principal": of("rm/localhost"),
		"yarn.resourcemanager.keytab":    r.keys,
		"yarn.nodemanager.principal":     of("nm/localhost"),
		"yarn.nodemanager.keytab":        r.keys,
	})
	o.Protection = sasl.Qualities{sasl.Privacy}
	c, err := conf.Load(conf.Options{Overrides: []string{"yarn.resourcemanager.principal=" + of("rm/localhost")}})
	if err != nil {
		t.Fatal(err)
	}
	for user, l := range r.logins {
		tickets, err := secure.ForResourceManagers(c, l)
		if err != nil {
			t.Fatal(err)
		}
		r.identities[user] = ipc.Identity{User: l.Principal(), Kerberos: tickets}
	}
	o.Admin = r.identities["root"]
	r.dir = o.Dir
	text, err := os.ReadFile(r.Conf)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.dir, "krb5.conf"), string(text), 0o644)
	r.Kinit(filepath.Join(r.Dir, honest+".keytab"), of(honest))
	text, err = os.ReadFile(r.Cache())
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(r.dir, honest+".cache")
	write(t, cache, string(text), 0o600)
	if err := os.Chown(cache, honestID, honestID); err != nil {
		t.Fatal(err)
	}
}

// of returns a user by tickets. Those who have none take the hostile user's.
func (r *realm) of(user string) ipc.Identity {
	if id, ok := r.identities[user]; ok {
		return id
	}
	return r.identities[hostile]
}

// environment is by what a user's commands find tickets.
func (r *realm) environment(user string) []string {
	if r == nil {
		return nil
	}
	return []string{"KRB5_CONFIG=" + filepath.Join(r.dir, "krb5.conf"), "KRB5CCNAME=FILE:" + filepath.Join(r.dir, user+".cache")}
}
