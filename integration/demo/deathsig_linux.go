package main

import "syscall"

// dieWithParent makes the kernel kill the process when its parent has ended.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
