package userfiles

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// madeUp are the file systems whose files the kernel generates. They may be mounted anywhere.
var madeUp = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.BPF_FS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.EFIVARFS_MAGIC, unix.NSFS_MAGIC,
	unix.PIPEFS_MAGIC, unix.SOCKFS_MAGIC,
}

func checkKernel(fd int, path string) error {
	var s unix.Statfs_t
	if err := unix.Fstatfs(fd, &s); err != nil {
		return &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if slices.Contains(madeUp, int64(s.Type)) {
		return &os.PathError{Op: "open", Path: path, Err: ErrKernel}
	}
	return nil
}
