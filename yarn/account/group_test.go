package account

import (
	"strings"
	"testing"
)

func TestGroup(t *testing.T) {
	if gid, err := System.Group("root"); err != nil || gid != 0 {
		t.Errorf("root: %d, %v", gid, err)
	}
	for name, want := range map[string]string{"nosuchgroup": "no such group", "0": "number", "": "names have", "--version": "no such group"} {
		if gid, err := System.Group(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v, want an error with %q", name, gid, err, want)
		}
	}
}

// Whatever getent prints is the group's id or an error.
func FuzzParseGroup(f *testing.F) {
	f.Add("adm", "adm:x:4:syslog\n")
	f.Add("adm", "adm:x:-1:")
	f.Add("", "::4294967295")
	f.Fuzz(func(t *testing.T, name, line string) {
		if gid, err := parseGroup(name, line); err == nil && (gid < 0 || !strings.HasPrefix(line, name+":")) {
			t.Errorf("%q, %q: %d", name, line, gid)
		}
	})
}
