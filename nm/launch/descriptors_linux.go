package launch

import (
	"math"

	"golang.org/x/sys/unix"
)

// keepDescriptors keeps from containers what this process has inherited from whoever started it: Go closes on exec
// only what it has opened itself. Kernels before 5.11 can't do it.
func keepDescriptors() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }
