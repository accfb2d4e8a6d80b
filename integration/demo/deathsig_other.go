//go:build !linux

package main

import "syscall"

// dieWithParent does nothing where the kernel can't.
func dieWithParent(*syscall.SysProcAttr) {}
