//go:build unix

// Package userfiles works in folders that users own, for a daemon that may have more rights than they.
//
// What a container left in its folders is hostile: in place of a file or folder there may be a link to somebody else's, a pipe that
// never ends, or a folder that was exchanged a moment ago. So everything is reached by descriptors ([Dir]), from a folder of the
// daemon's own, one element after the other, and no link is followed on the way. A call that finds a link where a folder is expected
// fails with ENOTDIR.
//
// Only regular files are opened. Where containers run as other users, a file has to belong to the right one: hard links could
// lead elsewhere too.
//
// Files that users name, anywhere on the machine, are another matter: [As] looks at them with the user's own rights.
package userfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Anybody is the uid of files that may belong to any user, as it is when all containers run as the NodeManager does.
const Anybody = -1

// ErrOwner means that a file or folder belongs to another user than it should.
var ErrOwner = errors.New("it belongs to another user")

// Open opens a regular file of user uid for reading. elems lead to it from base; links are followed in base only.
func Open(base string, uid int, elems ...string) (*os.File, error) {
	return in(base, nil, func(d *Dir) (*os.File, error) { return d.Open(uid, elems...) })
}

// ReadDir lists the folder that elems lead to from base, by name, with what is known of the entries themselves, not of what
// they may link to.
func ReadDir(base string, elems ...string) ([]os.FileInfo, error) {
	return in(base, elems, (*Dir).List)
}

// Stat tells of what elems lead to from base, which may be a link.
func Stat(base string, elems ...string) (os.FileInfo, error) {
	return in(base, nil, func(d *Dir) (os.FileInfo, error) { return d.Stat(elems...) })
}

// Remove removes the file that elems lead to from base, or a link in its place.
func Remove(base string, elems ...string) error { return onLast(base, elems, (*Dir).Remove) }

// RemoveAll removes what elems lead to from base, with everything below it. That there is nothing is no error.
func RemoveAll(base string, elems ...string) error {
	err := onLast(base, elems, (*Dir).RemoveAll)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Below splits a path at that of bases which it lies in, for the other functions. ok is false if it lies in none.
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

// onLast calls f with the last of elems and the folder that it is in.
func onLast(base string, elems []string, f func(d *Dir, name string) error) error {
	if len(elems) == 0 {
		return &os.PathError{Op: "remove", Path: base, Err: syscall.EINVAL}
	}
	last := len(elems) - 1
	_, err := in(base, elems[:last], func(d *Dir) (struct{}, error) { return struct{}{}, f(d, elems[last]) })
	return err
}

// check refuses what is not one element of a path.
func check(base string, elems ...string) error {
	for _, e := range elems {
		if e == "" || e == "." || e == ".." || strings.ContainsAny(e, "/\x00") {
			return &os.PathError{Op: "open", Path: filepath.Join(base, fmt.Sprintf("%q", e)), Err: syscall.EINVAL}
		}
	}
	return nil
}
