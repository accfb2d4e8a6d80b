//go:build !race

package light

import (
	"syscall"
	"unsafe"
)

// ask makes the call once.
func (t *transfer) ask(fd uintptr) (int, syscall.Errno) {
	n, _, fault := syscall.RawSyscall(t.call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.b))), uintptr(len(t.b)))
	return int(n), fault
}
