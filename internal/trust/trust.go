//go:build unix

// Package trust tells whether other users of the machine can replace a daemon's files.
//
// The rule is that of ssh (StrictModes): each folder on the way to a file belongs to root or to the daemon's user, and
// no other can write to it. Otherwise another user can move what is in it away, and put something else there.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// maxLinks bounds the links on the way to a file, as in the kernel.
const maxLinks = 40

// Error names the file or folder that other users can replace.
type Error struct {
	Path string // the one that was asked for
	At   string // the culprit: that path, or a folder or link on the way to it
	Why  string
	Mend string // a command
}

func (e *Error) Error() string {
	what := e.At
	if e.At != e.Path {
		what = fmt.Sprintf("%s, on the way to %s,", e.At, e.Path)
	}
	return fmt.Sprintf("%s %s: other users could replace what this daemon keeps or reads there; mend it with: %s", what, e.Why, e.Mend)
}

// Check returns an *Error if a user other than root and this process's can replace the file or folder that the path leads
// to, or anything on the way to it. It follows links step by step. The rest of a path that doesn't exist yet is fine: check
// again when it does. A folder on the way may be writable for all if it has the sticky bit, as /tmp has, because then only
// their owners move its entries. The last one may not: others could make entries before the daemon does.
func Check(path string) error {
	if lenient.Load() {
		return nil
	}
	return check(path, os.Geteuid(), os.Lstat)
}

var lenient atomic.Bool

// Everybody makes Check accept everything in this process: where a machine has no other users, as in a container whose
// volumes are writable for all (heddle.files.strict-modes = false).
func Everybody() { lenient.Store(true) }

// Folder is Check for a folder and the files in it whose names match a pattern.
func Folder(dir, pattern string) error {
	if err := Check(dir); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := Check(name); err != nil {
			return err
		}
	}
	return nil
}

// check is Check for a user, with a way to look at a file.
func check(path string, uid int, lstat func(string) (os.FileInfo, error)) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	w := walk{path: abs, uid: uid, lstat: lstat, at: "/", left: elements(abs)}
	if err := w.look("/"); err != nil {
		return err
	}
	for len(w.left) > 0 {
		if err := w.step(); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
	}
	return nil
}

// walk is on its way from the root folder to a file.
type walk struct {
	path  string
	uid   int
	lstat func(string) (os.FileInfo, error)

	at    string   // a folder, without links in its path
	left  []string // elements of the path below it
	links int
}

func elements(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// step goes to the next element.
func (w *walk) step() error {
	name := w.left[0]
	w.left = w.left[1:]
	switch name {
	case ".":
		return nil
	case "..":
		w.at = filepath.Dir(w.at)
		return nil
	}
	next := filepath.Join(w.at, name)
	info, err := w.lstat(next)
	if err != nil {
		return err
	}
	if err := w.judge(next, info); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		w.at = next
		return nil
	}
	if w.links++; w.links > maxLinks {
		return &os.PathError{Op: "follow", Path: w.path, Err: syscall.ELOOP}
	}
	target, err := os.Readlink(next)
	if err != nil {
		return err
	}
	if filepath.IsAbs(target) {
		w.at = "/"
	}
	w.left = append(elements(target), w.left...)
	return nil
}

func (w *walk) look(path string) error {
	info, err := w.lstat(path)
	if err != nil {
		return err
	}
	return w.judge(path, info)
}

// judge is about one file, folder or link.
func (w *walk) judge(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: its owner isn't known", path)
	}
	mode := info.Mode()
	others := mode.Perm() & 0o022
	switch owner := int(st.Uid); {
	case owner != 0 && owner != w.uid:
		mend := fmt.Sprintf("chown %d %s", w.uid, path)
		if mode&fs.ModeSymlink != 0 {
			mend = fmt.Sprintf("chown -h %d %s", w.uid, path)
		}
		return &Error{Path: w.path, At: path, Why: fmt.Sprintf("belongs to user %d, and must belong to root or to user %d, who runs this daemon", owner, w.uid), Mend: mend}
	case mode&fs.ModeSymlink != 0, others == 0, mode&fs.ModeSticky != 0 && len(w.left) > 0:
		return nil
	}
	bits := uint32(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return &Error{Path: w.path, At: path, Why: fmt.Sprintf("has mode %04o, and must not be writable for %s", bits, writers(others)), Mend: "chmod go-w " + path}
}

func writers(bits fs.FileMode) string {
	switch bits {
	case 0o020:
		return "its group"
	case 0o002:
		return "everybody"
	}
	return "its group and all users"
}
