package localizer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/pb"
)

func TestLayoutAndPermissions(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Dirs = nmtest.Dirs(c.Dirs.Writable()[:1]) })
	d := n.dirs[0]
	if _, err := n.InitApplication("alice", app(1)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v    Visibility
		want string
		file fs.FileMode
	}{
		{Public, d + "/filecache/10/f1.txt", 0o555},
		{Private, d + "/usercache/alice/filecache/10/f2.txt", 0o500},
		{Application, d + "/usercache/alice/appcache/application_1700000000000_0001/filecache/10/f3.txt", 0o500},
	} {
		r := n.file(filepath.Base(c.want), "content of "+c.want, c.v)
		got := n.get(container(1, 1), "alice", r)
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
		if content, _ := os.ReadFile(got); string(content) != "content of "+c.want {
			t.Errorf("%v: content %q", c.v, content)
		}
		if m := mode(t, got); m != c.file {
			t.Errorf("%s: mode %04o, want %04o", got, m, c.file)
		}
	}
	for path, want := range map[string]fs.FileMode{
		"filecache":                    0o755,
		"filecache/10":                 0o755,
		"usercache":                    0o755,
		"usercache/alice":              0o750,
		"usercache/alice/filecache":    0o710,
		"usercache/alice/filecache/10": 0o755,
		"usercache/alice/appcache":     0o710,
		"usercache/alice/appcache/" + app(1).String():                0o710,
		"usercache/alice/appcache/" + app(1).String() + "/filecache": 0o710,
	} {
		if m := mode(t, filepath.Join(d, path)); m != want {
			t.Errorf("%s: mode %04o, want %04o", path, m, want)
		}
	}
	if got := n.get(container(1, 1), "alice", n.file("f4.txt", "", Public)); got != d+"/filecache/11/f4.txt" {
		t.Errorf("second slot: %s", got)
	}
}

func TestFailures(t *testing.T) {
	n := newNode(t)
	changed := n.file("changed", "c", Private)
	changed.Timestamp -= 1500
	hidden := n.file("dir/hidden", "h", Public)
	if err := os.Chmod(filepath.Join(n.src, "dir"), 0o750); err != nil {
		t.Fatal(err)
	}
	unreadable := n.file("unreadable", "u", Public)
	if err := os.Chmod(unreadable.Location.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	missing := Resource{Location: Location{Scheme: "file", Path: n.src + "/nosuch"}, Type: File, Visibility: Private, Timestamp: 1}
	foreign := missing
	foreign.Location.Scheme = "s3a"
	inTree := n.file("tree/sub/secret", "s", Public)
	if err := os.Chmod(inTree.Location.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	tree := resource(t, filepath.Join(n.src, "tree"), File, Public)
	for _, c := range []struct {
		name string
		r    Resource
		want string
	}{
		{"timestamp", changed, `Resource file:` + n.src + `/changed changed on src filesystem - expected: "`},
		{"parent", hidden, "dir/hidden is not publicly accessible and as such cannot be part of the public cache. (file:" + n.src + "/dir has mode 0750)"},
		{"mode", unreadable, "unreadable is not publicly accessible and as such cannot be part of the public cache."},
		{"in a tree", tree, "tree is not publicly accessible"},
		{"missing", missing, "File does not exist: file:" + n.src + "/nosuch"},
		{"scheme", foreign, `no file system for scheme "s3a" of s3a:` + n.src + "/nosuch: this node reads file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := n.fail(container(1, 1), "alice", c.r)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q in it", err, c.want)
			}
			var of *Error
			if !errors.As(err, &of) || of.Container != container(1, 1) || of.Link != "x" {
				t.Errorf("%#v does not name container and link", err)
			}
		})
	}
	if n.store.Len() != 0 || len(slots(t, n.dirs, "filecache")) != 0 || len(slots(t, n.dirs, "usercache/alice/filecache")) != 0 {
		t.Error("failed downloads left something behind")
	}
	if u := n.Usage(); u != (Usage{}) {
		t.Errorf("usage after failures: %v", u)
	}
	for _, u := range []string{"", "..", "a/b"} {
		if err := n.fail(container(1, 1), u, missing); !strings.Contains(err.Error(), "is not a file name") {
			t.Errorf("user %q: %v", u, err)
		}
	}
}

// One bad resource fails the container at once, though another still downloads, and gives that one up.
func TestFailureDoesNotWait(t *testing.T) {
	n := newNode(t)
	n.source.gate = make(chan struct{})
	slow := n.file("aslow", "s", Private)
	bad := slow
	bad.Location.Path = n.src + "/zbad"
	_, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"a": slow, "z": bad}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
	await.Until(t, "the slow download is given up", func() bool { return n.Usage() == Usage{} && n.store.Len() == 0 })
}

