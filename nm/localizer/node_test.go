package localizer

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/internal/publicdir"
	"heddle/internal/userfiles"
	"heddle/nm/nmtest"
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

func (g *gatedSource) Open(ctx context.Context, by Reader, at Location) (io.ReadCloser, error) {
	r, err := g.LocalFiles.Open(ctx, by, at)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	if g.opened == nil {
		g.opened, g.users = map[string]int{}, map[string][]string{}
	}
	g.opened[at.Path]++
	g.users[at.Path] = append(g.users[at.Path], by.onHDFS())
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
	base := publicdir.New(t, "/var/tmp")
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

// diskUse adds up the files below a local directory.
func diskUse(path string) (int64, error) {
	d, err := userfiles.OpenDir(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	defer d.Close()
	left := mostFiles
	return sizeOf(d, filepath.Base(path), 0, &left)
}
