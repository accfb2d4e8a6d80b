package jvmarchive

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// idle lets the calling thread, and what it starts, have what others leave of the processors, and has the kernel end the
// process that is started with attr when the thread ends. Where the kernel refuses the former, the command just competes.
func idle(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGKILL
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}
