package deletion

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/nm/store"
)

func quiet() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

type lab struct {
	t     *testing.T
	root  string
	state *store.Store
}

func newLab(t *testing.T) *lab {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &lab{t: t, root: t.TempDir(), state: s}
}

func (l *lab) service(delay time.Duration) *Service {
	l.t.Helper()
	s, err := New(Options{Roots: []string{l.root}, Delay: delay, Workers: 2, Bucket: l.state.Bucket("deletion"), Log: quiet()})
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// run runs a service until done holds.
func (l *lab) run(s *Service, done func() bool) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	defer wg.Wait()
	defer cancel()
	await.Until(l.t, "deletions are done", done)
}

func (l *lab) tree(name string) string {
	l.t.Helper()
	dir := filepath.Join(l.root, name)
	if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/a/file", []byte("x"), 0o400); err != nil {
		l.t.Fatal(err)
	}
	return dir
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func TestLinksAreNotFollowed(t *testing.T) {
	l := newLab(t)
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/precious", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := l.tree("x")
	for _, link := range []string{dir + "/a/link", l.root + "/itself"} {
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
	}
	s := l.service(0)
	if err := s.Delete(dir, l.root+"/itself", l.root+"/not-there"); err != nil {
		t.Fatal(err)
	}
	l.run(s, func() bool { return len(s.Pending()) == 0 })
	if exists(dir) || exists(l.root+"/itself") || !exists(outside+"/precious") {
		t.Errorf("left %v, %v; outside %v", exists(dir), exists(l.root+"/itself"), exists(outside+"/precious"))
	}
}

func TestOutsideIsRefused(t *testing.T) {
	l := newLab(t)
	s := l.service(0)
	for _, path := range []string{l.root, "/", "/etc", l.root + "/../x", l.root + "x", "relative", "", l.root + "/a/../.."} {
		if err := s.Delete(path); err == nil || !strings.Contains(err.Error(), l.root) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if pending := s.Pending(); len(pending) > 0 {
		t.Errorf("pending %q", pending)
	}
}

func TestTasksSurviveARestart(t *testing.T) {
	l := newLab(t)
	dir := l.tree("x")
	if err := l.service(0).Delete(dir); err != nil {
		t.Fatal(err)
	}
	s := l.service(0)
	if got := s.Pending(); !slices.Equal(got, []string{dir}) {
		t.Fatalf("pending %q", got)
	}
	other := l.tree("y") // its key must not clash
	if err := s.Delete(other); err != nil {
		t.Fatal(err)
	}
	l.run(s, func() bool { return !exists(dir) && !exists(other) && len(s.Pending()) == 0 })
	if got := l.service(0).Pending(); len(got) > 0 {
		t.Errorf("still remembered: %q", got)
	}
}

func TestRootsThatChanged(t *testing.T) {
	l := newLab(t)
	dir := l.tree("x")
	if err := l.service(0).Delete(dir); err != nil {
		t.Fatal(err)
	}
	l.root = t.TempDir()
	s := l.service(0)
	l.run(s, func() bool { return len(s.Pending()) == 0 })
	if !exists(dir) {
		t.Error("deleted outside of the roots")
	}
}

// memory is a bucket without a disk, for tests in a bubble of virtual time.
type memory struct{ fail error }

func (m memory) PutJSON(string, any) error                        { return m.fail }
func (m memory) Delete(string) error                              { return nil }
func (m memory) ForEach(string, func(string, []byte) error) error { return nil }

func TestDelays(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		make := func(name string) string {
			if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(root, name)
		}
		s, err := New(Options{Roots: []string{root}, Delay: time.Minute, Bucket: memory{}, Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		go s.Run(ctx)
		late, now, own := make("late"), make("now"), make("own")
		if err := errors.Join(s.Delete(late), s.DeleteNow(now), s.DeleteAfter(2*time.Minute, own)); err != nil {
			t.Fatal(err)
		}
		for _, at := range []struct {
			after time.Duration
			left  []bool
		}{
			{time.Second, []bool{true, false, true}},
			{58 * time.Second, []bool{true, false, true}},
			{2 * time.Second, []bool{false, false, true}},
			{61 * time.Second, []bool{false, false, false}},
		} {
			time.Sleep(at.after)
			synctest.Wait()
			if got := []bool{exists(late), exists(now), exists(own)}; !slices.Equal(got, at.left) {
				t.Errorf("late, now, own: %v, want %v", got, at.left)
			}
		}
	})
}

func TestNeverDelete(t *testing.T) {
	l := newLab(t)
	s := l.service(-1)
	if err := errors.Join(s.Delete(l.tree("x")), s.DeleteNow(l.tree("y"))); err != nil || len(s.Pending()) > 0 {
		t.Errorf("pending %q, %v", s.Pending(), err)
	}
}

func TestAStateThatCannotBeWritten(t *testing.T) {
	root := t.TempDir()
	full := errors.New("disk full")
	s, err := New(Options{Roots: []string{root}, Bucket: memory{full}, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(root + "/x"); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
