package localizer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// gatedSource counts what is opened, and can hold back the first read of every file.
type gatedSource struct {
	LocalFiles
	mu     sync.Mutex
	opened map[string]int
	users  map[string][]string // who read a path
	active int
	most   int           // downloads that were open at the same time
	gate   chan struct{} // nil: open
	waits  chan string   // gets the path of every file whose read is held back
}

func (g *gatedSource) Open(ctx context.Context, user string, at Location) (io.ReadCloser, error) {
	r, err := g.LocalFiles.Open(ctx, user, at)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	if g.opened == nil {
		g.opened, g.users = map[string]int{}, map[string][]string{}
	}
	g.opened[at.Path]++
	g.users[at.Path] = append(g.users[at.Path], user)
	g.active++
	g.most = max(g.most, g.active)
	gate := g.gate
	g.mu.Unlock()
	return &gatedReader{ReadCloser: r, g: g, gate: gate, path: at.Path, closed: make(chan struct{})}, nil
}

func (g *gatedSource) count(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened[path]
}

type gatedReader struct {
	io.ReadCloser
	g      *gatedSource
	gate   chan struct{}
	path   string
	once   sync.Once
	closed chan struct{}
}

func (r *gatedReader) Read(p []byte) (int, error) {
	if r.gate != nil {
		if r.g.waits != nil {
			select {
			case r.g.waits <- r.path:
			case <-r.closed:
			}
		}
		select {
		case <-r.gate:
			r.gate = nil
		case <-r.closed:
			return 0, os.ErrClosed
		}
	}
	return r.ReadCloser.Read(p)
}

func (r *gatedReader) Close() error {
	r.once.Do(func() {
		close(r.closed)
		r.g.mu.Lock()
		r.g.active--
		r.g.mu.Unlock()
	})
	return r.ReadCloser.Close()
}

// node is a Localizer with local directories and a place for sources.
type node struct {
	*Localizer
	t      testing.TB
	dirs   nmtest.Dirs
	src    string
	source *gatedSource
	store  *nmtest.Store
	clock  time.Time
	config Config
}

func newNode(t testing.TB, adjust ...func(*Config)) *node {
	t.Helper()
	base := publicTempDir(t)
	n := &node{
		t:      t,
		dirs:   nmtest.Dirs{filepath.Join(base, "d0"), filepath.Join(base, "d1")},
		src:    filepath.Join(base, "src"),
		source: &gatedSource{},
		store:  &nmtest.Store{},
		clock:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, d := range append(slices.Clone(n.dirs), n.src) {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.config = Config{
		Dirs: n.dirs, Source: Sources{"file": n.source}, Store: n.store, Reserve: -1,
		Now: func() time.Time { return n.clock },
	}
	for _, f := range adjust {
		f(&n.config)
	}
	n.start()
	t.Cleanup(func() { n.Localizer.Close() })
	return n
}

func (n *node) start() {
	n.t.Helper()
	l, err := New(n.config)
	if err != nil {
		n.t.Fatal(err)
	}
	n.Localizer = l
}

// publicTempDir is a temporary directory that everybody can pass through, unlike t.TempDir's.
func publicTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "localizer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// file writes a source and returns it as a resource.
func (n *node) file(name, content string, v Visibility) Resource {
	n.t.Helper()
	p := filepath.Join(n.src, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		n.t.Fatal(err)
	}
	return resource(n.t, p, File, v)
}

func resource(t testing.TB, path string, typ Type, v Visibility) Resource {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return Resource{
		Location: Location{Scheme: "file", Path: path}, Type: typ, Visibility: v,
		Size: fi.Size(), Timestamp: fi.ModTime().UnixMilli(),
	}
}

func app(n int32) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: 1700000000000, ID: n}
}

func container(a int32, n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: app(a), Attempt: 1}, ID: n}
}

