package kerberostest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a process when the thread that starts it ends.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
