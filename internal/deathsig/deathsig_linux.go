// Package deathsig ends processes that were started when the thread that started them ends, so that none outlives a killed parent.
package deathsig

import "syscall"

// Set has the kernel kill the process that starts with attr when its thread ends. The caller keeps that thread, if the process shall live for longer than
// what the thread does else.
func Set(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
