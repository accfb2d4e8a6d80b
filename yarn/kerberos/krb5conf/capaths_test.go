package krb5conf

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestWaysBetweenRealms(t *testing.T) {
	dir := write(t, map[string]string{
		"krb5.conf": "[libdefaults]\n default_realm = A.COM\n[capaths]\n A.COM = {\n  D.COM = B.COM\n  D.COM = C.COM\n  E.COM = .\n  F.COM = B.COM E.COM\n }\n" +
			" EU.A.COM = {\n  US.A.COM = .\n }\ninclude DIR/more\n",
		"more": "[capaths]\n A.COM = {\n  G.COM = D.COM\n }\n",
	})
	c, err := Load(filepath.Join(dir, "krb5.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range [][]string{
		{"A.COM", "D.COM", "B.COM", "C.COM"},
		{"A.COM", "E.COM"},
		{"A.COM", "F.COM", "B.COM", "E.COM"},
		{"A.COM", "G.COM", "D.COM"},
		{"EU.A.COM", "US.A.COM"},
		{"US.A.COM", "EU.A.COM", "A.COM"}, // by their names from here on
		{"X.EU.A.COM", "A.COM", "EU.A.COM"},
		{"A.COM", "X.EU.A.COM", "EU.A.COM"},
		{"X.EU.A.COM", "US.A.COM", "EU.A.COM", "A.COM"},
		{"A.COM", "B.COM", "COM"},
		{"A.COM", "B.ORG"},
		{"A.COM", "A.COM"},
		{"", ""},
	} {
		if got := c.Between(way[0], way[1]); !slices.Equal(got, way[2:]) {
			t.Errorf("from %s to %s: %q, want %q", way[0], way[1], got, way[2:])
		}
	}
}
