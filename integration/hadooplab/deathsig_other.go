//go:build !linux

package hadooplab

import "syscall"

// dieWithParent does nothing if the kernel doesn't support that. Then daemons of a killed test process stay.
func dieWithParent(*syscall.SysProcAttr) {}
