//go:build unix

package userfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrKernel says that a path leads to a file that the kernel generates, or to a device.
var ErrKernel = errors.New("files of the kernel's are not for users")

// kernels are folders of such files. Opening one may yield another file than it seems: /proc/self/fd/3 is an open file
// of the daemon's, whatever folder that is in.
var kernels = []string{"proc", "sys", "dev"}

// Real is the real place of a path that a user named. [OpenReal] finds it.
type Real struct {
	at    *Dir // the root folder
	elems []string
	path  string
}

// OpenReal follows the links of an absolute path. The result's methods follow no links: they fail if something was
// replaced by a link afterwards. Call OpenReal and its result's methods within [As].
func OpenReal(path string) (*Real, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(real) {
		return nil, fmt.Errorf("%s is not an absolute path", path)
	}
	r := &Real{path: real}
	if real != "/" {
		r.elems = strings.Split(strings.TrimPrefix(real, "/"), "/")
	}
	if len(r.elems) > 0 && slices.Contains(kernels, r.elems[0]) {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrKernel}
	}
	r.at, err = OpenDir("/")
	return r, err
}

// Close closes it.
func (r *Real) Close() error { return r.at.Close() }

// Stat describes the file or folder.
func (r *Real) Stat() (os.FileInfo, error) {
	fi, err := r.at.Stat(r.elems...)
	if err == nil && fi.Mode()&os.ModeSymlink != 0 {
		err = &os.PathError{Op: "stat", Path: r.path, Err: errors.New("it was just replaced by a link")}
	}
	return fi, err
}

// Open opens the file. It fails unless the file is regular.
func (r *Real) Open() (*os.File, error) {
	f, err := r.at.Open(Anybody, r.elems...)
	if err != nil {
		return nil, err
	}
	if err := checkKernel(int(f.Fd()), r.path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// List returns the names of the folder's entries. It fails with ErrTooMany if there are more than MostEntries.
func (r *Real) List() ([]string, error) {
	d := r.at
	if len(r.elems) > 0 {
		var err error
		if d, err = r.at.Enter(r.elems...); err != nil {
			return nil, err
		}
		defer d.Close()
	}
	if err := checkKernel(d.fd, r.path); err != nil {
		return nil, err
	}
	names, err := d.names(MostEntries + 1)
	if len(names) > MostEntries {
		return nil, &os.PathError{Op: "list", Path: r.path, Err: ErrTooMany}
	}
	return names, err
}

// Parents describes the folders that lead to the file or folder, the root last.
func (r *Real) Parents() ([]os.FileInfo, error) {
	var out []os.FileInfo
	for n := len(r.elems) - 1; n >= 0; n-- {
		fi, err := r.at.Stat(r.elems[:n]...)
		if err != nil {
			return nil, err
		}
		out = append(out, fi)
	}
	return out, nil
}
