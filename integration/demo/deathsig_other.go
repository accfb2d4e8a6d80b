//go:build !linux

package main

import "syscall"

// dieWithParent does nothing if the kernel doesn't support that.
func dieWithParent(*syscall.SysProcAttr) {}
