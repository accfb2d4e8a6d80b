package process

import (
	"io"
	"os"
	"reflect"
	"sync"
	"time"
)

// Waits for the end of an output when the first process has ended. Usually no other has the pipe. Else strays are
// looked for, and given up at last.
const (
	briefly = 20 * time.Millisecond
	escaped = time.Second
)

// buffers are for copying.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// commands without named streams read and write nothing.
var nothing = sync.OnceValues(func() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDWR, 0) })

// outlet returns what a command is to write to. The pipe of an output that needs none is nil.
func (r *Runner) outlet(to io.Writer) (uintptr, *pipe, error) {
	if to == nil {
		f, err := nothing()
		if err != nil {
			return 0, nil, err
		}
		return f.Fd(), nil, nil
	}
	if f, ok := to.(*os.File); ok {
		return f.Fd(), nil, nil
	}
	p, err := r.newPipe(to)
	if err != nil {
		return 0, nil, err
	}
	return p.end(), p, nil
}

// same reports whether two writers are one.
func same(a, b io.Writer) bool { return a != nil && reflect.TypeOf(a).Comparable() && a == b }

// drained waits for the end of the output.
func (p *pipe) drained(within time.Duration) bool {
	if p == nil {
		return true
	}
	select {
	case <-p.ended():
		return true
	default:
	}
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.ended():
		return true
	case <-t.C:
		return false
	}
}
