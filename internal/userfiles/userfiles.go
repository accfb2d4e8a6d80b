//go:build unix

// Package userfiles works in folders that users own, for a daemon that may have more rights than they.
//
// The contents of a container's folders are hostile. In place of a file or folder there may be a link to another's, a pipe that never
// ends, or a folder that was exchanged a moment ago. So the package reaches everything by descriptors ([Dir]): it begins at a folder of the
// daemon's own, continues component by component, and follows no link on the way. A call that finds a link instead of a folder fails with
// ENOTDIR.
//
// The package opens regular files only. If containers run as other users, a file has to belong to the right one,
// because hard links could lead elsewhere too.
//
// Files that users name may be anywhere on the machine. [As] accesses them with the user's own rights.
package userfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Anybody is the uid that stands for any user. It is right if all containers run as the NodeManager's user.
const Anybody = -1

// ErrOwner says that a file or folder belongs to the wrong user.
var ErrOwner = errors.New("it belongs to another user")

// Open opens a regular file of user uid for reading. elems lead to it from base. Open follows links in base only.
func Open(base string, uid int, elems ...string) (*os.File, error) {
	return in(base, nil, func(d *Dir) (*os.File, error) { return d.Open(uid, elems...) })
}

// ReadDir lists the folder that elems lead to from base, as Dir.List does. base itself is the daemon's, and is listed
// whole.
func ReadDir(base string, elems ...string) ([]os.FileInfo, error) {
	if len(elems) > 0 {
		return in(base, elems, (*Dir).List)
	}
	return in(base, nil, func(d *Dir) (all []os.FileInfo, err error) {
		err = d.Each(func(fi os.FileInfo) error { all = append(all, fi); return nil })
		slices.SortFunc(all, func(a, b os.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
		return all, err
	})
}

// Stat describes the entry that elems lead to from base, which may be a link.
func Stat(base string, elems ...string) (os.FileInfo, error) {
	return in(base, nil, func(d *Dir) (os.FileInfo, error) { return d.Stat(elems...) })
}

// Remove removes the file that elems lead to from base, or a link in its place.
func Remove(base string, elems ...string) error { return onLast(base, elems, (*Dir).Remove) }

// RemoveAll removes the entry that elems lead to from base, with everything below it. It returns nil if there is none.
func RemoveAll(base string, elems ...string) error {
	err := onLast(base, elems, (*Dir).RemoveAll)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Below splits a path into the one of bases that contains it, and the rest, as arguments of the other functions. ok is
// false if none contains it.
func Below(bases []string, path string) (base string, elems []string, ok bool) {
	for _, b := range bases {
		rel, err := filepath.Rel(b, path)
		if err == nil && rel != "." && filepath.IsLocal(rel) {
			return b, strings.Split(rel, string(filepath.Separator)), true
		}
	}
	return "", nil, false
}

// in calls f with the folder that elems lead to from base.
func in[T any](base string, elems []string, f func(*Dir) (T, error)) (T, error) {
	d, err := OpenDir(base, elems...)
	if err != nil {
		var none T
		return none, err
	}
	defer d.Close()
	return f(d)
}

// onLast calls f with the last of elems and the folder that contains it.
func onLast(base string, elems []string, f func(d *Dir, name string) error) error {
	if len(elems) == 0 {
		return &os.PathError{Op: "remove", Path: base, Err: syscall.EINVAL}
	}
	last := len(elems) - 1
	_, err := in(base, elems[:last], func(d *Dir) (struct{}, error) { return struct{}{}, f(d, elems[last]) })
	return err
}

// check refuses elems that aren't single components of a path.
func check(base string, elems ...string) error {
	for _, e := range elems {
		if e == "" || e == "." || e == ".." || strings.ContainsAny(e, "/\x00") {
			return &os.PathError{Op: "open", Path: filepath.Join(base, fmt.Sprintf("%q", e)), Err: syscall.EINVAL}
		}
	}
	return nil
}
