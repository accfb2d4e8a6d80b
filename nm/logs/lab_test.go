package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

// diskFS is a remote file system in a local directory, which remembers who did what and can be made to fail.
type diskFS struct {
	root string

	mu    sync.Mutex
	fail  func(op, name string) error
	calls []string
	users map[string]string // who created a file
	borne string            // the credentials that came last
}

type diskUser struct {
	*diskFS
	user string
}

func (d *diskFS) As(user string) FS { return diskUser{d, user} }

func (d *diskFS) Bearing(user string, credentials []byte) FS {
	d.mu.Lock()
	d.borne = string(credentials)
	d.mu.Unlock()
	return d.As(user)
}

func (d diskUser) do(op, name string) (string, error) {
	d.mu.Lock()
	d.calls = append(d.calls, op+" "+name)
	fail := d.fail
	d.mu.Unlock()
	if fail != nil { // it may block until a test has seen the call
		if err := fail(op, name); err != nil {
			return "", &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
	return filepath.Join(d.root, name), nil
}

type failingWriter struct {
	*os.File
	d    diskUser
	name string
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if _, err := w.d.do("write", w.name); err != nil {
		return 0, err
	}
	return w.File.Write(p)
}

func (d diskUser) Create(_ context.Context, name string, perm fs.FileMode) (io.WriteCloser, error) {
	p, err := d.do("create", name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	if d.users == nil {
		d.users = map[string]string{}
	}
	d.users[name] = d.user
	d.mu.Unlock()
	return &failingWriter{f, d, name}, nil
}

type diskFile struct {
	*os.File
	size int64
}

func (f diskFile) Size() int64 { return f.size }

func (d diskUser) Open(_ context.Context, name string) (File, error) {
	p, err := d.do("open", name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	return diskFile{f, fi.Size()}, err
}

func diskInfo(fi os.FileInfo) FileInfo {
	return FileInfo{Name: fi.Name(), Size: fi.Size(), ModTime: fi.ModTime().UnixMilli(), Mode: fi.Mode()}
}

func (d diskUser) Stat(_ context.Context, name string) (FileInfo, error) {
	p, err := d.do("stat", name)
	if err != nil {
		return FileInfo{}, err
	}
	fi, err := os.Stat(p)
	if err != nil {
		return FileInfo{}, err
	}
	return diskInfo(fi), nil
}

func (d diskUser) List(_ context.Context, name string) (infos []FileInfo, err error) {
	p, err := d.do("list", name)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p)
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			return nil, err
		}
		infos = append(infos, diskInfo(fi))
	}
	return infos, err
}

func (d diskUser) MkdirAll(_ context.Context, name string, perm fs.FileMode) error {
	p, err := d.do("mkdir", name)
	if err != nil {
		return err
	}
	return os.MkdirAll(p, perm.Perm()&0o755)
}

func (d diskUser) Chmod(_ context.Context, name string, mode fs.FileMode) error {
	p, err := d.do("chmod", name)
	if err != nil {
		return err
	}
	return os.Chmod(p, mode)
}

func (d diskUser) Rename(_ context.Context, from, to string) error {
	p, err := d.do("rename", from)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(d.root, to)); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return os.Rename(p, filepath.Join(d.root, to))
}

func (d diskUser) Remove(_ context.Context, name string, recursive bool) error {
	p, err := d.do("remove", name)
	if err != nil {
		return err
	}
	if recursive {
		return os.RemoveAll(p)
	}
	return os.Remove(p)
}

func (d *diskFS) failWith(f func(op, name string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = f
}

func (d *diskFS) count(op string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, c := range d.calls {
		if strings.HasPrefix(c, op+" ") {
			n++
		}
	}
	return n
}

// lab is an Aggregator between two log directories and a remote file system.
type lab struct {
	*Aggregator
	t      testing.TB
	dirs   nmtest.Dirs
	remote *diskFS
	store  *nmtest.Store
	cfg    Config
	ended  chan outcome
}

type outcome struct {
	app records.ApplicationID
	err error
}

var (
	testNode = records.NodeID{Host: "host.example.com", Port: 8041}
	app1     = records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 10012}
)

