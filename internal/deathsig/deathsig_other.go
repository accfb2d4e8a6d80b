//go:build !linux

package deathsig

import "syscall"

// Set does nothing where the kernel doesn't support that.
func Set(*syscall.SysProcAttr) {}
