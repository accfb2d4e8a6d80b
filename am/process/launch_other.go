//go:build !linux

package process

import (
	"runtime"
	"syscall"
)

// launch is nothing on this system: whoever makes a process waits until it executes its program.
type launch struct{}

func (*launch) failed() error { return nil }

// begin makes a process for a command. Its streams are files from 0 on.
func begin(path string, args []string, c Command, env []string, files []uintptr) (child, error) {
	x := child{pidfd: -1}
	var err error
	x.pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{Dir: c.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: !c.Attached}})
	runtime.KeepAlive(c)
	return x, err
}
