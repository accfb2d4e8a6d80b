package ramdisk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Config of a Disk. All must be set.
type Config struct {
	Dir  string // where it is mounted, a folder of the daemon's that users can reach
	Size int64  // bytes, more than 0
	// Helper is the command that calls Helper, to which the folder of its files is added.
	Helper []string
	// Join puts a process into the memory group that is to be charged.
	Join func(pid int) error
}

// Disk is a RAM disk. Its methods may be called from any goroutine.
type Disk struct {
	c      Config
	device uint64 // of the tmpfs

	mu     sync.Mutex
	used   int64 // bytes of copies, those under way included
	stuck  []leftover
	idle   []*helper
	rest   *time.Timer // ends idle helpers
	closed bool
}

// leftover is a file that could not be removed.
type leftover struct {
	name string
	room int64
}

// ErrFull says that a copy has no room.
var ErrFull = errors.New("the RAM disk is full")

// ErrLost says that the disk was unmounted, or something else was mounted over it.
var ErrLost = errors.New("the RAM disk is not mounted any more")

// Open mounts an empty disk. One that an earlier daemon has left in the folder goes.
func Open(c Config) (d *Disk, err error) {
	if err := Clear(c.Dir); err != nil {
		return nil, err
	}
	d = &Disk{c: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	// Users pass through the folder, but can't list it.
	for _, dir := range []string{c.Dir, d.in(), d.out()} {
		if err := os.Mkdir(dir, 0o711); err != nil {
			return d, err
		}
		if err := os.Chmod(dir, 0o711); err != nil { // whatever the umask is
			return d, err
		}
	}
	// The mount's own folder is closed to users only where files are written.
	if err := os.Chmod(d.in(), 0o700); err != nil {
		return d, err
	}
	const safe = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	files := d.files()
	if err := os.Mkdir(files, 0o711); err != nil {
		return d, err
	}
	if err := unix.Mount("heddle", files, "tmpfs", safe, "size="+strconv.FormatInt(c.Size, 10)+",mode=0711"); err != nil {
		return d, fmt.Errorf("mount a tmpfs of %d bytes at %s: %w", c.Size, files, err)
	}
	if err := unix.Mount(files, d.out(), "", unix.MS_BIND, ""); err != nil {
		return d, fmt.Errorf("bind %s to %s: %w", files, d.out(), err)
	}
	if err := unix.Mount("", d.out(), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|safe, ""); err != nil {
		return d, fmt.Errorf("make %s read-only: %w", d.out(), err)
	}
	d.device, err = device(files)
	return d, err
}

func (d *Disk) in() string    { return filepath.Join(d.c.Dir, "in") }
func (d *Disk) out() string   { return filepath.Join(d.c.Dir, "out") }
func (d *Disk) files() string { return filepath.Join(d.in(), "files") }

// Clear unmounts and removes what an earlier daemon has left in a folder. Open files live on.
func Clear(dir string) error {
	for _, at := range []string{filepath.Join(dir, "out"), filepath.Join(dir, "in", "files")} {
		for {
			err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
			if errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				break // nothing is mounted there, or not by us
			}
			if err != nil {
				return fmt.Errorf("unmount %s: %w", at, err)
			}
		}
	}
	// A folder that isn't empty is still mounted, or not ours: nothing in it is removed.
	for _, at := range []string{"out", "in/files", "in", ""} {
		if err := os.Remove(filepath.Join(dir, at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// device returns the number of the file system that has a file.
func device(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return uint64(info.Sys().(*syscall.Stat_t).Dev), nil
}

// Has reports whether a copy can be read by its path: it is there, and on the disk.
func (d *Disk) Has(path string) bool {
	at, err := device(path)
	return err == nil && at == d.device
}

// Close ends the helpers without work, and unmounts the disk. Files that are open live on until they are closed.
func (d *Disk) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.endIdle()
	return Clear(d.c.Dir)
}

// Size returns how many bytes there can be.
func (d *Disk) Size() int64 { return d.c.Size }

// Used returns how many bytes the copies have, those under way included.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// take takes room for a copy. A removed file may still be open somewhere, and takes room until it is closed.
func (d *Disk) take(size int64) error {
	var is unix.Statfs_t
	if err := unix.Statfs(d.files(), &is); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > d.c.Size-max(d.used, int64(is.Blocks-is.Bfree)*is.Bsize) {
		return ErrFull
	}
	d.used += size
	return nil
}

// remove removes a file, and gives its room back. One that can't be removed keeps it, until sweep can remove it.
func (d *Disk) remove(f leftover) {
	err := os.Remove(f.name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.stuck = append(d.stuck, f)
		return
	}
	d.used -= f.room
}

// sweep tries again to remove what could not be removed, as on a disk that was read-only for a while.
func (d *Disk) sweep() {
	d.mu.Lock()
	all := d.stuck
	d.stuck = nil
	d.mu.Unlock()
	for _, f := range all {
		d.remove(f)
	}
}

// Copy writes size bytes, more than 0, to a new file that only a user may read, and returns its name and what removes it, which may be called once. ErrFull means that there
// is no room for it, ErrLost that a mount of the disk is gone: nothing stays below it then.
func (d *Disk) Copy(ctx context.Context, uid int, from io.Reader, size int64) (path string, remove func(), err error) {
	if size <= 0 {
		return "", nil, fmt.Errorf("a copy of %d bytes: it needs at least one", size)
	}
	// Without its mount the folder is one of a local disk, which isn't to be filled.
	if !d.Has(d.files()) || !d.Has(d.out()) {
		return "", nil, ErrLost
	}
	d.sweep()
	room := Room(size)
	if err := d.take(room); err != nil {
		return "", nil, err
	}
	name := rand.Text()
	inside := filepath.Join(d.files(), name)
	remove = func() { d.remove(leftover{inside, room}) }
	if err = d.write(ctx, name, from, size); err == nil {
		err = os.Lchown(inside, uid, -1)
	}
	path = filepath.Join(d.out(), name)
	if err == nil && !d.Has(path) {
		err = ErrLost // while it was written
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}