// A size that is wrong is remarked upon, no more; one resource may have two names.
func TestWrongSizeAndTwoLinks(t *testing.T) {
	var logged bytes.Buffer
	log := logrus.New()
	log.SetOutput(&logged)
	n := newNode(t, func(c *Config) { c.Log = logrus.NewEntry(log) })
	r := n.file("f", "content", Private)
	r.Size = 3
	res, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"a": r, "b": r}})
	if err != nil || res.Paths["a"] != res.Paths["b"] {
		t.Fatalf("%v, %v", res.Paths, err)
	}
	n.Close()
	if !strings.Contains(logged.String(), "announced=3") || !strings.Contains(logged.String(), "size=7") {
		t.Errorf("logged:\n%s", logged.String())
	}
	if got := n.source.count(r.Location.Path); got != 1 {
		t.Errorf("downloaded %d times", got)
	}
}

func TestDirectoryResource(t *testing.T) {
	n := newNode(t)
	n.file("lib/a.txt", "a", Private)
	n.file("lib/sub/b.txt", "b", Private)
	r := resource(t, filepath.Join(n.src, "lib"), File, Private)
	p := n.get(container(1, 1), "alice", r)
	for name, want := range map[string]string{"a.txt": "a", "sub/b.txt": "b"} {
		if got, err := os.ReadFile(filepath.Join(p, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if m := mode(t, filepath.Join(p, "sub")); m != 0o700 {
		t.Errorf("mode of a sub-directory: %04o", m)
	}
}

func TestEndApplication(t *testing.T) {
	n := newNode(t)
	dirs, err := n.InitApplication("alice", app(1))
	if err != nil || len(dirs) != 2 {
		t.Fatalf("%v, %v", dirs, err)
	}
	n.get(container(1, 1), "alice", n.file("f", "content", Application))
	if err := os.MkdirAll(filepath.Join(dirs[1], "output/attempt_1/"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A download that is under way must not outlive the application.
	n.source.gate = make(chan struct{})
	n.source.waits = make(chan string)
	slow := n.file("slow", "content", Application)
	got := make(chan error, 1)
	go func() {
		_, err := n.Localize(t.Context(), Request{Container: container(1, 2), User: "alice", Resources: map[string]Resource{"s": slow}})
		got <- err
	}()
	<-n.source.waits
	if err := n.EndApplication("alice", app(1)); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("the container that waited got %v", err)
	}
	for _, d := range dirs {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", d, err)
		}
	}
	if n.store.Len() != 0 {
		t.Error("records of the application are left")
	}
	if err := n.EndApplication("alice", app(1)); err != nil {
		t.Errorf("ending it twice: %v", err)
	}
}

func TestClose(t *testing.T) {
	n := newNode(t)
	n.source.gate = make(chan struct{})
	n.source.waits = make(chan string)
	r := n.file("f", "f", Public)
	got := make(chan error, 1)
	go func() {
		_, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"x": r}})
		got <- err
	}()
	<-n.source.waits
	n.Close()
	// The download runs beside the call that wants it, which may not have come to waiting for it yet.
	if err := <-got; !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := n.fail(container(1, 1), "alice", r); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	good := Config{Dirs: nmtest.Dirs{}, Source: Sources{}}
	for key, c := range map[string]func(*Config){
		"max-files-per-directory": func(c *Config) { c.MaxFiles = 36 },
		"thread-count":            func(c *Config) { c.Threads = -1 },
		"target-size-mb":          func(c *Config) { c.TargetSize = -1 },
		"interval-ms":             func(c *Config) { c.Interval = -1 },
		"Source":                  func(c *Config) { c.Source = nil },
	} {
		bad := good
		c(&bad)
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestResourceFrom(t *testing.T) {
	m := &pb.LocalResource{}
	u := &pb.URL{}
	u.SetScheme("HDFS")
	u.SetHost("nn")
	u.SetPort(8020)
	u.SetFile("/a b/%41#x?.jar")
	m.SetResource(u)
	m.SetTimestamp(7)
	m.SetSize(9)
	if _, err := ResourceFrom(m); err == nil || !strings.Contains(err.Error(), "without a type") {
		t.Errorf("no type: %v", err)
	}
	m.SetType(pb.LocalResourceType_PATTERN)
	if _, err := ResourceFrom(m); err == nil || !strings.Contains(err.Error(), "without a visibility") {
		t.Errorf("no visibility: %v", err)
	}
	m.SetVisibility(pb.LocalResourceVisibility_APPLICATION)
	m.SetPattern("lib/.*")
	r, err := ResourceFrom(m)
	if err != nil {
		t.Fatal(err)
	}
	want := Resource{
		Location: Location{Scheme: "hdfs", Host: "nn", Port: 8020, Path: "/a b/%41#x?.jar"},
		Type:     Pattern, Visibility: Application, Size: 9, Timestamp: 7, Pattern: "lib/.*",
	}
	if r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if got := r.Location.String(); got != "hdfs://nn:8020/a b/%41#x?.jar" {
		t.Errorf("prints as %s", got)
	}
	for _, path := range []string{"", "relative", "/", "/a/..", "/a/.", "/a\x00b"} {
		u.SetFile(path)
		if r, err := ResourceFrom(m); err == nil {
			t.Errorf("path %q was taken as %+v", path, r)
		}
	}
	if _, err := ResourceFrom(&pb.LocalResource{}); err == nil {
		t.Error("a resource without URL was taken")
	}
}
