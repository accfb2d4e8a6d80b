//go:build unix

package userfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Keep leaves a uid or gid unchanged.
const Keep = -1

// Want describes the owner and mode of a folder or file.
type Want struct {
	Mode     fs.FileMode // permission bits, and fs.ModeSetgid for a folder
	UID, GID int         // Keep leaves one unchanged
}

// Make makes the folder name, or takes the existing one, and returns it open. An existing folder must belong to the
// wanted user, or be one that an earlier process made and did not get to hand over: an empty one, or one in a folder
// that only this process's user can write to. Make refuses anything else, because the user may have put it there.
func (d *Dir) Make(name string, want Want) (*Dir, error) {
	err := d.mkdir(name)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	next, err := d.Enter(name)
	if err != nil {
		return nil, err
	}
	if !made {
		made = d.exclusive()
	}
	if err := next.become(want, made); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// exclusive reports whether only this process's user can make and rename entries of the folder.
func (d *Dir) exclusive() bool {
	fi, err := d.Stat()
	return err == nil && Owner(fi) == os.Geteuid() && fi.Mode().Perm()&0o022 == 0
}

// become gives the wanted owner and mode to a folder that Make has entered. surely says that this program made the
// folder, if the folder belongs to its user.
func (d *Dir) become(want Want, surely bool) error {
	fi, err := d.Stat()
	if err != nil {
		return err
	}
	ours := Owner(fi) == os.Geteuid()
	switch {
	case !ours && (want.UID == Keep || Owner(fi) == want.UID):
		return nil // an earlier call or another has set it up
	case !ours:
		return fmt.Errorf("%s: %w: uid %d, not %d", d.path, ErrOwner, Owner(fi), want.UID)
	case !surely && want.UID != Keep && want.UID != os.Geteuid():
		names, err := d.names(1)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return fmt.Errorf("%s: %w: uid %d, not %d", d.path, ErrOwner, Owner(fi), want.UID)
		}
	}
	return d.Set(want)
}

// New makes the folder name, which must not exist, so that no other can enter it. It returns it open.
func (d *Dir) New(name string) (*Dir, error) {
	if err := d.mkdir(name); err != nil {
		return nil, err
	}
	next, err := d.Enter(name)
	if err != nil {
		return nil, err
	}
	fi, err := next.Stat()
	if err == nil && (Owner(fi) != os.Geteuid() || fi.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s was replaced while it was made: %w", next.path, ErrOwner)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (d *Dir) mkdir(name string) error {
	return d.do("mkdir", name, func() error { return unix.Mkdirat(d.fd, name, 0o700) })
}

// Set changes the folder's owner and mode.
func (d *Dir) Set(want Want) error {
	if want.UID != Keep || want.GID != Keep {
		if err := unix.Fchown(d.fd, want.UID, want.GID); err != nil {
			return d.fail("chown", err)
		}
	}
	mode := uint32(want.Mode.Perm())
	if want.Mode&fs.ModeSetgid != 0 {
		mode |= unix.S_ISGID
	}
	return d.fail("chmod", unix.Fchmod(d.fd, mode)) // after the chown, which clears bits; this also undoes the umask
}

// Create makes a new file that no other can read, and returns it open for reading and writing.
func (d *Dir) Create(name string) (*os.File, error) {
	if err := check(d.path, name); err != nil {
		return nil, err
	}
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0o600) })
	if err != nil {
		return nil, d.fail("create", err, name)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// Write writes a new file, in place of any existing one that isn't a folder.
func (d *Dir) Write(name string, content []byte, want Want) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && (want.UID != Keep || want.GID != Keep) {
		err = f.Chown(want.UID, want.GID)
	}
	if err == nil {
		err = f.Chmod(want.Mode)
	}
	return errors.Join(err, f.Close())
}

// Symlink makes a link to target.
func (d *Dir) Symlink(target, name string) error {
	return d.do("symlink", name, func() error { return unix.Symlinkat(target, d.fd, name) })
}

// Touch sets the times of the last access and change of an entry. For a link it sets the link's own.
func (d *Dir) Touch(name string, at time.Time) error {
	t := unix.NsecToTimespec(at.UnixNano())
	return d.do("touch", name, func() error {
		return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Lchown gives an entry to a user. For a link it changes the link itself. In a folder that others can write to, the
// entry may belong to any user.
func (d *Dir) Lchown(name string, uid, gid int) error {
	return d.do("chown", name, func() error { return unix.Fchownat(d.fd, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW) })
}

// Rename moves the entry name to the folder to. It replaces a file with the new name.
func (d *Dir) Rename(name string, to *Dir, newName string) error {
	if err := check(to.path, newName); err != nil {
		return err
	}
	return d.do("rename", name, func() error { return unix.Renameat(d.fd, name, to.fd, newName) })
}

// Take moves the file name of user uid, who may still use the folder d, to the folder to, whose entries the user can't
// change. It refuses and removes whatever isn't a regular file with one name and at most so many bytes. The file gets
// the mode.
func (d *Dir) Take(name string, uid int, most int64, to *Dir, newName string, mode fs.FileMode) error {
	arriving := newName + ".new"
	if err := d.Rename(name, to, arriving); err != nil {
		return err
	}
	err := to.vet(arriving, uid, most, mode)
	if err == nil {
		err = to.Rename(arriving, to, newName)
	}
	if err != nil {
		return errors.Join(err, to.RemoveAll(arriving))
	}
	return nil
}

func (d *Dir) vet(name string, uid int, most int64, mode fs.FileMode) error {
	f, err := d.Open(uid, name)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return err
	case links(fi) != 1:
		return fmt.Errorf("%s has %d names", f.Name(), links(fi))
	case fi.Size() > most:
		return fmt.Errorf("%s has %d bytes, more than %d", f.Name(), fi.Size(), most)
	}
	return f.Chmod(mode)
}
