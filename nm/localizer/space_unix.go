//go:build unix

package localizer

import (
	"fmt"

	"heddle/nm/disks"
)

// DiskSpace returns the free space of the file system that contains dir.
func DiskSpace(dir string) (Space, error) {
	s, err := disks.Free(dir)
	if err != nil {
		return Space{}, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return Space{Total: uint64(s.Total), Free: uint64(s.Free), Inodes: s.Inodes, Counts: s.Counts}, nil
}
