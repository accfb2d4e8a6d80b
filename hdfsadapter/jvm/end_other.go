//go:build !linux

package jvm

import "syscall"

const cloexec = 0

// endWithThread does nothing: elsewhere than on Linux the process notices the end of its socket.
func endWithThread(*syscall.SysProcAttr) {}

// awaitEnd does nothing: the caller's own wait does.
func awaitEnd(int) {}
