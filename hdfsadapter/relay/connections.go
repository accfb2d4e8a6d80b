package relay

import (
	"context"
	"net"
	"sync"
	"time"
)

// Connections are those of one file. The library has no contexts, and lacks time limits where they matter.
type Connections struct {
	mu     sync.Mutex
	open   map[*idleConn]struct{}
	closed bool
}

// NewConnections returns none yet.
func NewConnections() *Connections { return &Connections{open: map[*idleConn]struct{}{}} }

// Dialer returns a dial function for the library. Its connections end with the file, and wait no longer than timeout
// for a silent peer.
func (c *Connections) Dialer(ctx context.Context, timeout time.Duration) Dialer {
	return func(_ context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return c.Add(conn, timeout)
	}
}

// Add makes a connection end with the file.
func (c *Connections) Add(conn net.Conn, timeout time.Duration) (net.Conn, error) {
	ic := &idleConn{Conn: conn, of: c, timeout: timeout}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.open[ic] = struct{}{}
	return ic, nil
}

// Close ends them, and lets none begin.
func (c *Connections) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.open {
		_ = conn.Conn.Close()
	}
	clear(c.open)
}

// idleConn sets a time limit for every Read and Write.
type idleConn struct {
	net.Conn
	of      *Connections
	timeout time.Duration
}

func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetDeadline does nothing: the library's own deadlines don't count.
func (c *idleConn) SetDeadline(time.Time) error { return nil }

func (c *idleConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
