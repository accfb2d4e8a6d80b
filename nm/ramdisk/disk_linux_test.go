package ramdisk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMain is the helper as well.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "helper" {
		size, err := strconv.ParseInt(os.Args[3], 10, 64)
		if err == nil {
			err = Helper(os.Stdin, os.Args[2], size)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const reader = 12345 // a uid

func open(t *testing.T, size int64) (*Disk, Config) {
	t.Helper()
	c := Config{Dir: filepath.Join(t.TempDir(), "ramdisk"), Size: size, Helper: []string{os.Args[0], "helper"}, Join: func(int) error { return nil }}
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Clear(c.Dir); err != nil {
			t.Error(err)
		}
	})
	return d, c
}

// mounts is how many mounts lie in a folder.
func mounts(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), dir)
}

// A copy is its reader's alone, who can't change it, and has its room back when it is gone.
func TestACopyIsItsReadersAlone(t *testing.T) {
	d, _ := open(t, 1<<20)
	data := bytes.Repeat([]byte("heddle "), 10000)
	path, remove, err := d.Copy(t.Context(), reader, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o400 || info.Sys().(*syscall.Stat_t).Uid != reader {
		t.Errorf("%v, %v", info, err)
	}
	for what, err := range map[string]error{
		"chmod": os.Chmod(path, 0o600), "write": os.WriteFile(path, nil, 0o600), "create": os.WriteFile(path+"x", nil, 0o600), "remove": os.Remove(path),
	} {
		if !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if inside, err := os.Stat(d.in()); err != nil || inside.Mode().Perm() != 0o700 {
		t.Errorf("users may write: %v, %v", inside, err)
	}
	if d.Used() < int64(len(data)) {
		t.Errorf("%d bytes are used", d.Used())
	}
	remove()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || d.Used() != 0 {
		t.Errorf("%v, %d bytes", err, d.Used())
	}
}

// What can't be copied leaves nothing: no room, a source that ends early, a caller that doesn't wait, a group that takes no process.
func TestACopyThatFailsLeavesNothing(t *testing.T) {
	d, _ := open(t, 1<<16)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, copy := range map[string]func() error{
		"full": func() error {
			_, _, err := d.Copy(t.Context(), reader, bytes.NewReader(make([]byte, 1<<17)), 1<<17)
			if !errors.Is(err, ErrFull) {
				t.Errorf("full: %v", err)
			}
			return err
		},
		"short": func() error {
			_, _, err := d.Copy(t.Context(), reader, strings.NewReader("abc"), 4)
			return err
		},
		"canceled": func() error {
			_, _, err := d.Copy(canceled, reader, strings.NewReader("abc"), 3)
			return err
		},
		"nothing": func() error {
			_, _, err := d.Copy(t.Context(), reader, strings.NewReader(""), 0)
			return err
		},
		"no group": func() error {
			alone := &Disk{c: d.c}
			alone.c.Join = func(int) error { return syscall.ENOENT }
			_, _, err := alone.Copy(t.Context(), reader, strings.NewReader("abc"), 3)
			return err
		},
	} {
		if err := copy(); err == nil {
			t.Errorf("%s: no error", name)
		}
		left, err := os.ReadDir(d.out())
		if err != nil || len(left) > 0 || d.Used() != 0 {
			t.Errorf("%s: %v, %v, %d bytes", name, left, err, d.Used())
		}
	}
}

// A daemon that was killed leaves its mounts. The next one removes them, though a task has a copy open.
func TestTheNextDaemonClears(t *testing.T) {
	first, c := open(t, 1<<20)
	path, _, err := first.Copy(t.Context(), reader, strings.NewReader("abc"), 3)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	second, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || mounts(t, c.Dir) != 2 {
		t.Errorf("%v, %d mounts", err, mounts(t, c.Dir))
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
	if err := second.Close(); err != nil || mounts(t, c.Dir) != 0 {
		t.Errorf("%v, %d mounts", err, mounts(t, c.Dir))
	}
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A helper whose daemon is gone before all bytes have come ends, and removes what it has written.
func TestAHelperEndsWithItsPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	c := exec.Command(os.Args[0], "helper", file, "10")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "abc"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := c.Wait(); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
