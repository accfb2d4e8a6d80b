package main

import "syscall"

// dieWithParent makes the kernel kill the process when the one that started it is gone.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
