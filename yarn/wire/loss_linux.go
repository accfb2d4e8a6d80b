package wire

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deaf reports whether a peer's kernel has said nothing for so long though what was sent was sent again, or doesn't answer when it is asked
// for room. A peer may take nothing because it is busy, or waits for somebody itself. Its kernel answers then, and drops what it has no room
// for: where more than a little waits to be sent, lost packets mean nothing, and only Silence says that it is lost. TCP_USER_TIMEOUT would
// end such connections.
func deaf(c net.Conn, since time.Duration) (is bool) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		again := err == nil && i.Retransmits > 0 && i.Notsent_bytes < little && time.Duration(i.Last_ack_recv)*time.Millisecond >= since
		is = again || err == nil && i.Probes >= unanswered
	})
	return is && err == nil
}

// little is how many bytes fill no peer's buffer.
const little = 16 << 10

// unanswered is how many questions for room a peer's kernel may leave unanswered: the last one may be on its way.
const unanswered = 3
