//go:build !linux

package executor

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// Watch runs a program, and returns its exit code. On this system a stop by a signal goes unnoticed.
func Watch(ctx context.Context, args []string) (code int, err error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
