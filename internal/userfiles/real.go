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

// ErrKernel means that a path leads to files that the kernel makes up, or to devices.
var ErrKernel = errors.New("files of the kernel's are not for users")

// kernels are folders of such files. What is opened through them may be something else than it seems: /proc/self/fd/3 is a file of
// the daemon's own, with no regard to the folders that it lies in.
var kernels = []string{"proc", "sys", "dev"}

// Real is where a path that a user named leads, found by [OpenReal].
type Real struct {
	at    *Dir // the root folder
	elems []string
	path  string
}

// OpenReal follows the links of an absolute path. What is reached by the result is reached without any: where something is exchanged
// for a link afterwards, methods fail. Call it and them by [As].
func OpenReal(path string) (*Real, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(real) {
		return nil, fmt.Errorf("%s is no absolute path", path)
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

// Close lets it go.
func (r *Real) Close() error { return r.at.Close() }

// Stat tells of the file or folder.
func (r *Real) Stat() (os.FileInfo, error) {
	fi, err := r.at.Stat(r.elems...)
	if err == nil && fi.Mode()&os.ModeSymlink != 0 {
		err = &os.PathError{Op: "stat", Path: r.path, Err: errors.New("replaced by a link meanwhile")}
	}
	return fi, err
}

// Open opens the file, which has to be a regular one.
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

// List returns the names of the folder's entries.
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
	return d.names(-1)
}

// Parents tells of the folders that lead to the file or folder, the root last.
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
