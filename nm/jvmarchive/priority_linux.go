package jvmarchive

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// yieldTo lowers the priority of the calling thread, and of what it starts, by nice, and has the kernel end the process that is
// started with attr when the thread ends. Where the kernel refuses the former, the command just competes.
func yieldTo(attr *syscall.SysProcAttr, nice int) {
	attr.Pdeathsig = syscall.SIGKILL
	if nice > 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
	}
}
