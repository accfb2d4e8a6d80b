//go:build unix

package userfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, path string, elems ...string) *Dir {
	t.Helper()
	d, err := OpenDir(path, elems...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Folders that a user nests without end are removed with few descriptors: os.RemoveAll takes one a level.
func TestAFolderOfAnyDepthIsRemoved(t *testing.T) {
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := open(t, base, "deep")
	const depth = 1000
	for i := range depth {
		next, err := at.Make("d", Want{Mode: 0o755, UID: Keep, GID: Keep})
		if err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			if err := at.Write("f", nil, Want{Mode: 0o600, UID: Keep, GID: Keep}); err != nil {
				t.Fatal(err)
			}
		}
		if i > 0 {
			at.Close()
		}
		at = next
	}
	at.Close()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 200
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	err := RemoveAll(base, "deep")
	if rerr := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); rerr != nil {
		t.Fatal(rerr)
	}
	if err != nil || !missing(filepath.Join(base, "deep")) {
		t.Error(err)
	}
}

// Links are removed, not what they lead to, wherever in a path they are.
func TestNothingIsRemovedThroughLinks(t *testing.T) {
	base := t.TempDir()
	write(t, base+"/other/f", "x")
	write(t, base+"/own/sub/g", "x")
	for from, to := range map[string]string{"own/link": base + "/other", "own/sub/up": "..", "planted": "other"} {
		if err := os.Symlink(to, filepath.Join(base, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveAll(base, "planted", "f"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("through a link: %v", err)
	}
	if err := Remove(base, "planted", "f"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("through a link: %v", err)
	}
	if err := errors.Join(RemoveAll(base, "own"), RemoveAll(base, "planted"), RemoveAll(base, "none"), RemoveAll(base, "none", "f")); err != nil {
		t.Error(err)
	}
	if missing(base+"/other/f") || !missing(base+"/own") || !missing(base+"/planted") {
		t.Error("the wrong things are gone")
	}
}

// A folder that belongs to somebody else isn't handed to a user who has moved it to where his own is expected.
func TestAFolderOfSomebodyElsesIsNotHandedOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	const user, other = 65534, 65533
	base := t.TempDir()
	d := open(t, base)
	write(t, base+"/ours/f", "x")
	write(t, base+"/his/f", "x")
	if err := errors.Join(os.Mkdir(base+"/new", 0o700), os.Chown(base+"/his", other, other), os.Symlink("his", base+"/link")); err != nil {
		t.Fatal(err)
	}
	// a user may have moved it here
	if err := os.Chmod(base, 0o777); err != nil {
		t.Fatal(err)
	}
	want := Want{Mode: 0o710, UID: user, GID: user}
	for _, name := range []string{"ours", "his"} {
		if next, err := d.Make(name, want); !errors.Is(err, ErrOwner) {
			t.Errorf("%s: %v, %v", name, next, err)
		}
	}
	if next, err := d.Make("link", want); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a link: %v, %v", next, err)
	}
	for _, name := range []string{"new", "fresh", "fresh"} {
		next, err := d.Make(name, want)
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := next.Stat(); err != nil || Owner(fi) != user || fi.Mode() != fs.ModeDir|0o710 {
			t.Errorf("%s: %v, %v", name, fi.Mode(), err)
		}
		next.Close()
	}
	if fi, err := d.Stat("his"); err != nil || Owner(fi) != other {
		t.Errorf("%v, %v", fi, err)
	}
	if next, err := d.New("fresh"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, %v", next, err)
	}
	// where nobody else can move anything it is surely ours
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	next, err := d.Make("ours", Want{Mode: fs.ModeSetgid | 0o750, UID: user, GID: other})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if fi, err := next.Stat(); err != nil || Owner(fi) != user || fi.Mode() != fs.ModeDir|fs.ModeSetgid|0o750 {
		t.Errorf("ours: %v, %v", fi.Mode(), err)
	}
	if next, err := d.Make("his", want); !errors.Is(err, ErrOwner) {
		t.Errorf("his: %v, %v", next, err)
	}
}

// What is taken out of a user's folder is a file of the user's and nothing else.
func TestOnlyAFileOfTheUsersIsTaken(t *testing.T) {
	base := t.TempDir()
	write(t, base+"/other", "secret")
	write(t, base+"/from/good", "good")
	write(t, base+"/from/large", strings.Repeat("x", 100))
	write(t, base+"/from/folder/f", "x")
	if err := errors.Join(os.Mkdir(base+"/to", 0o700), os.Symlink(base+"/other", base+"/from/link"),
		os.Link(base+"/other", base+"/from/hard"), syscall.Mkfifo(base+"/from/pipe", 0o600)); err != nil {
		t.Fatal(err)
	}
	from, to := open(t, base, "from"), open(t, base, "to")
	for name, want := range map[string]string{
		"link": "too many levels", "hard": "has 2 names", "pipe": "not a regular file", "folder": "not a regular file", "large": "100 bytes", "none": "no such file",
	} {
		if err := from.Take(name, os.Getuid(), 50, to, "taken", 0o400); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if left, err := to.List(); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := from.Take("good", os.Getuid()+1, 50, to, "taken", 0o400); !errors.Is(err, ErrOwner) {
		t.Error(err)
	}
	write(t, base+"/from/good", "good")
	if err := from.Take("good", os.Getuid(), 50, to, "taken", 0o400); err != nil {
		t.Error(err)
	}
	if fi, err := to.Stat("taken"); err != nil || fi.Mode() != 0o400 {
		t.Errorf("%v, %v", fi, err)
	}
	if fi, err := os.Stat(base + "/other"); err != nil || fi.Mode() != 0o644 {
		t.Errorf("%v, %v", fi, err)
	}
}

// Whatever is swapped for links all the time, one gets the folder itself or an error.
func TestFoldersSwappedForLinks(t *testing.T) {
	base := t.TempDir()
	write(t, base+"/a/b/f", "mine")
	write(t, base+"/other/b/f", "theirs")
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			default:
			}
			os.Rename(base+"/a", base+"/away")
			os.Symlink("other", base+"/a")
			os.Remove(base + "/a")
			os.Rename(base+"/away", base+"/a")
		}
	}()
	d := open(t, base)
	got := map[string]int{}
	for i := 0; i < 1000 || got["mine"] == 0; i++ { // on a busy machine the other one may stand still between two of its steps for long
		for _, how := range []func([]string, int) (int, error){d.openBelow, d.openStepwise} {
			fd, err := how([]string{"a", "b", "f"}, fileFlags)
			if err != nil {
				got["error"]++
				continue
			}
			f := os.NewFile(uintptr(fd), "f")
			b := make([]byte, 10)
			n, _ := f.Read(b)
			got[string(b[:n])]++
			f.Close()
		}
		if err := RemoveAll(base, "a", "b", "none"); err == nil {
			got["removed"]++
		}
	}
	close(quit)
	<-ended
	if got["theirs"] > 0 {
		t.Error(got)
	}
	t.Log(got)
}

