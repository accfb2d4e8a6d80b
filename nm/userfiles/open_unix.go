//go:build unix

package userfiles

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openDirBelow opens the directory that elems lead to from base, following no link after base, and returns its descriptor.
func openDirBelow(base string, elems []string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	path := base
	fd, err := unix.Open(base, flags, 0)
	for i := 0; err == nil && i < len(elems); i++ {
		path = filepath.Join(path, elems[i])
		next := -1
		next, err = unix.Openat(fd, elems[i], flags|unix.O_NOFOLLOW, 0)
		unix.Close(fd)
		fd = next
	}
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// fileFlags open a file whose kind isn't known yet: a pipe in its place must not hold anybody up.
const fileFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK

// openStepwise opens the file that elems lead to from base, following no link after base.
func openStepwise(base string, elems []string) (*os.File, error) {
	last := len(elems) - 1
	dir, err := openDirBelow(base, elems[:last])
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, elems[last], fileFlags, 0)
	return newFile(fd, base, elems, err)
}

func newFile(fd int, base string, elems []string, err error) (*os.File, error) {
	path := filepath.Join(append([]string{base}, elems...)...)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
