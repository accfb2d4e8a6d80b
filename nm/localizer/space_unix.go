//go:build unix

package localizer

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// DiskSpace returns the free space of the file system that contains dir.
func DiskSpace(dir string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return Space{}, fmt.Errorf("statfs %s: %w", dir, err)
	}
	// Some file systems (btrfs) have no fixed number of inodes and report none at all.
	return Space{Total: uint64(s.Blocks) * uint64(s.Bsize), Free: uint64(s.Bavail) * uint64(s.Bsize), Inodes: uint64(s.Ffree), Counts: s.Files > 0}, nil
}
