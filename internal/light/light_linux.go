package light

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// conn is the connection that Conn returns.
type conn struct {
	*net.TCPConn
	raw     syscall.RawConn
	in, out transfer
}

// transfer is what all calls of Read, or of Write, are made with.
type transfer struct {
	mu   sync.Mutex // for one call at a time
	call uintptr
	name string // of the call
	b    []byte // what is left
	n    int
	err  error
	try  func(fd uintptr) (done bool)
}

// Conn returns a connection that does the same as c. Its reads and writes aren't announced to the runtime if c is one of TCP.
func Conn(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	l := &conn{TCPConn: t, raw: raw}
	l.in.call, l.in.name, l.in.try = syscall.SYS_READ, "read", l.in.once
	l.out.call, l.out.name, l.out.try = syscall.SYS_WRITE, "write", l.out.all
	return l
}

// once makes the call, and reports whether it is over: otherwise the kernel has no data, or no room.
func (t *transfer) once(fd uintptr) bool {
	for {
		n, fault := t.ask(fd)
		switch fault {
		case 0:
			t.n, t.b = t.n+n, t.b[n:]
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			t.err = os.NewSyscallError(t.name, fault)
			return true
		}
	}
}

func (t *transfer) all(fd uintptr) bool {
	for len(t.b) > 0 && t.err == nil {
		if !t.once(fd) {
			return false
		}
	}
	return true
}

// begin takes the bytes of a call when the call before has ended.
func (t *transfer) begin(b []byte) {
	t.mu.Lock()
	t.b, t.n, t.err = b, 0, nil
}

// end ends a call, and returns its result; err is the poller's.
func (t *transfer) end(err error) (int, error) {
	defer t.mu.Unlock()
	if t.b = nil; t.err != nil {
		err = t.err
	}
	return t.n, err
}

// Read reads what has come.
func (l *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	l.in.begin(b)
	n, err := l.in.end(l.raw.Read(l.in.try))
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write writes everything.
func (l *conn) Write(b []byte) (int, error) {
	l.out.begin(b)
	return l.out.end(l.raw.Write(l.out.try))
}
