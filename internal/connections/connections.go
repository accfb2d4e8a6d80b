// Package connections limits the connections to a daemon: from one address, at one port, and in all. The limits leave
// descriptors for the daemon's own files and its own connections to others.
package connections

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
)

// The keys that limit connections.
const (
	PerAddressKey = "heddle.connections.max-per-address"
	PerPortKey    = "heddle.connections.max-per-port"
	ReservedKey   = "heddle.connections.reserved-descriptors"
)

// Limits are the largest numbers of connections that may be open at a time.
type Limits struct {
	All        int // at all ports together
	PerPort    int
	PerAddress int // from one address at all ports: an IPv4 address, or the /64 network of an IPv6 one
	Loopback   int // from this machine, at all ports
}

// LimitsOf returns the configured limits for a process that may have so many descriptors. It fails if none are left for
// connections.
func LimitsOf(c *conf.Config, descriptors int) (Limits, error) {
	reserved := c.Int(ReservedKey)
	if reserved == 0 {
		reserved = descriptors / 4
	}
	all := descriptors - reserved
	if all < 1 {
		return Limits{}, fmt.Errorf("%s = %d leaves no descriptor for connections, because this process may have %d: lower it, or raise the limit (ulimit -Hn; systemd: LimitNOFILE)",
			ReservedKey, reserved, descriptors)
	}
	port := c.Int(PerPortKey)
	if port == 0 {
		port = max(1, all/4*3)
	}
	port = min(port, all)
	// A whole cluster may run on this machine, for load or tests. It still leaves room at the other ports.
	return Limits{All: all, PerPort: port, PerAddress: min(c.Int(PerAddressKey), max(1, all/2)), Loopback: max(port, all/2)}, nil
}

// most is the number of descriptors to assume if there is no limit.
const most = 1 << 20

// Descriptors raises this process's limit of descriptors as far as it may, and returns the limit.
func Descriptors() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("the limit of descriptors: %w", err)
	}
	if l.Cur < l.Max {
		raised := syscall.Rlimit{Cur: l.Max, Max: l.Max}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	return int(min(l.Cur, most)), nil
}

// Counter counts the connections of a daemon.
type Counter struct {
	limits Limits
	log    *logrus.Entry

	mu      sync.Mutex
	all     int
	from    map[netip.Addr]int
	told    time.Time
	refused int
}

// New returns a counter for a daemon with a configuration.
func New(c *conf.Config, log *logrus.Entry) (*Counter, error) {
	n, err := Descriptors()
	if err != nil {
		return nil, err
	}
	limits, err := LimitsOf(c, n)
	if err != nil {
		return nil, err
	}
	return With(limits, log), nil
}

// With returns a counter with the given limits.
func With(l Limits, log *logrus.Entry) *Counter {
	return &Counter{limits: l, log: log, from: map[netip.Addr]int{}}
}

// Listen returns a listener that closes connections beyond the limits at once. name is the port's name in the log.
func (c *Counter) Listen(l net.Listener, name string) net.Listener {
	return &listener{Listener: l, counter: c, name: name}
}

type listener struct {
	net.Listener
	counter *Counter
	name    string
	open    int // guarded by the counter's lock
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := origin(c.RemoteAddr())
		if !l.counter.enter(l, from) {
			_ = c.Close()
			continue
		}
		leave := sync.OnceFunc(func() { l.counter.leave(l, from) })
		if t, ok := c.(*net.TCPConn); ok {
			return &tcpConn{t, leave}, nil
		}
		return &conn{c, leave}, nil
	}
}

// origin returns the address that a connection counts for.
func origin(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr := t.AddrPort().Addr().Unmap().WithZone("")
	if addr.Is6() && !addr.IsLoopback() {
		network, err := addr.Prefix(64)
		if err == nil {
			return network.Addr()
		}
	}
	return addr
}

func (c *Counter) enter(l *listener, from netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.limits.PerAddress
	if from.IsLoopback() {
		most = c.limits.Loopback
	}
	switch {
	case c.all >= c.limits.All:
		c.refuse(l, from, fmt.Sprintf("%d connections are open, and the other descriptors are reserved for files (%s; ulimit -Hn)", c.all, ReservedKey))
	case l.open >= c.limits.PerPort:
		c.refuse(l, from, fmt.Sprintf("%d connections are open at this port (%s)", l.open, PerPortKey))
	case c.from[from] >= most:
		c.refuse(l, from, fmt.Sprintf("%d connections from there are open (%s)", c.from[from], PerAddressKey))
	default:
		c.all++
		l.open++
		c.from[from]++
		return true
	}
	return false
}

// refuse logs a refusal, at most one line a minute.
func (c *Counter) refuse(l *listener, from netip.Addr, why string) {
	c.refused++
	if !c.told.IsZero() && time.Since(c.told) < time.Minute {
		return
	}
	c.log.WithFields(logrus.Fields{"port": l.name, "from": from, "refused": c.refused}).Warn("connection refused: " + why)
	c.told, c.refused = time.Now(), 0
}

func (c *Counter) leave(l *listener, from netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	l.open--
	if c.from[from]--; c.from[from] == 0 {
		delete(c.from, from)
	}
}

// tcpConn keeps the other abilities of a TCP connection, such as sending files.
type tcpConn struct {
	*net.TCPConn
	leave func()
}

// Close implements net.Conn.
func (c *tcpConn) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

type conn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
