package secure

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/yarn/kerberos/kerberostest"
)

// Users of another realm, such as that of an Active Directory, use the cluster by their short names in lower case, with Heddle's commands and with Hadoop's. Those of a realm
// without a rule are refused.
func TestUsersOfAnotherRealm(t *testing.T) {
	realms := kerberostest.StartChain(t, 10*time.Hour, "HEDDLE.TEST", "PEOPLE.TEST", "BRANCH.TEST")
	r := realmOf(t, realms[0])
	site := maps.Clone(r.site)
	site["hadoop.security.auth_to_local"] = `RULE:[1:$1@$0](.*@PEOPLE\.TEST)s/@.*///L ` + site["hadoop.security.auth_to_local"]
	site["hadoop.rpc.protection"] = "privacy,authentication"
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site})
	as := func(k *kerberostest.KDC, user string) {
		t.Helper()
		k.Kinit(k.Keytab(user+".keytab", user+"@"+k.Realm), user+"@"+k.Realm)
		t.Setenv("KRB5CCNAME", "FILE:"+k.Cache())
	}
	as(realms[1], "Carol")
	items := l.Dir() + "/items"
	write(t, items, "an item\n")
	if out, err := command(t, l, "xargs", "-a", items, "echo", "ran"); err != nil || !strings.Contains(out, "ran an item") {
		t.Errorf("xargs: %v\n%s", err, out)
	}
	if out, err := command(t, l, "app", "-list", "-appStates", "ALL"); err != nil || !strings.Contains(out, "carol") {
		t.Errorf("applications: %v\n%s", err, out)
	}
	if os.Getenv("HEDDLE_TEST_FULL") != "" {
		if out, err := l.Run(t.Context(), "yarn", "app", "-list", "-appStates", "ALL"); err != nil || !strings.Contains(out, "carol") {
			t.Errorf("yarn: %v\n%s", err, out)
		}
	}
	as(realms[2], "dave")
	if out, err := command(t, l, "node", "-list"); err == nil || !strings.Contains(out, "dave@BRANCH.TEST") {
		t.Errorf("a user whose name no rule makes short: %v\n%s", err, out)
	}
}
