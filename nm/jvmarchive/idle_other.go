//go:build !linux

package jvmarchive

import "syscall"

// idle would lower the priority of what is started; it is a matter of Linux here.
func idle(*syscall.SysProcAttr) {}
