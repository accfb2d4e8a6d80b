package ipc

import (
	"cmp"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// Activity sums up a server's work since NewServer.
type Activity struct {
	Connections    int   // open now
	Running        int64 // calls in their handlers
	Answered       int64
	Failed         int64         // of Answered
	Took           time.Duration // time that handlers took for all answered calls together
	Received, Sent int64         // bytes
	Requests       int64         // memory that requests under way take, in bytes
	Replies        int64         // replies that clients haven't read yet, in bytes
}

// MethodActivity sums up a server's calls of one method.
type MethodActivity struct {
	Method   Method
	Answered int64
	Failed   int64 // of Answered
	Took     time.Duration
}

// count counts calls and adds up their times.
type count struct{ answered, failed, took atomic.Int64 }

func (c *count) add(took time.Duration, err error) {
	c.took.Add(int64(took))
	if err != nil {
		c.failed.Add(1)
	}
	c.answered.Add(1)
}

// activity counts calls and bytes.
type activity struct {
	count
	running, received, sent atomic.Int64
}

// begin counts a call, and returns the time of its begin.
func (a *activity) begin() time.Time {
	a.running.Add(1)
	return time.Now()
}

// end counts the end of a call. It also counts it for method m, unless m is nil.
func (a *activity) end(began time.Time, m *served, err error) {
	took := time.Since(began)
	a.add(took, err)
	if m != nil {
		m.calls.add(took, err)
	}
	a.running.Add(-1)
}

// Activity returns the server's counts.
func (s *Server) Activity() Activity {
	a := &s.activity
	return Activity{
		Connections: s.Connections(), Running: a.running.Load(),
		Answered: a.answered.Load(), Failed: a.failed.Load(), Took: time.Duration(a.took.Load()),
		Received: a.received.Load(), Sent: a.sent.Load(),
		Requests: s.requests.used.Load(), Replies: s.replies.used.Load(),
	}
}

// Methods returns the counts of each method that the server serves, in the order of their names.
func (s *Server) Methods() (list []MethodActivity) {
	for _, p := range s.services {
		for _, m := range p.methods {
			list = append(list, MethodActivity{
				m.method, m.calls.answered.Load(), m.calls.failed.Load(), time.Duration(m.calls.took.Load()),
			})
		}
	}
	slices.SortFunc(list, func(a, b MethodActivity) int {
		return cmp.Or(cmp.Compare(a.Method.Name, b.Method.Name), cmp.Compare(a.Method.Protocol.Name, b.Method.Protocol.Name))
	})
	return list
}

// countedConn is a connection whose bytes are counted.
type countedConn struct {
	net.Conn
	to *activity
}

// Read implements net.Conn.
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.to.received.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.to.sent.Add(int64(n))
	return n, err
}

// CloseWrite ends the sending side, if the connection has one that ends by itself.
func (c countedConn) CloseWrite() error {
	if t, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return t.CloseWrite()
	}
	return nil
}
