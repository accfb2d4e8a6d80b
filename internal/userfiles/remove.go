//go:build unix

package userfiles

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Remove removes a file, a link or an empty folder.
func (d *Dir) Remove(name string) error {
	return d.do("remove", name, func() error {
		err := unix.Unlinkat(d.fd, name, 0)
		if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) { // strict POSIX systems return the latter
			if rerr := unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR); !errors.Is(rerr, unix.ENOTDIR) {
				err = rerr
			}
		}
		return err
	})
}

// RemoveAll removes an entry and everything below it. It returns nil if there is none. It uses some dozen descriptors
// at most, however deep the user's folders are.
func (d *Dir) RemoveAll(name string) error {
	err := d.removeEmpty(name)
	if err == nil || !full(err) {
		return err
	}
	top, err := d.Enter(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer top.Close()
	r := remover{top: top}
	for range rounds { // processes in the folder may add to it
		if err := r.clear(top, 0); err != nil {
			return err
		}
		if err = d.removeEmpty(name); err == nil || !full(err) {
			return err
		}
	}
	return err
}

// Limits of RemoveAll.
const (
	rounds  = 20
	batch   = 1024 // names to read at once
	deepest = 32   // below this depth, folders are moved up first
)

func full(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }

// removeEmpty removes an entry. It returns nil if there is none.
func (d *Dir) removeEmpty(name string) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remover removes the contents of a folder.
type remover struct{ top *Dir }

// clear removes the entries of d, which is depth levels below the top. If some can't be removed, it returns why. Entries that others remove meanwhile are gone, too.
func (r *remover) clear(d *Dir, depth int) error {
	for {
		names, err := d.names(batch)
		if errors.Is(err, fs.ErrNotExist) { // d itself
			return nil
		}
		if err != nil || len(names) == 0 {
			return err
		}
		var failed error
		gone := 0
		for _, n := range names {
			if err := r.remove(d, n, depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
				continue
			}
			gone++
		}
		if gone == 0 {
			return failed
		}
	}
}

func (r *remover) remove(d *Dir, name string, depth int) error {
	err := d.removeEmpty(name)
	if errors.Is(err, fs.ErrPermission) && unix.Fchmod(d.fd, 0o700) == nil { // a program removed the permissions of its folder, and we aren't root
		err = d.removeEmpty(name)
	}
	if err == nil || !full(err) {
		return err
	}
	if depth >= deepest {
		return d.Rename(name, r.top, ".moved-"+rand.Text())
	}
	sub, err := d.Enter(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := r.clear(sub, depth+1); err != nil {
		return err
	}
	return d.removeEmpty(name)
}
