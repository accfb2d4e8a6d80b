//go:build race

package light

import "syscall"

// ask makes the call once, by the function of package syscall that tells the race detector that what was before a write comes before what is after the read of it.
func (t *transfer) ask(fd uintptr) (int, syscall.Errno) {
	do := syscall.Read
	if t.call == syscall.SYS_WRITE {
		do = syscall.Write
	}
	n, err := do(int(fd), t.b)
	fault, _ := err.(syscall.Errno)
	return n, fault
}
