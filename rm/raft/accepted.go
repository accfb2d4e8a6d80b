package raft

import (
	"fmt"
	"net"
	"time"
)

// stallTimeout is how long a caller may pause within a message. A member in the middle of a snapshot doesn't vote. A leader that pauses while
// it sends one would keep two others from electing another.
const stallTimeout = 2 * time.Second

// accepted is a connection that closes with its stream, and fails when its caller stops in the middle of a message. A caller may be silent
// for as long as it likes between messages: raft keeps spare connections. One goroutine at a time uses it.
type accepted struct {
	net.Conn
	raw    net.Conn
	stream *stream
	midway bool  // something was read that has not been answered
	broken error // the rest of a message did not come
}

// Read implements net.Conn.
func (a *accepted) Read(p []byte) (int, error) {
	if a.broken != nil {
		return 0, a.broken
	}
	var deadline time.Time
	if a.midway {
		deadline = time.Now().Add(stallTimeout)
	}
	if err := a.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	n, err := a.Conn.Read(p)
	if n > 0 {
		a.midway = true
	}
	if isTimeout(err) {
		a.broken = fmt.Errorf("%v has sent nothing of the rest of its message for %v: %w", a.RemoteAddr(), stallTimeout, err)
		return n, a.broken
	}
	return n, err
}

// Write implements net.Conn. Only answers are written, and an answer ends a message.
func (a *accepted) Write(p []byte) (int, error) {
	a.midway = false
	return a.Conn.Write(p)
}

// Close implements net.Conn.
func (a *accepted) Close() error {
	err := a.Conn.Close()
	a.stream.forget(a.raw)
	return err
}
