//go:build unix

// Package userfiles reads files that containers wrote, for a NodeManager that may have more rights than they.
//
// What a container left in its directories is hostile: in place of a log or map output there may be a link to somebody else's
// file, a pipe that never ends, or a directory that was exchanged meanwhile. So files are reached from a
// directory of the NodeManager's own without following any link on the way, only regular files are opened, and where
// containers run as other users, a file has to belong to the right one: hard links could lead elsewhere too.
package userfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Anybody is the uid of files that may belong to any user, as it is when all containers run as the NodeManager does.
const Anybody = -1

// ErrOwner means that a file belongs to another user than it should.
var ErrOwner = errors.New("the file belongs to another user")

// Open opens a regular file of user uid for reading. elems lead to it from base; links are followed in base only.
func Open(base string, uid int, elems ...string) (*os.File, error) {
	if err := check(base, elems); err != nil {
		return nil, err
	}
	f, err := openBelow(base, elems)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", f.Name())
	case uid != Anybody && owner(fi) != uid:
		err = fmt.Errorf("%s: %w: uid %d, not %d", f.Name(), ErrOwner, owner(fi), uid)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadDir lists the directory that elems lead to from base, by name, with what is known of the entries themselves, not of what
// they may link to.
func ReadDir(base string, elems ...string) ([]os.FileInfo, error) {
	if err := check(base, elems); err != nil {
		return nil, err
	}
	dir, err := enterAll(base, elems)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, err
	}
	infos := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, fi)
	}
	return infos, nil
}

// enterAll opens the directory that elems lead to from base.
func enterAll(base string, elems []string) (*os.Root, error) {
	dir, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	for _, e := range elems {
		next, err := Enter(dir, e)
		dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// Enter opens the directory name of r, and fails if name is a link.
func Enter(r *os.Root, name string) (*os.Root, error) {
	was, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(r.Name(), name)
	if !was.IsDir() {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	next, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	is, err := next.Stat(".")
	if err == nil && !os.SameFile(was, is) {
		err = fmt.Errorf("%s was replaced while it was opened", path)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// check refuses what is not one element of a path.
func check(base string, elems []string) error {
	for _, e := range elems {
		if e == "" || e == "." || e == ".." || strings.ContainsAny(e, "/\x00") {
			return &os.PathError{Op: "open", Path: filepath.Join(base, fmt.Sprintf("%q", e)), Err: syscall.EINVAL}
		}
	}
	return nil
}

func owner(fi os.FileInfo) int { return int(fi.Sys().(*syscall.Stat_t).Uid) }

// Remove removes the file that elems lead to from base, or a link in its place.
func Remove(base string, elems ...string) error {
	if err := check(base, elems); err != nil {
		return err
	}
	last := len(elems) - 1
	dir, err := enterAll(base, elems[:last])
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Remove(elems[last])
}
