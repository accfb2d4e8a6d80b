package wire

import (
	"crypto/tls"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
)

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

// A peer that takes nothing for a while isn't lost, whether it is known to stand still, or is busy or waits for somebody itself: its kernel
// answers. What is sent to it and is more than its kernel takes gets there when it goes on.
func TestAFullBufferIsNoLoss(t *testing.T) {
	secret := NewSecret()
	large := &Task{ID: 5, Payload: make([]byte, 32<<20)}
	var executors, pools [2]*Conn
	for i := range pools {
		var err error
		if executors[i], pools[i], err = pair(t, secret, secret); err != nil {
			t.Fatal(err)
		}
	}
	pools[0].Standstill(true)
	for _, pool := range pools {
		if err := pool.Send(large); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the kernel asks for room in vain, longer than an answer takes", func() bool {
		for _, pool := range pools {
			pool.mu.Lock()
			err := pool.err
			pool.mu.Unlock()
			if err == nil && !full(t, pool) {
				return false
			}
		}
		return true
	})
	pools[0].Standstill(false)
	for i, pool := range pools {
		if m, err := executors[i].Receive(); err != nil || len(m.(*Task).Payload) != len(large.Payload) {
			t.Fatalf("%v", err)
		}
		if err := executors[i].Send(&Cancel{ID: 7}); err != nil {
			t.Fatal(err)
		}
		if m, err := pool.Receive(); err != nil || m.(*Cancel).ID != 7 {
			t.Errorf("%v, %v", m, err)
		}
	}
}
