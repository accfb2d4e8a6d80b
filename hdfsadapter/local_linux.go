package hdfsadapter

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func accessTime(st *syscall.Stat_t) int64 { return st.Atim.Sec*1000 + st.Atim.Nsec/1e6 }

// renameNew renames unless the target exists.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // not every file system supports it
		return renameNewSlowly(from, to)
	}
	return err
}
