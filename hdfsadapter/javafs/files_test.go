package javafs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/yarn/token"
)

var odd jvmtest.Once

func TestMain(m *testing.M) { odd.Main(m) }

// lab are Files with the file system of testdata/Odd.java, and the processes that they have started.
type lab struct {
	*Files
	mu   sync.Mutex
	pids []int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	dir := t.TempDir()
	l := &lab{}
	cfg := jvm.Config{
		Java: jvmtest.Java(t), JavaVersion: 17, JavaOptions: jvmtest.Options, HeapMB: 64, Dir: dir, Env: os.Environ(), Sweep: func() {}, Log: logrus.NewEntry(log),
		ClassPath: odd.Compile(t, "testdata/Odd.java") + ":" + filepath.Join(jvmtest.Hadoop(t), "*"),
		Confine: func(pid int) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.pids = append(l.pids, pid)
			return nil
		},
	}
	l.Files = New(Config{
		Patience: time.Minute, Properties: []string{"fs.odd.impl", "heddle.test.Odd"},
		Jar: func() (string, error) { return jvm.WriteJar(dir) }, JVM: func(string) (jvm.Config, error) { return cfg, nil },
	})
	t.Cleanup(l.Close)
	return l
}

func (l *lab) started() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.pids)
}

func at(path string) Place { return Place{Scheme: "odd", Path: path} }

