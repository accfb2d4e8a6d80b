//go:build !linux

package process

import (
	"io"
	"os"
	"syscall"
	"time"
)

// pipe brings an output from a command to a writer. Nil is the pipe of an output that needs none.
type pipe struct {
	r, w *os.File
	to   io.Writer
	done chan struct{}
}

// newPipe makes a pipe to a writer.
func (r *Runner) newPipe(to io.Writer) (*pipe, error) {
	from, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &pipe{r: from, w: w, to: to, done: make(chan struct{})}, nil
}

// end returns the command's end.
func (p *pipe) end() uintptr { return p.w.Fd() }

// begin copies, once the command has the other end.
func (p *pipe) begin() {
	if p == nil {
		return
	}
	p.w.Close()
	go func() {
		defer close(p.done)
		defer p.r.Close() // the command gets SIGPIPE if its output isn't wanted
		b := buffers.Get().(*[]byte)
		defer buffers.Put(b)
		// Both ends know their errors. Neither copies by itself, which would take a buffer for each command.
		_, _ = io.CopyBuffer(struct{ io.Writer }{p.to}, struct{ io.Reader }{p.r}, *b)
	}()
}

func (p *pipe) abandon() {
	if p != nil {
		p.w.Close()
		p.r.Close()
	}
}

// ended is closed when the output has ended.
func (p *pipe) ended() <-chan struct{} { return p.done }

// close stops reading, also if a process still has the pipe open.
func (p *pipe) close() {
	if p == nil {
		return
	}
	_ = p.r.SetReadDeadline(time.Unix(1, 0)) // an error if it is closed
	<-p.done
}

// watch is nothing on this system: each wait for a process takes a thread.
type watch struct{}

func (*watch) begin() error { return nil }

func (*watch) close() {}

// await leaves it to reap to wait.
func (*watch) await(int) {}

func reapEnded(int, *syscall.WaitStatus) bool { return false }
