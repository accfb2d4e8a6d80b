package oci

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesOfImages(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for text, want := range map[string]string{
		"busybox":                             "/busybox latest",
		"busybox:1.36":                        "/busybox 1.36",
		"team/python:3.11":                    "/team/python 3.11",
		"registry.example.com:5000/a/b:c":     "registry.example.com:5000/a/b c",
		"localhost/x":                         "localhost/x latest",
		"team/python" + digest:                "/team/python ",
		"":                                    "",
		"../etc":                              "",
		"a/../b":                              "",
		"a//b":                                "",
		"/etc/passwd":                         "",
		"a/.hidden":                           "",
		"a:":                                  "",
		"a:..":                                "",
		"a:b/c":                               "",
		"a b":                                 "",
		"a\nb":                                "",
		"a\x00b":                              "",
		"--privileged":                        "",
		"$(id)":                               "",
		"A/b":                                 "",
		"ä":                                   "",
		"a@sha256:" + strings.Repeat("g", 64): "",
		"a@md5:0123":                          "",
		"..evil.com/x":                        "",
		"reg:99999999/x":                      "",
		"a:" + strings.Repeat("x", 129):       "",
		strings.Repeat("a/", 400) + "b":       "",
	} {
		n, err := ParseName(text)
		got := n.Registry + "/" + n.Repository + " " + n.Tag
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTrustedRegistries(t *testing.T) {
	for _, c := range []struct {
		name, registries string
		want             bool
	}{
		{"busybox", "library", true},
		{"library/busybox", "library", true},
		{"team/x", "library", false},
		{"team/x", "team", true},
		{"team/x", "team/", true},
		{"teamevil/x", "team", false},
		{"reg.example.com/team/x", "team", false},
		{"reg.example.com/team/x", "reg.example.com", true},
		{"reg.example.com.evil.org/team/x", "reg.example.com", false},
		{"x", "", false},
		{"team/x", "/", false},
	} {
		n, err := ParseName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Trusted(strings.Split(c.registries, ",")); got != c.want {
			t.Errorf("%s of %q: %v", c.name, c.registries, got)
		}
	}
}

// Whatever a name is, its folder lies below that of images, and its text gives the same name again.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"a", "a/b:c", "r.x:5/a", "a@sha256:" + strings.Repeat("0", 64), "../a", "a:b@sha256:" + strings.Repeat("f", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseName(text)
		if err != nil {
			return
		}
		if p := n.Path(); !filepath.IsLocal(p) || p == "." || strings.ContainsAny(p+n.Tag, "\x00\n: ") || strings.Contains(n.Tag, "/") || n.Tag == ".." {
			t.Errorf("%q lies at %q, tag %q", text, p, n.Tag)
		}
		if again, err := ParseName(n.String()); err != nil || again != n {
			t.Errorf("%q is %+v, and then %+v, %v", text, n, again, err)
		}
	})
}