// get localizes one resource for a container and returns its path.
func (n *node) get(id records.ContainerID, user string, r Resource) string {
	n.t.Helper()
	res, err := n.Localize(n.t.Context(), Request{Container: id, User: user, Resources: map[string]Resource{"x": r}})
	if err != nil {
		n.t.Fatal(err)
	}
	return res.Paths["x"]
}

func (n *node) fail(id records.ContainerID, user string, r Resource) error {
	n.t.Helper()
	_, err := n.Localize(n.t.Context(), Request{Container: id, User: user, Resources: map[string]Resource{"x": r}})
	if err == nil {
		n.t.Fatalf("%s was localized", r.Location)
	}
	return err
}

func mode(t testing.TB, path string) fs.FileMode {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode().Perm()
}

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

func TestCaching(t *testing.T) {
	n := newNode(t)
	pub, priv := n.file("pub", "public", Public), n.file("priv", "private", Private)
	appl := n.file("appl", "application", Application)
	all := map[string]Resource{"a": pub, "b": priv, "c": appl}
	first, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := first.Counters.String(), "24,0,3,0,0"; got != want {
		t.Errorf("counters of the first container: %s, want %s", got, want)
	}
	second, err := n.Localize(t.Context(), Request{Container: container(1, 2), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := second.Counters.String(), "0,24,0,3,0"; got != want {
		t.Errorf("counters of the second container: %s, want %s", got, want)
	}
	if !maps.Equal(first.Paths, second.Paths) {
		t.Errorf("paths differ: %v, %v", first.Paths, second.Paths)
	}
	other, err := n.Localize(t.Context(), Request{Container: container(2, 1), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if other.Paths["a"] != first.Paths["a"] || other.Paths["b"] != first.Paths["b"] || other.Paths["c"] == first.Paths["c"] {
		t.Errorf("another application of the user got %v after %v", other.Paths, first.Paths)
	}
	bob, err := n.Localize(t.Context(), Request{Container: container(3, 1), User: "bob", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if bob.Paths["a"] != first.Paths["a"] || bob.Paths["b"] == first.Paths["b"] {
		t.Errorf("another user got %v after %v", bob.Paths, first.Paths)
	}
	for p, want := range map[string]string{pub.Location.Path: "", priv.Location.Path: "alice"} {
		if got := n.source.users[p][0]; got != want {
			t.Errorf("%s was read as %q, want %q", p, got, want)
		}
	}
}

func TestOneDownloadForMany(t *testing.T) {
	n := newNode(t)
	n.source.gate = make(chan struct{})
	r := n.file("jar", strings.Repeat("x", 1000), Public)
	var wg sync.WaitGroup
	const many = 50
	for i := range int64(many) {
		wg.Go(func() { n.get(container(1, i), fmt.Sprint("user", i%3), r) })
	}
	await.Until(t, "all containers wait", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.held) == many
	})
	close(n.source.gate)
	wg.Wait()
	if got := n.source.count(r.Location.Path); got != 1 {
		t.Errorf("downloaded %d times", got)
	}
	if u := n.Usage(); u.Resources != 1 || u.Referenced != 1 {
		t.Errorf("usage: %v", u)
	}
}

func TestDownloadsAreBounded(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Threads = 3 })
	n.source.gate = make(chan struct{})
	resources := map[string]Resource{}
	for i := range 20 {
		name := fmt.Sprint("f", i)
		resources[name] = n.file(name, name, Private)
	}
	done := make(chan error, 1)
	go func() {
		_, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: resources})
		done <- err
	}()
	await.Until(t, "three downloads run", func() bool {
		n.source.mu.Lock()
		defer n.source.mu.Unlock()
		return n.source.active == 3
	})
	close(n.source.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n.source.most != 3 {
		t.Errorf("%d downloads ran at a time, want 3", n.source.most)
	}
}

// A killed container's download stops unless somebody else waits for it.
func TestCancel(t *testing.T) {
	n := newNode(t)
	n.source.gate = make(chan struct{})
	shared, own := n.file("shared", "s", Public), n.file("own", "o", Private)
	ctx, kill := context.WithCancel(t.Context())
	killed, other := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := n.Localize(ctx, Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"s": shared, "o": own}})
		killed <- err
	}()
	go func() {
		_, err := n.Localize(t.Context(), Request{Container: container(2, 1), User: "bob", Resources: map[string]Resource{"s": shared}})
		other <- err
	}()
	await.Until(t, "both downloads run for both containers", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.source.mu.Lock()
		defer n.source.mu.Unlock()
		return len(n.held) == 2 && n.source.active == 2
	})
	kill()
	if err := <-killed; !errors.Is(err, context.Canceled) {
		t.Errorf("the killed container got %v", err)
	}
	await.Until(t, "its own download stops", func() bool {
		n.source.mu.Lock()
		defer n.source.mu.Unlock()
		return n.source.active == 1
	})
	close(n.source.gate)
	if err := <-other; err != nil {
		t.Errorf("the other container got %v", err)
	}
	await.Until(t, "nothing of the cancelled download is left", func() bool {
		left := slots(t, n.dirs, "usercache/alice/filecache")
		return len(left) == 0 && n.store.Len() == 1
	})
	if got := n.source.count(shared.Location.Path); got != 1 {
		t.Errorf("the shared resource was downloaded %d times", got)
	}
	// And it can be had again.
	n.source.gate = nil
	n.get(container(1, 2), "alice", own)
}

