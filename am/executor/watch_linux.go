package executor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// An executor is looked at so often, and at so many looks in a row it must be stopped: a user may resume it. Looks are counted, and not the time,
// which passes also while this process is stopped, as one is whose container is suspended by signals.
var lookEvery = 50 * time.Millisecond // for tests

const stoppedLooks = 10

// Watch runs a program, which is to be an executor's, and returns its exit code, as a shell has it, or the error of its start. It ends the program if a signal has stopped it: the kernel
// keeps the connection of a stopped process, so that the pool would notice it by silence only. It passes SIGTERM on, of which ctx's end is the sign. If this process ends, so does the program.
func Watch(ctx context.Context, args []string) (code int, err error) {
	// The kernel looks at the thread that starts the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, err
	}
	changes := make(chan change)
	go func() {
		for over := false; !over; {
			c := changed(p.Pid)
			over = c.err != nil || c.status.Exited() || c.status.Signaled()
			changes <- c
		}
	}()
	looks := time.NewTicker(lookEvery)
	looks.Stop()
	defer looks.Stop()
	told := ctx.Done()
	for stopped := 0; ; {
		select {
		case c := <-changes:
			switch {
			case c.err != nil:
				return 0, fmt.Errorf("waiting for process %d: %w", p.Pid, c.err)
			case c.status.Stopped():
				stopped = 0
				looks.Reset(lookEvery)
			case c.status.Continued():
				looks.Stop()
			case c.status.Signaled():
				return 128 + int(c.status.Signal()), nil
			default:
				return c.status.ExitStatus(), nil
			}
		case <-looks.C:
			if stopped++; stopped == stoppedLooks {
				fmt.Fprintln(os.Stderr, "The executor was stopped by a signal, and ends for it")
				_ = p.Kill() // it may have ended
			}
		case <-told:
			told = nil
			_ = p.Signal(syscall.SIGTERM) // likewise
		}
	}
}

// change is a process's stop, resumption or end.
type change struct {
	status syscall.WaitStatus
	err    error
}

// changed waits until a process has stopped, continues, or has ended.
func changed(pid int) (c change) {
	for {
		if _, c.err = syscall.Wait4(pid, &c.status, syscall.WUNTRACED|syscall.WCONTINUED, nil); c.err != syscall.EINTR { //nolint:errorlint // it is the kernel's
			return c
		}
	}
}
