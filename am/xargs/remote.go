package xargs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"heddle/am/pool"
	"heddle/yarn/wire"
)

// Submitter takes tasks: a pool of executors, or a scheduler that probes nodes.
type Submitter interface {
	Submit(...*pool.Task)
	Cancel(*pool.Task) // Done is called as always
}

// Remote runs commands on executors.
type Remote struct {
	Pool Submitter
	Env  []string // NAME=VALUE, of all commands
	Dir  string   // where they run; a node that lacks it runs them in its executor's folder, unless NeedDir
	// NeedDir says that commands fail on nodes without Dir.
	NeedDir bool
	// Preload says that the last argument of a command is the name of its input.
	Preload bool

	nowhere atomic.Pointer[error]
}

// Nowhere returns why there is nothing left that could run commands, as the last outcome said that wraps ErrNowhere, or nil.
func (r *Remote) Nowhere() error {
	if err := r.nowhere.Load(); err != nil {
		return *err
	}
	return nil
}

// Run implements Runner. Output of a command doesn't count if it runs again because an executor was lost; stdout then is told so by a
// method Restart.
func (r *Remote) Run(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome {
	type end struct {
		wire.Ended
		err error
	}
	done := make(chan end, 1)
	x := &pool.Task{
		Task: wire.Task{
			What: wire.Command, Args: t.Args, Env: r.Env, Dir: r.Dir, NeedDir: r.NeedDir,
			TimeoutMS: uint64((t.Timeout + time.Millisecond - 1).Milliseconds()),
		},
		Output: func(stream int, b []byte) {
			// The writers remember their errors.
			if stream == 0 {
				_, _ = stdout.Write(b)
			} else {
				_, _ = stderr.Write(b)
			}
		},
		Restart: func() {
			if s, ok := stdout.(interface{ Restart() }); ok {
				s.Restart()
			}
		},
		Done: func(e wire.Ended, err error) { done <- end{e, err} },
	}
	if r.Preload && len(t.Args) > 1 {
		x.Input = t.Args[len(t.Args)-1]
	}
	if t.SlotVar != "" {
		x.Env = append(r.Env[:len(r.Env):len(r.Env)], t.SlotVar+"="+strconv.Itoa(t.Slot))
	}
	r.Pool.Submit(x)
	var e end
	select {
	case e = <-done:
	case <-ctx.Done():
		r.Pool.Cancel(x)
		e = <-done
	}
	o := outcome(&e.Ended, e.err)
	if errors.Is(o.Err, ErrNowhere) {
		r.nowhere.Store(&o.Err)
	}
	return o
}

func outcome(e *wire.Ended, err error) Outcome {
	o := Outcome{Exit: int(e.Exit), Signal: syscall.Signal(e.Signal), TimedOut: e.TimedOut}
	switch {
	case errors.Is(err, ErrLost), errors.Is(err, wire.ErrTooLarge):
		o.Err = err
	case err != nil:
		o.Err = fmt.Errorf("%w: %w", ErrNowhere, err)
	case e.Why == wire.Missing:
		o.Err = fs.ErrNotExist
	case e.Why == wire.Forbidden:
		o.Err = fs.ErrPermission
	case e.Why == wire.TooLong:
		o.Err = syscall.E2BIG
	case e.Why == wire.Canceled:
		o.Err = context.Canceled
	case e.Why != wire.Ran:
		o.Err = errors.New(e.Fault)
	}
	return o
}
