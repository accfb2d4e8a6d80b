package jvmarchive

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// yieldTo lowers the priority of the calling thread and its children by nice. It also makes the kernel end the process
// that starts with attr when the thread ends. If the kernel refuses the lower priority, the command just competes.
func yieldTo(attr *syscall.SysProcAttr, nice int) {
	attr.Pdeathsig = syscall.SIGKILL
	if nice > 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	}
}
