package javafs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockName = "lock"
	// young is how long a folder may be without a lock: its process has just made it.
	young = time.Minute
	// maxLooked bounds how many names of the folder of temporary files are looked at: it is everyone's.
	maxLooked = 100_000
)

// NewFolder makes a temporary folder for the jar of a process's JVMs, and removes those that processes of the same user have left which were killed. A process holds a
// lock on its folder as long as it lives.
func NewFolder() (dir string, err error) {
	sweep(os.TempDir())
	if dir, err = os.MkdirTemp("", folderPrefix); err != nil {
		return "", err
	}
	fresh := filepath.Join(dir, lockName+".new") // another process finds the lock held, or none
	fd, err := unix.Open(fresh, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil { // it stays open
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(fresh, filepath.Join(dir, lockName))
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// sweep removes the folders of processes that have ended.
func sweep(temp string) {
	f, err := os.Open(temp)
	if err != nil {
		return
	}
	defer f.Close()
	for looked := 0; looked < maxLooked; {
		names, err := f.Readdirnames(1000)
		if err != nil {
			return
		}
		looked += len(names)
		for _, name := range names {
			if dir := filepath.Join(temp, name); strings.HasPrefix(name, folderPrefix) && left(dir) {
				_ = os.RemoveAll(dir)
			}
		}
	}
}

// left reports whether a folder is this user's, and no process holds it.
func left(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	fd, err := unix.Open(filepath.Join(dir, lockName), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return time.Since(info.ModTime()) > young
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}
