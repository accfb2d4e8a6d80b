//go:build !linux

package jvmarchive

import "syscall"

// yieldTo does nothing: only Linux has priorities of threads.
func yieldTo(*syscall.SysProcAttr, int) {}
