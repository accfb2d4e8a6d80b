package wire

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// noticeLoss makes the kernel end a connection whose peer acknowledges nothing for a while.
func noticeLoss(c net.Conn) {
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
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(Unacknowledged.Milliseconds()))
	})
}
