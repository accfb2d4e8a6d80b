// Package scripts runs programs that an administrator has named, such as the one that says whether a node is healthy.
package scripts

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Run runs a program with arguments for at most a time, with its output to out. The error is context.DeadlineExceeded if the time was over, or one of exec.Cmd.Run.
// No process of the program's group survives it: one could hold its output's pipe open.
func Run(ctx context.Context, timeout time.Duration, out io.Writer, path string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	if cmd.Process != nil {
		_ = cmd.Cancel() // its background processes, of which there are usually none
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
