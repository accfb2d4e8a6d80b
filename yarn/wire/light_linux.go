package wire

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// light is a TCP connection whose reads and writes aren't announced to Go's runtime as calls that may block. They never do: its poller waits. A runtime that is told of
// a call wakes a thread that looks after it every 20 µs ("sysmon"). In a process that mostly waits, and passes a message on now and then, that made two thirds of all
// switches, each at the cost of who works beside it. Read has one caller at a time, and Write another one, as under TLS.
type light struct {
	*net.TCPConn
	raw     syscall.RawConn
	in, out transfer
}

// transfer is a call of Read or Write.
type transfer struct {
	call uintptr
	name string // of the call
	b    []byte // what is left
	n    int
	err  error
	try  func(fd uintptr) (done bool)
}

// lighten returns a connection that does the same as c.
func lighten(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	l := &light{TCPConn: t, raw: raw}
	l.in = transfer{call: syscall.SYS_READ, name: "read", try: l.in.once}
	l.out = transfer{call: syscall.SYS_WRITE, name: "write", try: l.out.all}
	return l
}

// once makes the call, and reports whether it is over: otherwise the kernel has nothing to give, or no room.
func (t *transfer) once(fd uintptr) bool {
	for {
		n, _, fault := syscall.RawSyscall(t.call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.b))), uintptr(len(t.b)))
		switch fault {
		case 0:
			t.n, t.b = t.n+int(n), t.b[n:]
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

// begin takes the bytes of a call.
func (t *transfer) begin(b []byte) { t.b, t.n, t.err = b, 0, nil }

// end returns the result of a call; err is the poller's.
func (t *transfer) end(err error) (int, error) {
	if t.b = nil; t.err != nil {
		err = t.err
	}
	return t.n, err
}

// Read reads what has come.
func (l *light) Read(b []byte) (int, error) {
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
func (l *light) Write(b []byte) (int, error) {
	l.out.begin(b)
	return l.out.end(l.raw.Write(l.out.try))
}
