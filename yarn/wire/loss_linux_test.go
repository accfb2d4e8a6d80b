package wire

import (
	"crypto/tls"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
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

// full reports whether the kernel has taken all that the peer has room for: the rest waits.
func full(t *testing.T, c *Conn) bool {
	raw, err := c.conn.(*tls.Conn).NetConn().(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	probes := false
	err = raw.Control(func(fd uintptr) {
		if i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err != nil {
			t.Error(err)
		} else {
			probes = i.Backoff >= 3
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return probes
}

// What is sent to a peer that stands still, and is more than its kernel takes, gets there when it goes on.
func TestStandstillWithAFullBuffer(t *testing.T) {
	secret := NewSecret()
	executor, pool, err := pair(t, secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	pool.Standstill(true)
	large := &Task{ID: 5, Payload: make([]byte, 32<<20)}
	if err := pool.Send(large); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the kernel asks for room in vain, longer than it waits for others", func() bool { return full(t, pool) })
	pool.Standstill(false)
	if m, err := executor.Receive(); err != nil || len(m.(*Task).Payload) != len(large.Payload) {
		t.Fatal(err)
	}
	if err := executor.Send(&Cancel{ID: 7}); err != nil {
		t.Fatal(err)
	}
	if m, err := pool.Receive(); err != nil || m.(*Cancel).ID != 7 {
		t.Errorf("%v, %v", m, err)
	}
}
