package ipc

import (
	"cmp"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// Activity is what a server has done since it was made.
type Activity struct {
	Connections    int   // that are open
	Running        int64 // calls in their handlers
	Answered       int64
	Failed         int64         // of Answered
	Took           time.Duration // from the handlers' begin to their end, of all answered calls together
	Received, Sent int64         // bytes
	Requests       int64         // bytes of memory that requests under way take
	Replies        int64         // bytes that wait for clients to read them
}

// MethodActivity is what a server has done of one method.
type MethodActivity struct {
	Method   Method
	Answered int64
	Failed   int64 // of Answered
	Took     time.Duration
}

// count sums up calls.
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

// begin counts a call that begins, and returns when.
func (a *activity) begin() time.Time {
	a.running.Add(1)
	return time.Now()
}

// end counts the end of a call, also for its method, nil if there is none of the name.
func (a *activity) end(began time.Time, m *served, err error) {
	took := time.Since(began)
	a.add(took, err)
	if m != nil {
		m.calls.add(took, err)
	}
	a.running.Add(-1)
}

// Activity returns what the server has done.
func (s *Server) Activity() Activity {
	a := &s.activity
	return Activity{
		Connections: s.Connections(), Running: a.running.Load(),
		Answered: a.answered.Load(), Failed: a.failed.Load(), Took: time.Duration(a.took.Load()),
		Received: a.received.Load(), Sent: a.sent.Load(),
		Requests: s.requests.used.Load(), Replies: s.replies.used.Load(),
	}
}

// Methods returns what the server has done of each method that it serves, by their names.
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
