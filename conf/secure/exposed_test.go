package secure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/conftest"
)

// A keytab that everybody may read makes everybody the daemon, and nobody said so.
func TestKeytabsThatOthersMayRead(t *testing.T) {
	keytab := filepath.Join(t.TempDir(), "keytab")
	if err := os.WriteFile(keytab, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := conftest.With(t, map[string]string{ManagerKeytab: keytab})
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o604: true} {
		if err := os.Chmod(keytab, mode); err != nil {
			t.Fatal(err)
		}
		for _, role := range []conf.Role{conf.ResourceManager, conf.NodeManager} {
			all := Exposed(c, role)
			want := warned && role == conf.ResourceManager
			if (len(all) == 1) != want || want && (all[0].Severity != conf.Warning || !strings.Contains(all[0].String(), "chmod o-r "+keytab)) {
				t.Errorf("%o, %v: %v", mode, role, all)
			}
		}
	}
	c.Set(ManagerKeytab, keytab+".missing")
	if all := Exposed(c, conf.ResourceManager); len(all) > 0 {
		t.Error(all)
	}
}

// Applications' tokens name a renewer with the ResourceManager's host, whoever asks for them: one part of the library left _HOST in it.
func TestRenewer(t *testing.T) {
	c := conftest.With(t, map[string]string{
		ManagerAccount: "rm/_HOST@R", "yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b,c",
		"yarn.resourcemanager.hostname.a": "LocalHost", "yarn.resourcemanager.hostname.b": "127.0.0.2", "yarn.resourcemanager.hostname.c": "127.0.0.3",
	})
	if got := Renewer(c); got != "rm/localhost@R" {
		t.Errorf("%q", got)
	}
	c.Set(ManagerAccount, "rm/fixed@R")
	if got := Renewer(c); got != "rm/fixed@R" {
		t.Errorf("%q", got)
	}
}
