package krb5conf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
)

// write writes files, with DIR in their texts for the folder's path, and returns that.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The file of a RHEL-style machine keeps realm and KDCs in a folder that it includes.
func TestIncludedFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"krb5.conf": "# comment\nincludedir DIR/krb5.conf.d\n[logging]\n default = FILE:/var/log/krb5libs.log\n[libdefaults]\n dns_lookup_realm = false\n default_realm = LAST.COM\n" +
			" clockskew = 120\n[realms]\n[domain_realm]\n .example.com = EXAMPLE.COM\n",
		"krb5.conf.d/10-realm": "[libdefaults]\n default_realm = EXAMPLE.COM\n ticket_lifetime = 10h\n[realms]\n EXAMPLE.COM = {\n  kdc = kdc1.example.com\n  master_kdc = kdc1.example.com\n" +
			"  kdc = kdc2.example.com:89\n  auth_to_local_names = {\n   a = b\n  }\n }\n",
		"krb5.conf.d/20.conf":      "include DIR/more\n[libdefaults]\n ticket_lifetime = 1h\n[appdefaults]\n pam = {\n  debug = false\n }\n",
		"krb5.conf.d/.hidden.conf": "[libdefaults]\n default_realm = HIDDEN.COM\n",
		"krb5.conf.d/old.rpmsave":  "nonsense",
		"more":                     "[realms]\n OTHER.COM = {\n  kdc = kdc.other.com\n }\n EXAMPLE.COM = {\n  kdc = kdc3.example.com\n  default_domain = example.com\n }\n",
	})
	c, err := Load(filepath.Join(dir, "krb5.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if l := c.LibDefaults; l.DefaultRealm != "EXAMPLE.COM" || l.TicketLifetime != 10*time.Hour || l.Clockskew != 2*time.Minute {
		t.Errorf("realm %s, lifetime %v, skew %v", l.DefaultRealm, l.TicketLifetime, l.Clockskew)
	}
	kdcs := map[string][]string{}
	for _, r := range c.Realms {
		kdcs[r.Realm] = append(kdcs[r.Realm], r.KDC...)
	}
	if len(c.Realms) != 2 || !slices.Equal(kdcs["EXAMPLE.COM"], []string{"kdc1.example.com:88", "kdc2.example.com:89", "kdc3.example.com:88"}) ||
		!slices.Equal(kdcs["OTHER.COM"], []string{"kdc.other.com:88"}) {
		t.Errorf("KDCs %v of %d realms", kdcs, len(c.Realms))
	}
	if got := c.ResolveRealm("host.example.com"); got != "EXAMPLE.COM" {
		t.Errorf("host.example.com is in %s", got)
	}
}

func TestWrongFiles(t *testing.T) {
	for text, want := range map[string]string{
		"default_realm = X":                            "krb5.conf:1: a line before the first section",
		"[libdefaults]\n\n nonsense":                   `krb5.conf:3: "nonsense" isn't NAME = VALUE`,
		"[realms]\n X = {\n  kdc = y\n":                "a } is missing",
		"include DIR/none\n":                           "krb5.conf:1: ",
		"includedir DIR/none\n":                        "krb5.conf:1: includedir",
		"include krb5.conf\n":                          "must be absolute",
		"include DIR/krb5.conf\n":                      "files that include each other",
		"[libdefaults]\n clockskew = sometimes\n":      "clockskew",
		"[libdefaults]\n" + strings.Repeat("#", 1<<20): "longer than",
	} {
		dir := write(t, map[string]string{"krb5.conf": text})
		if _, err := Load(filepath.Join(dir, "krb5.conf")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: %v, want %s", text, err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for value, want := range map[string][]string{"": {DefaultPath}, ":": {DefaultPath}, "/a:/b": {"/a", "/b"}} {
		if got := Paths(value); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[libdefaults]\n default_realm = X\n[realms]\n X = {\n kdc = y\n }\n")
	f.Add("[realms]*\nX={\na={\n}\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		var j joined
		if err := j.parse("file", text, func(string, string) error { return nil }); err != nil {
			return
		}
		func() {
			defer func() { _ = recover() }() // as Load does
			_, _ = config.NewFromString(j.text())
		}()
		again := joined{}
		if err := again.parse("again", j.text(), func(string, string) error { return nil }); err != nil || again.text() != j.text() {
			t.Errorf("%q became %q, which becomes %q, %v", text, j.text(), again.text(), err)
		}
	})
}
