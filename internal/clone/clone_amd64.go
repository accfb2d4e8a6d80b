//go:build linux

package clone

import "unsafe"

// Available says that Begin can be called.
const Available = true

// Args are those of clone3, as the kernel has them.
type Args struct {
	Flags, PidFD, ChildTID, ParentTID, ExitSignal, Stack, StackSize, TLS uint64
}

// Begin makes a process that shares this one's memory, and makes calls of the kernel in their order until one executes a program, or fails. It doesn't wait for that:
// when the process has ended, fault is the error of the call that has failed. Until then all memory that the calls and the arguments name must stay where it is, and be
// used by no other.
//
// The signals of the new process mustn't have handlers (CLONE_CLEAR_SIGHAND): they would run on the stack of this process.
func Begin(args *Args, calls []Call, fault *uintptr) (pid int, errno uintptr) {
	p, errno := begin(args, unsafe.Sizeof(*args), unsafe.SliceData(calls), uintptr(len(calls)), fault)
	return int(p), errno
}

//go:noescape
func begin(args *Args, size uintptr, calls *Call, n uintptr, fault *uintptr) (pid, errno uintptr)

//go:noescape
func limit(resource uintptr, l *Limit) (errno uintptr)

func init() {
	const files = 7 // RLIMIT_NOFILE
	if limit(files, &Files) != 0 {
		Files = Limit{}
	}
}
