package jvm

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

const cloexec = syscall.SOCK_CLOEXEC

// awaitEnd returns when a child has ended. Its number, and that of its group, stay taken.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
