package wire

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deaf reports whether a peer's kernel has said nothing for so long though what was sent was sent again, or doesn't answer when it is asked
// for room. A peer may take nothing because it is busy, or waits itself. Its kernel answers then, and drops what it has no room for: where
// more than a little waits to be sent, lost packets mean nothing, and only Silence says that it is lost. TCP_USER_TIMEOUT would end such
// connections.
func deaf(c net.Conn, since time.Duration) bool {
	i, ok := infoOf(c)
	return ok && (i.Retransmits > 0 && i.Notsent_bytes < little && time.Duration(i.Last_ack_recv)*time.Millisecond >= since || i.Probes >= unanswered)
}

// unheard reports whether a peer's kernel has still to acknowledge something, though it has room for it, and for how long it has acknowledged
// nothing. The round trip of a message doesn't count.
func unheard(c net.Conn) (age time.Duration, waits bool) {
	i, ok := infoOf(c)
	if !ok {
		return 0, false
	}
	return time.Duration(i.Last_ack_recv)*time.Millisecond - 2*time.Duration(i.Min_rtt)*time.Microsecond, i.Unacked > 0 && i.Notsent_bytes < little
}

// infoOf returns what the kernel knows of a connection.
func infoOf(c net.Conn) (info *unix.TCPInfo, ok bool) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, false
	}
	controlled := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	return info, controlled == nil && err == nil
}

// little is how many bytes fill no peer's buffer.
const little = 16 << 10

// unanswered is how many questions for room a peer's kernel may leave unanswered: the last one may be on its way.
const unanswered = 3
