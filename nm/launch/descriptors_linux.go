package launch

import (
	"math"

	"golang.org/x/sys/unix"
)

// firstThread reports whether the caller is on the process's first thread.
func firstThread() bool { return unix.Gettid() == unix.Getpid() }

// keepDescriptors hides from containers the descriptors that this process has inherited. Go closes on exec only those
// that it has opened itself. Kernels before 5.11 don't support this.
func keepDescriptors() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }
