//go:build unix

package userfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Dir is an open folder. It remains the same folder whatever happens to its path. Each name that its methods take is
// one component of a path. Call Close when done.
type Dir struct {
	fd   int
	path string // the path that led to it, for messages
}

// dirFlags open a folder to read it.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// fileFlags open a file of unknown type: a pipe must not block the caller.
const fileFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK

// OpenDir opens the folder that elems lead to from base. It follows links in base only.
func OpenDir(base string, elems ...string) (*Dir, error) {
	fd, err := retry(func() (int, error) { return unix.Open(base, dirFlags&^unix.O_NOFOLLOW, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: base, Err: err}
	}
	d := &Dir{fd, base}
	if len(elems) == 0 {
		return d, nil
	}
	defer d.Close()
	return d.Enter(elems...)
}

// Close closes the folder.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// Name returns the path that led to the folder.
func (d *Dir) Name() string { return d.path }

// retry repeats a call that a signal interrupted.
func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// do is retry for calls without a result. It names the entry in its error.
func (d *Dir) do(op, name string, f func() error) error {
	if err := check(d.path, name); err != nil {
		return err
	}
	_, err := retry(func() (int, error) { return 0, f() })
	return d.fail(op, err, name)
}

func (d *Dir) fail(op string, err error, elems ...string) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: filepath.Join(append([]string{d.path}, elems...)...), Err: err}
}

// openStepwise opens the components of elems one after the other.
func (d *Dir) openStepwise(elems []string, flags int) (int, error) {
	at := d.fd
	for i, e := range elems {
		how := passFlags
		if i == len(elems)-1 {
			how = flags
		}
		next, err := retry(func() (int, error) { return unix.Openat(at, e, how, 0) })
		if at != d.fd {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// open opens the entry that elems lead to, and returns its descriptor.
func (d *Dir) open(elems []string, flags int) (int, error) {
	if len(elems) == 0 {
		return -1, d.fail("open", unix.EINVAL)
	}
	if err := check(d.path, elems...); err != nil {
		return -1, err
	}
	fd, err := d.openBelow(elems, flags)
	if errors.Is(err, unix.ELOOP) && flags&unix.O_DIRECTORY != 0 {
		err = unix.ENOTDIR
	}
	return fd, d.fail("open", err, elems...)
}

// Enter opens the folder that elems lead to.
func (d *Dir) Enter(elems ...string) (*Dir, error) {
	fd, err := d.open(elems, dirFlags)
	if err != nil {
		return nil, err
	}
	return &Dir{fd, filepath.Join(append([]string{d.path}, elems...)...)}, nil
}

// Open opens a regular file for reading. It fails with ErrOwner if the file doesn't belong to uid.
func (d *Dir) Open(uid int, elems ...string) (*os.File, error) {
	fd, err := d.open(elems, fileFlags)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), filepath.Join(append([]string{d.path}, elems...)...))
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", f.Name())
	case uid != Anybody && Owner(fi) != uid:
		err = fmt.Errorf("%s: %w: uid %d, not %d", f.Name(), ErrOwner, Owner(fi), uid)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Stat describes the entry that elems lead to, which may be a link. Without elems it describes the folder itself.
func (d *Dir) Stat(elems ...string) (os.FileInfo, error) {
	if len(elems) == 0 {
		i := info{name: filepath.Base(d.path)}
		if err := unix.Fstat(d.fd, &i.st); err != nil {
			return nil, d.fail("stat", err)
		}
		return i, nil
	}
	at, last := d, len(elems)-1
	if last > 0 {
		var err error
		if at, err = d.Enter(elems[:last]...); err != nil {
			return nil, err
		}
		defer at.Close()
	}
	i := info{name: elems[last]}
	err := at.do("stat", i.name, func() error { return unix.Fstatat(at.fd, i.name, &i.st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return nil, err
	}
	return i, nil
}

// MostEntries is how many entries of a folder List returns. A user may have made millions, with names of 255 bytes each.
const MostEntries = 1 << 16

// ErrTooMany says that a folder has more entries than MostEntries. Those that come with it are some of them.
var ErrTooMany = errors.New("the folder has too many entries")

// List returns the entries, sorted by name. It describes links themselves, not their targets. It omits those that
// can't be described, such as mounts of a FUSE file system. It may return entries and ErrTooMany.
func (d *Dir) List() ([]os.FileInfo, error) {
	names, err := d.names(MostEntries + 1)
	if err != nil {
		return nil, err
	}
	var more error
	if len(names) > MostEntries {
		names, more = names[:MostEntries], d.fail("list", ErrTooMany)
	}
	slices.Sort(names)
	infos := make([]os.FileInfo, 0, len(names))
	for _, n := range names {
		fi, err := d.Stat(n)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTCONN) {
			continue // it has just been removed, or its user has mounted something there
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, fi)
	}
	return infos, more
}

// Each calls f for every entry, in any order, until f fails. It holds few of them at a time, so that there may be
// millions. It omits those that List omits.
func (d *Dir) Each(f func(os.FileInfo) error) error {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, ".", dirFlags, 0) })
	if err != nil {
		return d.fail("open", err)
	}
	at := os.NewFile(uintptr(fd), d.path)
	defer at.Close()
	for {
		names, err := at.Readdirnames(batch)
		for _, n := range names {
			fi, err := d.Stat(n)
			if err == nil {
				err = f(fi)
			} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTCONN) {
				continue
			}
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// names returns the names of at most limit entries, in any order.
func (d *Dir) names(limit int) ([]string, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, ".", dirFlags, 0) }) // a new descriptor has its own position
	if err != nil {
		return nil, d.fail("open", err)
	}
	f := os.NewFile(uintptr(fd), d.path)
	defer f.Close()
	names, err := f.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil // the folder is empty
	}
	return names, err
}

// Root returns the folder as an os.Root, which follows links within it. Use it to unpack an archive into a folder that
// no other can enter.
func (d *Dir) Root() (*os.Root, error) {
	r, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	var was unix.Stat_t
	fi, err := r.Stat(".")
	if err == nil {
		err = unix.Fstat(d.fd, &was)
	}
	if err == nil {
		if is := fi.Sys().(*syscall.Stat_t); was.Dev != is.Dev || was.Ino != is.Ino {
			err = fmt.Errorf("%s was replaced while it was opened", d.path)
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
