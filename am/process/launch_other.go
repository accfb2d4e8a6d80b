//go:build !linux

package process

import "syscall"

// launch is nothing on this system: the maker of a process waits until it executes its program.
type launch struct{}

func (*launch) failed() error { return nil }

// begin makes a process for a command. Its streams are files from 0 on.
func begin(path string, args []string, c Command, env []string, files []uintptr) (child, error) {
	return forkExec(path, args, c, env, files)
}

// attributes returns what forkExec asks of package syscall.
func attributes(group bool, _ *int) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
