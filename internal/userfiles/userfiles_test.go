//go:build unix

package userfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Both ways to open a file follow no link below the local directory, but one to it.
func TestOpenBelow(t *testing.T) {
	base := t.TempDir()
	real := filepath.Join(base, "real")
	if err := os.MkdirAll(filepath.Join(real, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "a/b/f"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"linked": "real", "real/l": "a", "real/a/b/l": "f", "real/abs": real} {
		if err := os.Symlink(to, filepath.Join(base, from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, how := range map[string]func(*Dir, []string, int) (int, error){"at once": (*Dir).openBelow, "step by step": (*Dir).openStepwise} {
		open := func(base string, elems []string) (*os.File, error) {
			d, err := OpenDir(base)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			fd, err := how(d, elems, fileFlags)
			if err != nil {
				return nil, err
			}
			return os.NewFile(uintptr(fd), ""), nil
		}
		t.Run(name, func(t *testing.T) {
			for _, dir := range []string{"real", "linked"} {
				f, err := open(filepath.Join(base, dir), []string{"a", "b", "f"})
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(f); string(b) != "content" || err != nil {
					t.Errorf("read %q, %v", b, err)
				}
				f.Close()
			}
			for _, elems := range [][]string{{"l", "b", "f"}, {"a", "b", "l"}, {"abs", "a", "b", "f"}} {
				if f, err := open(real, elems); err == nil {
					f.Close()
					t.Errorf("%v was opened", elems)
				}
			}
			for _, elems := range [][]string{{"a", "no", "f"}, {"a", "b", "no"}} {
				if _, err := open(real, elems); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%v: %v", elems, err)
				}
			}
		})
	}
}

func TestOpen(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "d/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "d/f"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(base, "d/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(base, os.Getuid(), "d", "f")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Open(base, os.Getuid()+1, "d", "f"); !errors.Is(err, ErrOwner) {
		t.Errorf("of another user: %v", err)
	}
	for _, name := range []string{"sub", "pipe"} {
		done := make(chan error, 1)
		go func() {
			_, err := Open(base, Anybody, "d", name)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s holds up who opens it", name)
		}
	}
	for _, name := range []string{"", ".", "..", "d/f", "f\x00"} {
		if _, err := Open(base, Anybody, "d", name); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := ReadDir(base, name); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q as a directory: %v", name, err)
		}
	}
}

func TestReadDir(t *testing.T) {
	base := t.TempDir()
	if err := os.MkdirAll(filepath.Join(base, "d/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "d/b"), []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"d/a": "b", "linked": "d", "d/up": ".."} {
		if err := os.Symlink(to, filepath.Join(base, from)); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := ReadDir(base, "d")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fi := range infos {
		got = append(got, fi.Mode().Type().String()+fi.Name())
	}
	if want := "L---------a ----------b d---------sub L---------up"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if infos[1].Size() != 5 {
		t.Errorf("b has %d bytes", infos[1].Size())
	}
	for _, elems := range [][]string{{"linked"}, {"d", "up", "d"}, {"d", "b"}} {
		if _, err := ReadDir(base, elems...); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%v: %v", elems, err)
		}
	}
	if _, err := ReadDir(base, "no"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// Others may remove what is in a folder while it is removed: the NodeManager deletes an application's folder and its containers' at once.
func TestSeveralRemoveTheSame(t *testing.T) {
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "gone"), 0o755); err != nil {
		t.Fatal(err)
	}
	gone := open(t, base, "gone")
	defer gone.Close()
	if err := os.Remove(filepath.Join(base, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := (&remover{gone}).clear(gone, 0); err != nil {
		t.Errorf("while it is cleared, somebody else has removed it: %v", err)
	}
	for range 40 {
		var all sync.WaitGroup
		begin := make(chan struct{})
		removes := func(elems ...string) {
			all.Go(func() {
				<-begin
				if err := RemoveAll(base, elems...); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 5 {
			if err := os.MkdirAll(filepath.Join(base, "app", "container", strconv.Itoa(i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		removes("app", "container")
		removes("app")
		close(begin)
		all.Wait()
		if !missing(filepath.Join(base, "app")) {
			t.Fatal("the folder is left")
		}
	}
}

// A user may fill a folder with any number of names of 255 bytes. They were all read into memory.
func TestAFolderOfAnyNumberOfEntriesIsListedInPart(t *testing.T) {
	base := t.TempDir()
	if err := os.Mkdir(base+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	const more = 100
	for i := range MostEntries + more {
		if err := os.Symlink("x", fmt.Sprintf("%s/d/%d", base, i)); err != nil {
			t.Fatal(err)
		}
	}
	infos, err := ReadDir(base, "d")
	if len(infos) != MostEntries || !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), base+"/d") {
		t.Errorf("%d entries, %v", len(infos), err)
	}
	if infos, err := ReadDir(base + "/d"); len(infos) != MostEntries+more || err != nil {
		t.Errorf("of the daemon's own folder: %d entries, %v", len(infos), err)
	}
	n := 0
	if err := open(t, base, "d").Each(func(os.FileInfo) error { n++; return nil }); err != nil || n != MostEntries+more {
		t.Errorf("each: %d entries, %v", n, err)
	}
	r, err := OpenReal(base + "/d")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if names, err := r.List(); names != nil || !errors.Is(err, ErrTooMany) {
		t.Errorf("%d names, %v", len(names), err)
	}
}