// slots lists the entries of a cache in all local directories.
func slots(t testing.TB, dirs []string, cache string) []string {
	t.Helper()
	var found []string
	for _, d := range dirs {
		entries, err := os.ReadDir(filepath.Join(d, cache))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			found = append(found, e.Name())
		}
	}
	return found
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

func TestMissingFileIsFetchedAgain(t *testing.T) {
	n := newNode(t)
	r := n.file("f", "content", Public)
	p := n.get(container(1, 1), "alice", r)
	if err := os.RemoveAll(filepath.Dir(p)); err != nil {
		t.Fatal(err)
	}
	again := n.get(container(1, 2), "alice", r)
	if again == p {
		t.Errorf("slot %s was used twice", p)
	}
	if _, err := os.Stat(again); err != nil {
		t.Error(err)
	}
	n.Release(container(1, 1))
	n.Release(container(1, 2))
	if u := n.Usage(); u.Resources != 1 || u.Referenced != 0 {
		t.Errorf("usage %v", u)
	}
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

func TestEviction(t *testing.T) {
	n := newNode(t, func(c *Config) { c.TargetSize = 250 })
	var paths []string
	var rs []Resource
	for i := range 5 {
		r := n.file(fmt.Sprint("f", i), strings.Repeat("x", 100), []Visibility{Public, Private}[i%2])
		n.clock = n.clock.Add(time.Second)
		paths = append(paths, n.get(container(1, int64(i)), "alice", r))
		rs = append(rs, r)
	}
	if freed := n.Clean(); freed != 0 {
		t.Errorf("resources in use were removed: %d bytes", freed)
	}
	for _, i := range []int64{3, 1, 0, 2} { // 4 stays in use; 3 is the least recently used
		n.clock = n.clock.Add(time.Second)
		n.Release(container(1, i))
	}
	n.clock = n.clock.Add(time.Second)
	n.get(container(2, 1), "alice", rs[3]) // and now it isn't any more
	n.Release(container(2, 1))
	if freed := n.Clean(); freed != 300 {
		t.Errorf("removed %d bytes, want 300", freed)
	}
	for i, p := range paths {
		_, err := os.Stat(p)
		if gone, want := err != nil, i <= 2; gone != want {
			t.Errorf("resource %d: gone %v, want %v", i, gone, want)
		}
	}
	if _, err := os.Stat(filepath.Dir(paths[0])); err == nil {
		t.Error("the slot of a removed resource is still there")
	}
	if got := n.store.Len(); got != 2 {
		t.Errorf("%d records in the store, want 2", got)
	}
	if freed := n.Clean(); freed != 0 {
		t.Errorf("the second cleaning removed %d bytes", freed)
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
