// Package program runs a command line: it ends by signals as shells expect, and tells errors once. It also finds the other program of Heddle: heddle-lab
// measures daemons of heddle, and heddle passes the laboratory's commands on.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"heddle/internal/plain"
)

// Exit ends the program with a status and without a message, because that was printed already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs the command that the arguments name. It returns if that succeeds, and else ends the process.
func Main(root *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	// A second Ctrl-C ends the program at once, for instance while it waits for a ResourceManager that doesn't answer.
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) })
	err := root.ExecuteContext(ctx)
	if err == nil {
		return
	}
	status := statusOf(root.Name(), err)
	if ctx.Err() != nil && strings.Contains(context.Cause(ctx).Error(), os.Interrupt.String()) && HasTerminal() {
		dieOfInterrupt()
	}
	os.Exit(status)
}

// statusOf returns the exit status for an error, which it prints unless that was done already.
func statusOf(name string, err error) int {
	var exit Exit
	if errors.As(err, &exit) {
		return int(exit)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, plain.Text(err.Error()))
	return 1
}

// HasTerminal reports whether a user can see this process's output and interrupt it.
func HasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// dieOfInterrupt ends this process by the signal that has ended its work. A shell's loop or script continues after a program that turns a Ctrl-C into
// an exit code.
func dieOfInterrupt() {
	signal.Reset(os.Interrupt)
	if syscall.Kill(os.Getpid(), syscall.SIGINT) == nil {
		time.Sleep(time.Second) // any thread may get it
	}
}

// endings returns the signals that end the program, with what it has started. Those that it was started to ignore aren't among them, as by nohup, or those of the terminal in a script's
// background.
func endings() (list []os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return append(list, syscall.SIGTERM)
}

// Beside returns the path of Heddle's other program of that name: it stands in the folder of this one, as make build and make install leave them, or in PATH.
func Beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	path := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%s is neither beside %s nor in PATH: make build makes both", name, self)
}
