package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"heddle/internal/bounded"
)

// tree has the operations on a cgroup file system that a handler needs. Tests put a fake kernel in its place.
type tree interface {
	read(path string) (string, error)
	write(path, value string) error
	mkdir(path string) error
	rmdir(path string) error
	subdirs(path string) ([]string, error)
}

// kernelTree is the real one.
type kernelTree struct{}

func (kernelTree) read(path string) (string, error) {
	most := int64(bounded.KernelFile)
	if filepath.Base(path) == "cgroup.procs" {
		most = bounded.KernelList
	}
	b, err := bounded.ReadFile(path, most)
	return string(b), err
}

// write writes in one piece and without creating the file: a missing file is a controller that the kernel lacks. It asks the kernel once. A File would
// wait after EAGAIN until the file can be written, which the kernel never says of such a file: memory.reclaim means by EAGAIN that it took less.
func (kernelTree) write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var said error
	err = conn.Write(func(fd uintptr) bool {
		for said = syscall.EINTR; said == syscall.EINTR; {
			_, said = syscall.Write(int(fd), []byte(value))
		}
		return true
	})
	if err = cmp.Or(said, err); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, path, err)
	}
	return nil
}

func (kernelTree) mkdir(path string) error { return os.Mkdir(path, 0o755) }
func (kernelTree) rmdir(path string) error { return os.Remove(path) }

func (kernelTree) subdirs(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// mkdirAll makes path and what is missing above it, but nothing above top.
func mkdirAll(t tree, top, path string) error {
	if path != top {
		if err := mkdirAll(t, top, filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := t.mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// walk calls f for path and all groups below it, those below first.
func walk(t tree, path string, f func(path string) error) error {
	subs, err := t.subdirs(path)
	if err != nil {
		return err
	}
	for _, s := range subs {
		if err := walk(t, filepath.Join(path, s), f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f(path)
}

// pidsBelow returns the processes of a group and of the groups that its processes made below it.
func pidsBelow(t tree, path string) ([]int, error) {
	var pids []int
	err := walk(t, path, func(path string) error {
		text, err := t.read(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return err
		}
		for _, f := range strings.Fields(text) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				return fmt.Errorf("%s/cgroup.procs: %w", path, err)
			}
			if pid > 0 { // 0 stands for a process outside of our pid namespace
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids, err
}

// number reads a file that holds one number; "max" gives −1.
func number(t tree, path string) (int64, error) {
	text, err := t.read(path)
	if err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	if text == "max" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// keyed reads a file of lines "key number" and returns the number of one key.
func keyed(t tree, path, key string) (int64, error) {
	text, err := t.read(path)
	if err != nil {
		return 0, err
	}
	return inText(path, text, key)
}

// inText is keyed for a file that has been read. A unit after the number is left alone.
func inText(path, text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != key {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, key, err)
		}
		return n, nil
	}
	return 0, fmt.Errorf("%s: no line %q", path, key)
}
