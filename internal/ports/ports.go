// Package ports finds free ports for processes that tests and demonstrations start, also for those that restart on the
// same port.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are below the range from which the kernel takes those of outgoing connections (32768 and up on Linux), so that
// no such connection takes one.
const first, last = 10000, 32767

// Free returns different free ports. Until release is called, this package gives these ports to no other, in any
// process. An open UDP socket with the port's number, which is otherwise unused, marks it as taken.
func Free(n int) (ports []int, release func(), err error) {
	var marks []net.PacketConn
	release = func() {
		for _, m := range marks {
			_ = m.Close() // the mark isn't needed any more
		}
	}
	for range 1000 + 10*n {
		if len(ports) == n {
			return ports, release, nil
		}
		port := first + rand.IntN(last-first+1)
		at := net.JoinHostPort("", strconv.Itoa(port))
		mark, err := net.ListenPacket("udp", at)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", at)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			_ = mark.Close()
			continue
		}
		marks, ports = append(marks, mark), append(ports, port)
	}
	release()
	return nil, nil, fmt.Errorf("no %d free ports found from %d to %d", n, first, last)
}

// Loopback returns different unused addresses on loopback. They belong to the test until it ends.
func Loopback(t testing.TB, n int) []string {
	t.Helper()
	free, release, err := Free(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	addresses := make([]string, n)
	for i, port := range free {
		addresses[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return addresses
}
