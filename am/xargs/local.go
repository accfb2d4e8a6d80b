package xargs

import (
	"context"
	"io"
	"os"
	"strconv"

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

// Run implements Runner.
func (l *Local) Run(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome {
	c := process.Command{Args: t.Args, Stdin: l.Stdin, Stdout: stdout, Stderr: stderr, Timeout: t.Timeout, Attached: l.Attached, Dir: l.Dir}
	if t.SlotVar != "" {
		c.Env = append(os.Environ(), t.SlotVar+"="+strconv.Itoa(t.Slot))
	}
	r, err := l.Processes.Run(ctx, c)
	return Outcome{Exit: r.Exit, Signal: r.Signal, TimedOut: r.TimedOut, Err: err}
}
