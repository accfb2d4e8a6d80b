package process

import (
	"io"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipe brings an output from a command to a writer. Most commands write nothing or little: only for what has come there is a goroutine. Nil is the pipe of an output that
// needs none.
type pipe struct {
	w    *watch
	to   io.Writer
	fd   int // ours
	far  int // the command's; -1: it has it
	id   uint64
	more chan struct{} // something may have come
	quit chan struct{} // closed when nothing is wanted any more
	done chan struct{} // closed at the end

	mu      sync.Mutex
	copying bool
	over    bool
}

// newPipe makes a pipe to a writer.
func (r *Runner) newPipe(to io.Writer) (*pipe, error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	p := &pipe{
		w: &r.watch, to: to, fd: ends[0], far: ends[1], more: make(chan struct{}, 1), quit: make(chan struct{}),
		done: make(chan struct{}),
	}
	if err := unblock(p.fd); err != nil {
		p.abandon()
		return nil, err
	}
	return p, nil
}

// end returns the command's end.
func (p *pipe) end() uintptr { return uintptr(p.far) }

// begin copies, once the command has the other end.
func (p *pipe) begin() {
	if p == nil {
		return
	}
	shut(p.far)
	p.far = -1
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.w.add(p.fd, &p.id, p.come); err != nil {
		p.finish() // the command gets SIGPIPE: it would wait for a reader forever
	}
}

func (p *pipe) abandon() {
	if p != nil {
		shut(p.fd)
		shut(p.far)
	}
}

// come records that something may have come. It doesn't wait.
func (p *pipe) come() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
	case p.copying:
		select {
		case p.more <- struct{}{}:
		default:
		}
	default:
		b := buffers.Get().(*[]byte)
		n, more := p.read(*b)
		if n > 0 {
			p.copying = true
			go p.copy(b, n)
			return
		}
		buffers.Put(b)
		if !more {
			p.finish()
		}
	}
}

// copy copies what has come, and what comes, until the end. The first n bytes are in b.
func (p *pipe) copy(b *[]byte, n int) {
	defer buffers.Put(b)
	defer func() {
		p.mu.Lock()
		p.finish() // the command gets SIGPIPE if its output isn't wanted
		p.mu.Unlock()
	}()
	for more := true; ; n, more = p.read(*b) {
		if n > 0 {
			if _, err := p.to.Write((*b)[:n]); err != nil {
				return // the writer knows why
			}
			continue
		}
		if !more {
			return
		}
		select {
		case <-p.more:
		case <-p.quit:
			return
		}
	}
}

// read reads what is there. If that is nothing, it says whether something may come.
func (p *pipe) read(b []byte) (n int, more bool) {
	for {
		n, _, err := syscall.RawSyscall(syscall.SYS_READ, uintptr(p.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)))
		switch err {
		case 0:
			return int(n), n > 0
		case syscall.EAGAIN:
			return 0, true
		case syscall.EINTR:
		default:
			return 0, false
		}
	}
}

// finish ends it. The lock is held.
func (p *pipe) finish() {
	if p.over {
		return
	}
	p.over = true
	p.w.remove(p.id)
	shut(p.fd)
	close(p.done)
}

// ended is closed when the output has ended.
func (p *pipe) ended() <-chan struct{} { return p.done }

// close stops reading, also if a process still has the pipe open.
func (p *pipe) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	close(p.quit)
	if !p.copying {
		p.finish()
	}
	p.mu.Unlock()
	<-p.done
}

// shut closes a pipe or a pidfd. That never waits, and so the runtime isn't told of a call that may (see watch).
func shut(fd int) { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0) }

// unblock has calls on a descriptor return instead of waiting.
func unblock(fd int) error {
	if _, _, err := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, unix.O_NONBLOCK); err != 0 {
		return err
	}
	return nil
}
