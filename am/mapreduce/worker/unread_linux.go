package worker

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// unread returns how many bytes lie in a pipe.
func unread(pipe *os.File) int64 {
	if pipe == nil {
		return 0
	}
	c, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	if c.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }) != nil || err != nil {
		return 0 // it is closed: all was read, or will not be
	}
	return int64(n)
}

// readEnd opens the other end of a pipe; nil if that can't be done. While this process has it, a command that closes its input
// isn't noticed.
func readEnd(pipe *os.File) (end *os.File) {
	c, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	if c.Control(func(fd uintptr) {
		end, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	}) != nil || err != nil {
		return nil
	}
	return end
}

// shrink lets a pipe hold so many bytes at least, and few more.
func shrink(pipe *os.File, size int) {
	if c, err := pipe.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	}
}
