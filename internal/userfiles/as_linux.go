package userfiles

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// As runs fn with the file system rights of o. It uses a thread of its own that ends afterwards, so that nothing else
// ever runs with those rights. If o is nil, it just calls fn.
func As(o *User, fn func() error) error {
	if o == nil {
		return fn()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends
		if err := become(o); err != nil {
			done <- fmt.Errorf("take on the rights of uid %d: %w", o.UID, err)
			return
		}
		done <- fn()
	}()
	return <-done
}

// become changes the identity by which the kernel judges this thread's file accesses. A change from root to a user also
// drops the thread's capabilities to override permissions.
func become(o *User) error {
	groups := make([]uint32, len(o.Groups))
	for i, g := range o.Groups {
		groups[i] = uint32(g)
	}
	var first unsafe.Pointer
	if len(groups) > 0 {
		first = unsafe.Pointer(&groups[0])
	}
	// The syscall package's Setgroups would change all threads.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 {
		return fmt.Errorf("setgroups: %w", errno)
	}
	// These two calls report no errors. They return the previous id; a call with an invalid id changes nothing and
	// returns the present one.
	unix.RawSyscall(unix.SYS_SETFSGID, uintptr(o.GID), 0, 0)
	unix.RawSyscall(unix.SYS_SETFSUID, uintptr(o.UID), 0, 0)
	none := ^uintptr(0)
	gid, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, none, 0, 0)
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, none, 0, 0)
	if int(uint32(gid)) != o.GID || int(uint32(uid)) != o.UID {
		return unix.EPERM
	}
	return nil
}
