package ramdisk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// idleLimit is how long helpers wait for more when the last copy has ended. To start one costs as much processor time as to copy some MB.
	idleLimit = time.Second
	// pipeSize is how much of a copy is under way to a helper, in bytes: each pipe of that size saves a dozen switches between the two.
	pipeSize = 1 << 20
)

// helper is a process that writes copies, one after the other.
type helper struct {
	c      *exec.Cmd
	to     *os.File
	from   *bufio.Reader
	errors bytes.Buffer // its errors
	buffer []byte
}

// write makes a helper write a file.
func (d *Disk) write(ctx context.Context, name string, from io.Reader, size int64) error {
	for {
		h, used, err := d.helper()
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = h.c.Process.Kill() }) // one that has ended needs no end
		begun, err := h.write(name, from, size)
		if stop() && err == nil {
			d.keep(h)
			return nil
		}
		err = errors.Join(ctx.Err(), err, h.end())
		if !used || begun || ctx.Err() != nil {
			return err
		}
		// It had ended since its last copy, and nothing of this one is lost.
	}
}

// helper returns a helper without work, which may have been used before.
func (d *Disk) helper() (h *helper, used bool, err error) {
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		h, d.idle = d.idle[n-1], d.idle[:n-1]
	}
	d.mu.Unlock()
	if h != nil {
		return h, true, nil
	}
	h, err = d.start()
	return h, false, err
}

// start starts a helper in the group.
func (d *Disk) start() (*helper, error) {
	h := &helper{
		c:      exec.Command(d.c.Helper[0], append(d.c.Helper[1:len(d.c.Helper):len(d.c.Helper)], d.files())...),
		buffer: make([]byte, pipeSize),
	}
	h.c.Stderr = &h.errors
	out, err := h.c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.from = bufio.NewReader(out)
	in, to, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	defer in.Close()
	h.c.Stdin, h.to = in, to
	_, _ = unix.FcntlInt(to.Fd(), unix.F_SETPIPE_SZ, pipeSize) // a smaller one works, too
	if err := h.c.Start(); err != nil {
		return nil, errors.Join(err, to.Close())
	}
	if err := d.c.Join(h.c.Process.Pid); err != nil {
		return nil, errors.Join(err, h.end())
	}
	return h, nil
}

// write makes the helper write a file, and waits until it has. begun: something of the source may be lost if it hasn't.
func (h *helper) write(name string, from io.Reader, size int64) (begun bool, err error) {
	if _, err := fmt.Fprintln(h.to, name, size); err != nil {
		return false, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{h.to}, io.LimitReader(from, size), h.buffer)
	if err == nil && n != size {
		err = fmt.Errorf("%d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return true, err
	}
	said, err := h.from.ReadString('\n')
	switch {
	case err != nil:
		return true, err
	case strings.TrimSuffix(said, "\n") != name:
		return true, fmt.Errorf("the helper has copied %q instead of %s", said, name)
	}
	return true, nil
}

// end ends a helper, which removes a copy that isn't whole.
func (h *helper) end() error {
	err := errors.Join(h.to.Close(), h.c.Wait())
	if err != nil && h.errors.Len() > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(h.errors.Bytes()))
	}
	return err
}

// keep keeps a helper for the next copy.
func (d *Disk) keep(h *helper) {
	d.mu.Lock()
	if !d.closed {
		d.idle = append(d.idle, h)
		if d.rest == nil {
			d.rest = time.AfterFunc(idleLimit, d.endIdle)
		} else {
			d.rest.Reset(idleLimit)
		}
		h = nil
	}
	d.mu.Unlock()
	if h != nil {
		_ = h.end() // it has said that its copy is whole
	}
}

// endIdle ends the helpers without work.
func (d *Disk) endIdle() {
	d.mu.Lock()
	all := d.idle
	d.idle = nil
	d.mu.Unlock()
	for _, h := range all {
		_ = h.c.Process.Kill() // it would not end if it was stopped
		_ = h.end()            // each has said that its last copy is whole
	}
}
