package xargs

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"heddle/am/process"
)

// Local runs commands on this machine.
type Local struct {
	Processes *process.Runner
	// Stdin is the standard input of commands; nil: /dev/null.
	Stdin *os.File
	Dir   string // where commands run; "": where this process does
	// Attached commands stay in this process's group, as those must that may read from the terminal.
	Attached bool
}

// kernelChars returns how many bytes Linux takes for a command line with its environment and pointers: a quarter of the stack, but not less than 128 kB nor more
// than 6 MB.
func (*Local) kernelChars() int {
	var stack syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_STACK, &stack) != nil {
		return 0
	}
	return int(min(max(stack.Cur/4, 128<<10), 6<<20))
}

// again is how long a command that a Ctrl-C has ended waits for that to reach this process too: its end is none of its own failures.
const again = 100 * time.Millisecond

// lacks reports whether a program can't be found where commands run.
func (l *Local) lacks(program string) bool {
	if l.Dir != "" && strings.ContainsRune(program, '/') {
		return false // it may be there
	}
	_, err := exec.LookPath(program)
	return err != nil
}

// Run implements Runner.
func (l *Local) Run(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome {
	c := process.Command{
		Args: t.Args, Stdin: l.Stdin, Stdout: stdout, Stderr: stderr, Timeout: t.Timeout,
		Attached: l.Attached, Dir: l.Dir,
	}
	if t.SlotVar != "" {
		c.Env = append(os.Environ(), t.SlotVar+"="+strconv.Itoa(t.Slot))
	}
	r, err := l.Processes.Run(ctx, c)
	if l.Attached && (r.Signal == syscall.SIGINT || r.Signal == syscall.SIGQUIT) {
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
	return Outcome{Exit: r.Exit, Signal: r.Signal, TimedOut: r.TimedOut, Err: err}
}
