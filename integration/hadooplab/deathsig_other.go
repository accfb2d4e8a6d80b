//go:build !linux

package hadooplab

import "syscall"

// dieWithParent does nothing where the kernel has no such thing: daemons of a killed test process stay.
func dieWithParent(*syscall.SysProcAttr) {}
