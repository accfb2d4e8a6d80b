//go:build !linux

package jvmarchive

import "syscall"

// yieldTo would lower the priority of what is started; it is a matter of Linux here.
func yieldTo(*syscall.SysProcAttr, int) {}
