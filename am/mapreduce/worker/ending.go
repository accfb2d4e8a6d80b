package worker

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// farewell is how long the failure of a command by SIGTERM isn't reported. A node that ends a container sends that signal to each of its
// processes, to the worker maybe last.
const farewell = 250 * time.Millisecond

// ends reports whether a task has failed because its worker ends. The task isn't to blame then: the end of the container tells the
// ApplicationMaster what is, if anything: it isn't a failure if its resources were taken away.
func ends(worker context.Context, failure error) bool {
	var exit *exec.ExitError
	if errors.As(failure, &exit) {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() && s.Signal() == syscall.SIGTERM {
			select {
			case <-worker.Done():
			case <-time.After(farewell):
			}
		}
	}
	return worker.Err() != nil
}
