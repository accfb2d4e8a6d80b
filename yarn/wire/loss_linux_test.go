package wire

import (
	"crypto/tls"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel is told how long a peer may be silent, below TLS.
func TestKernelNoticesLoss(t *testing.T) {
	secret := NewSecret()
	executor, pool, err := pair(t, secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Conn{executor, pool} {
		raw, err := c.conn.(*tls.Conn).NetConn().(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			if ms, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err != nil || ms != 100 {
				t.Errorf("%d ms, %v", ms, err)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}
