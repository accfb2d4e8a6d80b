//go:build !linux

package process

import "syscall"

func attributes(group bool, _ *int) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }

// strays are not known on this system: what leaves its process group runs on.
type strays struct{}

func (*strays) begin() {}

func (*Runner) sweepSoon() {}

func (*Runner) sweep() int { return 0 }

func (*Runner) closeStrays() {}
