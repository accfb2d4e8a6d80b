//go:build unix

package disks

import (
	"syscall"

	"golang.org/x/sys/unix"
)

var errNoSpace error = syscall.ENOSPC

// Free returns the space of the file system that contains a path.
func Free(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	// Some file systems (btrfs) have no fixed number of inodes and report none at all.
	return Space{
		Total: int64(s.Blocks) * int64(s.Bsize), Free: int64(s.Bavail) * int64(s.Bsize),
		Inodes: uint64(s.Ffree), Counts: s.Files > 0,
	}, nil
}
