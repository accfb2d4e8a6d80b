// Package whole writes files that others find whole, or not at all.
package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file. It is written beside its place, under a name that begins with prefix, as a process that is killed meanwhile leaves it.
// The text isn't forced to the disk: a machine that loses power may lose it. Errors name the file that callers know.
func Write(path, prefix string, perm fs.FileMode, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), prefix)
	if err != nil {
		return of(path, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(perm), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(of(path, err), os.Remove(f.Name()))
	}
	return nil
}

// of is an error about the file beside its place, as one about the file.
func of(path string, err error) error {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}
