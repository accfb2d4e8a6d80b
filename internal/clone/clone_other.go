//go:build !linux || !amd64

package clone

// Available says that Begin can't be called.
const Available = false

// Args aren't used.
type Args struct {
	Flags, PidFD, ExitSignal uint64
}

// Begin isn't called.
func Begin(*Args, []Call, *uintptr) (pid int, errno uintptr) { panic("clone.Begin") }