// ordinary checks what a user does with files.
func ordinary(t *testing.T, v *FS, dir string) {
	ctx := t.Context()
	data := bytes.Repeat([]byte("0123456789abcdef"), 200000) // more than three chunks
	name := dir + "/sub/a b%41ü"
	w, err := v.Create(ctx, at(name), CreateOptions{Perm: 0o666})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Flush(), w.Close()); err != nil {
		t.Fatal(err)
	}
	info, err := v.Stat(ctx, at(name))
	if err != nil || info.Name != "a b%41ü" || info.Size != int64(len(data)) || info.Mode != 0o666 || time.Since(time.UnixMilli(info.ModTime)) > time.Hour {
		t.Errorf("%+v, %v", info, err)
	}
	r, err := v.Open(ctx, at(name))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	part := make([]byte, 5)
	if _, err := r.ReadAt(part, 2<<20-2); err != nil || string(part) != "ef012" {
		t.Errorf("%q, %v", part, err)
	}
	_, err = r.Seek(-3, io.SeekEnd)
	if got, _ := io.ReadAll(r); err != nil || string(got) != "def" {
		t.Errorf("%q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(part); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	changes(t, v, dir, name)
}

// changes checks renames, folders and the like.
func changes(t *testing.T, v *FS, dir, name string) {
	ctx := t.Context()
	for _, err := range []error{
		v.MkdirAll(ctx, at(dir+"/d/e"), 0o1777), v.MkdirAll(ctx, at(dir+"/d/e"), 0o700), v.Chmod(ctx, at(name), 0o640), v.Chtimes(ctx, at(name), 5000, 6000),
		v.Rename(ctx, at(name), at(dir+"/d/f"), false),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	all, err := v.List(ctx, at(dir+"/d"))
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	if err != nil || len(all) != 2 || all[0].Mode != fs.ModeDir|0o777 || all[1].ModTime != 5000 || all[1].Mode != 0o640 {
		t.Errorf("%+v, %v", all, err)
	}
	blocks, err := v.Blocks(ctx, at(dir+"/d/f"), 0, 100)
	if err != nil || len(blocks) != 1 || len(blocks[0].Hosts) != 0 {
		t.Errorf("%+v, %v", blocks, err)
	}
	for want, err := range map[string]error{
		"FileAlreadyExistsException": v.Rename(ctx, at(dir+"/d/f"), at(dir+"/sub"), false), // FileSystem.rename would move it into the folder
		"FileNotFoundException":      v.Remove(ctx, at(dir+"/nosuch"), true),
		"PathIsDirectoryException":   func() error { _, err := v.Open(ctx, at(dir+"/d")); return err }(),
		"AccessControlException":     func() error { _, err := v.Create(ctx, at("/denied"), CreateOptions{}); return err }(),
		"No FileSystem for scheme":   func() error { _, err := v.Stat(ctx, Place{Scheme: "nosuch", Path: "/a"}); return err }(),
		"not empty":                  v.Remove(ctx, at(dir+"/d"), false),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s: %v", want, err)
		}
	}
	if err := v.Remove(ctx, at(dir+"/d"), true); err != nil {
		t.Error(err)
	}
}

func credentials(t *testing.T, alias string) []byte {
	t.Helper()
	c := token.Credentials{Tokens: []token.NamedToken{{Alias: alias, Token: token.Token{Kind: "k", Service: alias}}}}
	b, err := c.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Files of a scheme that only Java knows are read and written as the user with the application's tokens, by one process of the user's that ends with the node.
func TestFiles(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	alice := l.As(Who{User: "alice", Tokens: credentials(t, "a")})
	ordinary(t, alice, t.TempDir())
	if who, err := alice.Stat(ctx, at("/whoami")); err != nil || who.Name != "alice" || who.Size != 1 {
		t.Errorf("it reads as %+v, %v", who, err)
	}
	for i := range 2 * maxSessions { // each application has tokens of its own
		if who, err := l.As(Who{User: "alice", Tokens: credentials(t, string(rune('a'+i)))}).Stat(ctx, at("/whoami")); err != nil || who.Size != 1 {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if who, err := l.As(Who{User: "alice"}).Stat(ctx, at("/whoami")); err != nil || who.Size != 0 {
		t.Errorf("without tokens: %+v, %v", who, err)
	}
	if n := len(l.started()); n != 1 {
		t.Errorf("%d processes", n)
	}
	l.mu.Lock()
	kept := len(l.users["alice"].sessions)
	l.mu.Unlock()
	if kept > maxSessions {
		t.Errorf("%d sessions are kept", kept)
	}
	if all, err := alice.List(ctx, at("/many")); err != nil || len(all) != 2*partEntries+1 || all[4000].Name != "4000" {
		t.Errorf("%d entries, %v", len(all), err)
	}
	l.Close()
	if _, err := alice.Stat(ctx, at("/whoami")); err == nil {
		t.Error("it reads after its end")
	}
	await.Until(t, "no process is left", func() bool {
		return !slices.ContainsFunc(l.started(), func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// A file system that hangs, exits or leaks costs its own user one process; other users go on. One user more than there is room for waits.
func TestOddFiles(t *testing.T) {
	l := newLab(t)
	mallory, bob := l.As(Who{User: "mallory"}), l.As(Who{User: "bob"})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := mallory.Stat(ctx, at("/hang"))
			over <- err
		}()
	}
	if who, err := bob.Stat(t.Context(), at("/whoami")); err != nil || who.Name != "bob" {
		t.Errorf("%+v, %v", who, err)
	}
	if who, err := mallory.Stat(t.Context(), at("/whoami")); err != nil || who.Name != "mallory" {
		t.Errorf("%+v, %v", who, err)
	}
	cancel()
	for range 3 {
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	w, err := mallory.Create(t.Context(), at(t.TempDir()+"/x"), CreateOptions{Perm: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"exit", "leak"} {
		if _, err := mallory.Stat(t.Context(), at("/"+order)); err == nil || !strings.Contains(err.Error(), "the JVM has ended") {
			t.Errorf("%s: %v", order, err)
		}
	}
	if err := w.Close(); err == nil {
		t.Error("a file whose process has ended is complete")
	}
	l.cfg.Patience = time.Millisecond
	if _, err := bob.Stat(t.Context(), at("/hang")); err == nil || !strings.Contains(err.Error(), PatienceKey) {
		t.Error(err)
	}
	if n := len(l.started()); n != 3 {
		t.Errorf("%d processes", n)
	}
}

// A user for whom there is no room waits until another's process is idle, and then that ends.
func TestUsersTakeTurns(t *testing.T) {
	f := New(Config{JVM: func(string) (jvm.Config, error) { return jvm.Config{}, errors.New("none") }})
	for i := range maxUsers {
		f.users[string(rune('a'+i))] = &process{user: string(rune('a' + i)), used: 1, ready: make(chan struct{}), sessions: map[[32]byte]*session{}}
		close(f.users[string(rune('a'+i))].ready)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.As(Who{User: "z"}).Stat(ctx, at("/x"))
		done <- err
	}()
	s := &session{files: f, process: f.users["a"], used: 1}
	select {
	case err := <-done:
		t.Fatal(err)
	default:
	}
	f.release(s)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users["a"] != nil || f.users["b"] == nil {
		t.Error("another one made room than the idle one")
	}
	cancel()
}

func FuzzReplies(f *testing.F) {
	var m jvm.Message
	f.Add(m.Integer(1).Integer(1).Text("a").Octet(1).Number(5).Number(6).Number(7).Integer(0o644).Text("o").Text("g").Integer(1).Number(8).B)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, all, err := decodeList(b); err == nil && len(all) > partEntries {
			t.Errorf("%d entries", len(all))
		}
		if all, err := decodeBlocks(b); err == nil && len(all) > maxBlocks {
			t.Errorf("%d blocks", len(all))
		}
	})
}
