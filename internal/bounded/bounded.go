// Package bounded reads files and streams whose writer isn't trusted: it never holds more of them than the caller allows.
//
// A file may be any number of gigabytes long without taking room on a disk, and a stream may never end. os.ReadFile and
// io.ReadAll take all of it into memory. A test (internal/house) keeps the NodeManager and the ApplicationMaster library
// from calling those.
package bounded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// ErrTooLong says that a file or stream is longer than its reader allows.
var ErrTooLong = errors.New("longer than allowed")

// Sizes of files that Linux composes, in bytes.
const (
	KernelFile = 1 << 20  // most files of /proc, /sys and cgroups: a page or a few
	KernelList = 64 << 20 // those with a line for each process or thread, of which there are at most 4 million (pid_max)
)

// ReadAll reads at most max bytes. It fails with ErrTooLong if there are more.
func ReadAll(r io.Reader, max int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > max {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLong, max)
	}
	return b, nil
}

// Open opens a regular file for reading. A pipe in its place would make the caller wait for a writer.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile is ReadAll for the file with a path. Only root and this process's user may control what is at the path.
func ReadFile(path string, max int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := ReadAll(f, max)
	if errors.Is(err, ErrTooLong) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, err
}

// ReadSome reads at most the first max bytes, and leaves the rest unread.
func ReadSome(r io.Reader, max int64) ([]byte, error) { return io.ReadAll(io.LimitReader(r, max)) }

// ReadHead reads the first bytes of a file, at most max.
func ReadHead(path string, max int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadSome(f, max)
}

// Names returns the sorted names in a folder. It fails with ErrTooLong if there are more than max.
func Names(path string, max int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(max + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > max {
		return nil, fmt.Errorf("%s: %w: it has more than %d entries", path, ErrTooLong, max)
	}
	slices.Sort(names)
	return names, nil
}
