package wire

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// noticeLoss makes the kernel end a connection whose peer acknowledges nothing, or takes nothing, for so long; 0: it never does.
func noticeLoss(c net.Conn, after time.Duration) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // without it, a loss is noticed after Silence
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
	})
}