const app1Dir = "/logs/alice/bucket-logs-tfile/0012/application_1700000000000_10012"

func newLab(t testing.TB, adjust ...func(*Config)) *lab {
	t.Helper()
	base := t.TempDir()
	l := &lab{
		t: t, dirs: nmtest.Dirs{filepath.Join(base, "log0"), filepath.Join(base, "log1")},
		remote: &diskFS{root: filepath.Join(base, "remote")}, store: &nmtest.Store{}, ended: make(chan outcome, 100),
	}
	for _, d := range append(slices.Clone(l.dirs), l.remote.root) {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.cfg = Config{
		Dirs: l.dirs, Remote: l.remote, Place: Place{Root: "/logs", Suffix: "logs-tfile"}, Node: testNode, Store: l.store,
		RetryFirst: time.Millisecond, RetryFor: time.Minute,
		Finished: func(app records.ApplicationID, err error) { l.ended <- outcome{app, err} },
	}
	for _, f := range adjust {
		f(&l.cfg)
	}
	l.start()
	t.Cleanup(func() { l.Stop(context.Background(), false) })
	return l
}

func (l *lab) start() {
	l.t.Helper()
	a, err := NewAggregator(l.cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Aggregator = a
}

// begin starts app1 of alice.
func (l *lab) begin(w Wishes) {
	l.t.Helper()
	if err := l.StartApplication(Start{App: app1, User: "alice", Tokens: []byte("alice's tokens"), ACLs: map[string]string{ViewApp: "alice"}, Wishes: w}); err != nil {
		l.t.Fatal(err)
	}
}

func c1(n int64) records.ContainerID {
	return records.ContainerID{Attempt: records.AttemptID{App: app1, Attempt: 1}, ID: n}
}

// log writes a log of a container of app1. It appears whole, as logs do that roll.
func (l *lab) log(dir int, id records.ContainerID, name, content string) string {
	l.t.Helper()
	p := filepath.Join(l.dirs[dir], id.Attempt.App.String(), id.String(), name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		l.t.Fatal(err)
	}
	whole := filepath.Join(l.t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(whole, []byte(content), 0o644); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(whole, p); err != nil {
		l.t.Fatal(err)
	}
	return p
}

// finish ends app1 and waits for what becomes of its logs.
func (l *lab) finish() error {
	l.t.Helper()
	l.FinishApplication(app1)
	return l.wait()
}

func (l *lab) wait() error {
	l.t.Helper()
	select {
	case o := <-l.ended:
		if o.app != app1 {
			l.t.Errorf("%s ended", o.app)
		}
		return o.err
	case <-time.After(time.Minute):
		l.t.Fatal("the application's logs are never dealt with")
		return nil
	}
}

// files returns the names of the remote files of app1.
func (l *lab) files() []string {
	l.t.Helper()
	entries, err := os.ReadDir(filepath.Join(l.remote.root, app1Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// remoteLogs returns what a remote file of app1 holds, as "container number/name=content".
func (l *lab) remoteLogs(name string) []string {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.remote.root, app1Dir, name))
	if err != nil {
		l.t.Fatal(err)
	}
	logs, err := readLogs(b)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, e := range logs {
		out = append(out, fmt.Sprintf("%d/%s=%s", containerID(l.t, e.container).Sequence(), e.name, e.content))
	}
	return out
}

func (l *lab) statuses() []string {
	var out []string
	for _, r := range l.TakeReports() {
		out = append(out, strings.TrimPrefix(r.Status.String(), "LOG_"))
	}
	return out
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// Chown records the group that a folder is given.
func (d diskUser) Chown(_ context.Context, name, owner, group string) error {
	_, err := d.do("chown "+owner+":"+group, name)
	return err
}