// Files are known by descriptors: what List tells isn't looked up by a path that leads elsewhere by now.
func TestListKnowsAFolderByItsDescriptor(t *testing.T) {
	base := t.TempDir()
	write(t, base+"/d/f", "12345")
	write(t, base+"/e/f", "1")
	d := open(t, base, "d")
	if err := errors.Join(os.Rename(base+"/d", base+"/old"), os.Symlink("e", base+"/d")); err != nil {
		t.Fatal(err)
	}
	infos, err := d.List()
	if err != nil || len(infos) != 1 || infos[0].Size() != 5 || infos[0].ModTime().Before(time.Now().Add(-time.Hour)) {
		t.Errorf("%v, %v", infos, err)
	}
	if r, err := d.Root(); err == nil {
		r.Close()
		t.Error("a replaced folder was opened by its path")
	}
}

func TestRealPaths(t *testing.T) {
	base := t.TempDir()
	write(t, base+"/d/f", "content")
	for from, to := range map[string]string{"l": "d", "fd": "/proc/self/fd/0", "p": "/proc"} {
		if err := os.Symlink(to, filepath.Join(base, from)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		base + "/l/f": "", base + "/d/f": "", base + "/l": "is not a regular file", base + "/p/version": ErrKernel.Error(),
		"/proc/version": ErrKernel.Error(), "/sys/kernel": ErrKernel.Error(), "/dev/null": ErrKernel.Error(), base + "/none": "no such file", "/": "invalid argument",
	} {
		r, err := OpenReal(path)
		if err == nil {
			var f *os.File
			if f, err = r.Open(); err == nil {
				f.Close()
			}
			r.Close()
		}
		if text := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if r, err := OpenReal(base + "/fd"); err == nil {
		_, err = r.Open()
		r.Close()
		if err == nil {
			t.Error("a descriptor was opened by its path")
		}
	}
}
