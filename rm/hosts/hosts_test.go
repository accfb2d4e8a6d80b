package hosts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLists(t *testing.T) {
	include := write(t, "include", "# all of them\na b\t c # and more\n\n10.0.0.4\n")
	exclude := write(t, "exclude.xml", `<?xml version="1.0"?><hosts>
		<host><name>b</name></host><host><name> C, d </name><timeout>120</timeout></host><host><name>e</name><timeout>-1</timeout></host></hosts>`)
	l, err := Files{Include: include, Exclude: exclude}.Read()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "A": true, "b": false, "c": false, "d": false, "10.0.0.4": true, "more": false, "all": false, "x": false} {
		if got := l.Admits(name); got != want {
			t.Errorf("%s is admitted: %v, want %v", name, got, want)
		}
	}
	if !l.Admits("somewhere", "10.0.0.4") {
		t.Error("a machine listed by its address is not admitted")
	}
	for name, want := range map[string]time.Duration{"b": Unset, "c": 2 * time.Minute, "D": 2 * time.Minute, "e": Unset} {
		if got, ok := l.Excluded("other", name); got != want || !ok {
			t.Errorf("%s is excluded: %v, with %v, want %v", name, ok, got, want)
		}
	}
	if _, ok := l.Excluded("a"); ok {
		t.Error("a is excluded")
	}
}

func TestNoLists(t *testing.T) {
	l, err := Files{}.Read()
	if err != nil || !l.Admits("any") {
		t.Errorf("without lists a machine is refused: %v", err)
	}
	if !(*Lists)(nil).Admits("any") {
		t.Error("nil refuses a machine")
	}
}

func TestBadLists(t *testing.T) {
	_, err := Files{Exclude: filepath.Join(t.TempDir(), "absent")}.Read()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "nodes.exclude-path") {
		t.Errorf("an absent file: %v", err)
	}
	for text, want := range map[string]string{
		"":         "no <hosts>",
		"<hosts>":  "unexpected EOF",
		"<nodes/>": "expected element type <hosts>",
		"<hosts><host><name>a</name><timeout>soon</timeout></host></hosts>": `host a is "soon"`,
	} {
		_, err := Files{Include: write(t, "include.xml", text)}.Read()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nodes.include-path") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseXML(f *testing.F) {
	f.Add([]byte("<hosts><host><name>a,b</name><timeout>1</timeout></host></hosts>"))
	f.Add([]byte("<hosts><!ENTITY a 'b'>&a;</hosts>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = parseXML(b, func(name string, timeout time.Duration) {
			if name == "" || timeout < Unset {
				t.Errorf("host %q with %v", name, timeout)
			}
		})
	})
}
