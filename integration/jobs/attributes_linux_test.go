package jobs

import "syscall"

// attributes tie a process to the test, in a group of its own so that ^C in a terminal ends the test only.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
