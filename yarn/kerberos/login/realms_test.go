package login

import (
	"strings"
	"testing"
	"time"

	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/krb5conf"
)

// Users of other realms, which the services' realm trusts, directly or by way of another one, get tickets of services by keytab and by kinit's cache. Where there is no trust,
// the error says what is missing.
func TestUsersOfOtherRealms(t *testing.T) {
	t.Parallel()
	realms := kerberostest.StartChain(t, 10*time.Hour, "CLUSTER.TEST", "PEOPLE.TEST", "BRANCH.TEST")
	conf, err := krb5conf.Load(realms[0].Conf)
	if err != nil {
		t.Fatal(err)
	}
	service := "rm/host.test@CLUSTER.TEST"
	keys, err := kerberos.OpenKeytab(realms[0].Keytab("rm.keytab", service))
	if err != nil {
		t.Fatal(err)
	}
	a := &kerberos.Acceptor{Principal: service, Keytab: keys, Replays: kerberos.NewReplays()}
	for _, home := range realms {
		user := "alice@" + home.Realm
		file := home.Keytab("alice.keytab", user)
		own, err := kerberos.OpenKeytab(file)
		if err != nil {
			t.Fatal(err)
		}
		l, err := FromKeytab(conf, own, user)
		if err != nil {
			t.Fatal(err)
		}
		if err := talk(t, l, a); err != nil {
			t.Errorf("%s by keytab: %v", user, err)
		}
		home.Kinit(file, user)
		if l, err = FromCache(conf, home.Cache()); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with the granting ticket that is there
			l.session.tickets = map[string]cached{}
			if err := talk(t, l, a); err != nil {
				t.Errorf("%s by cache: %v", user, err)
			}
		}
	}
	people, err := kerberos.OpenKeytab(realms[0].Keytab("bob.keytab", "bob@CLUSTER.TEST"))
	if err != nil {
		t.Fatal(err)
	}
	conf.DomainRealm["host.test"] = "ELSEWHERE.TEST"
	l, err := FromKeytab(conf, people, "bob@CLUSTER.TEST")
	if err != nil {
		t.Fatal(err)
	}
	if err := talk(t, l, a); err == nil || !strings.Contains(err.Error(), "krbtgt/ELSEWHERE.TEST@CLUSTER.TEST") {
		t.Errorf("without trust: %v", err)
	}
}

// The KDC of a user's realm refers no client to others: [capaths] says by way of which realms the services' is reached, one after the other. Without it the error names it.
func TestWaysBetweenRealms(t *testing.T) {
	t.Parallel()
	realms := kerberostest.StartChainByClients(t, 10*time.Hour, "CLUSTER.TEST", "PEOPLE.TEST", "BRANCH.TEST", "SHOP.TEST")
	service := "rm/host.test@CLUSTER.TEST"
	keys, err := kerberos.OpenKeytab(realms[0].Keytab("rm.keytab", service))
	if err != nil {
		t.Fatal(err)
	}
	a := &kerberos.Acceptor{Principal: service, Keytab: keys, Replays: kerberos.NewReplays()}
	for _, home := range realms[1:] {
		user := "alice@" + home.Realm
		own, err := kerberos.OpenKeytab(home.Keytab("alice.keytab", user))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{realms[0].Conf, home.Conf} { // with [capaths], and without
			conf, err := krb5conf.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			l, err := FromKeytab(conf, own, user)
			if err != nil {
				t.Fatal(err)
			}
			err = talk(t, l, a)
			if near := home == realms[1]; (near || file == realms[0].Conf) && err != nil {
				t.Errorf("%s: %v", user, err)
			} else if !near && file == home.Conf && (err == nil || !strings.Contains(err.Error(), "[capaths]")) {
				t.Errorf("%s without [capaths]: %v", user, err)
			}
		}
	}
}
