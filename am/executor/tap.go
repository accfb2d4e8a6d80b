package executor

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// A tap brings what an interpreter and its children write to one of its streams to the call that runs. While none does it stays in the pipe, for the next one: a thread may write that a
// call has left.
type tap struct {
	raw   syscall.RawConn
	far   *os.File // the interpreter's end
	close func()

	mu  sync.Mutex
	to  func([]byte) error // of the call; nil: none runs
	buf []byte
}

// maxLeft is more than a pipe may hold: what is there when a call begins or ends. More comes if a process continues writing.
const maxLeft = 1 << 20

func newTap() (*tap, error) {
	near, far, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	raw, err := near.SyscallConn()
	if err != nil {
		near.Close()
		far.Close()
		return nil, err
	}
	over := make(chan struct{})
	t := &tap{raw: raw, far: far, buf: make([]byte, 32<<10)}
	t.close = func() {
		near.Close()
		far.Close()
		<-over
	}
	go func() {
		defer close(over)
		ended := false
		_ = raw.Read(func(fd uintptr) bool { // until it is closed
			t.mu.Lock()
			defer t.mu.Unlock()
			for more := true; more && t.to != nil; {
				_, more, ended = t.pass(fd)
			}
			return ended
		})
	}()
	return t, nil
}

// pass passes on a piece of what is there. The lock is held.
func (t *tap) pass(fd uintptr) (n int, more, ended bool) {
	n, err := syscall.Read(int(fd), t.buf)
	switch {
	case errors.Is(err, syscall.EINTR):
		return 0, true, false
	case errors.Is(err, syscall.EAGAIN):
		return 0, false, false
	case err != nil || n == 0:
		return 0, false, true
	}
	if t.to(t.buf[:n]) != nil {
		t.to = func([]byte) error { return nil } // the interpreter mustn't wait
	}
	return n, true, false
}

// begin gives a call what comes from now on, and what has come before it.
func (t *tap) begin(to func([]byte) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.to = to
	return t.drain()
}

// end gives the call what it has written, and nothing more.
func (t *tap) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to == nil {
		return nil
	}
	defer func() { t.to = nil }()
	return t.drain()
}

// drain passes on what is there. The lock is held.
func (t *tap) drain() error {
	err := t.raw.Control(func(fd uintptr) {
		for sum, more := 0, true; more && sum < maxLeft; {
			var n int
			n, more, _ = t.pass(fd)
			sum += n
		}
	})
	if err != nil {
		return fmt.Errorf("output of an interpreter: %w", err)
	}
	return nil
}
