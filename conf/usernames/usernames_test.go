package usernames

import (
	"os"
	"path/filepath"
	"testing"

	"heddle/conf/conftest"
	"heddle/conf/secure"
)

// With Kerberos only names of the default realm become short by default. Others passed for users of this realm.
func TestNamesOfOtherRealms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(path, []byte("[libdefaults]\n default_realm = A.TEST\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", path)
	for _, x := range []struct{ authentication, rules, name, want string }{
		{"kerberos", "", "alice@A.TEST", "alice"},
		{"kerberos", "", "rm/h@A.TEST", "rm"},
		{"kerberos", "", "alice@B.TEST", ""},
		{"kerberos", "RULE:[1:$1@$0](.*@B.TEST)s/@.*// DEFAULT", "alice@B.TEST", "alice"},
		{"simple", "", "alice@B.TEST", "alice"},
	} {
		r, err := Of(conftest.With(t, map[string]string{secure.Authentication: x.authentication, rulesKey: x.rules}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Short(x.name); got != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%+v: %q, %v", x, got, err)
		}
	}
}
