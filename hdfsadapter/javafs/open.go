package javafs

import (
	"context"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"heddle/hdfsadapter/jvm"
	"heddle/hdfsadapter/position"
)

// chunk is how many bytes are read or written by a call; jvm/java/Files.java has the same number.
const chunk = 1 << 20

// endPatience bounds the end of a file that is given up.
const endPatience = 10 * time.Second

// open is a file or list that a session has open. Its calls end with ctx.
type open struct {
	session *session
	id      int32
	ctx     context.Context
	cancel  context.CancelFunc
	once    sync.Once
	closed  atomic.Bool
}

// over returns why nothing can be done with it any more; nil if it is open.
func (o *open) over() error {
	if o.closed.Load() {
		return fs.ErrClosed
	}
	return o.ctx.Err()
}

// abandon ends what results have opened in vain.
func (s *session) abandon(results []byte) {
	x := jvm.Fields{B: results}
	if id := x.Integer(); x.Err == nil && id != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), endPatience)
		defer cancel()
		_, _ = s.call(ctx, opAbandon, new(jvm.Message).Integer(id).B, nil) // it ends with the process at the latest
	}
}

// open has something opened. The rest of the results is returned.
func (v *FS) open(ctx context.Context, op byte, m *jvm.Message) (*open, jvm.Fields, error) {
	s, err := v.files.acquire(ctx, v.by)
	if err != nil {
		return nil, jvm.Fields{}, err
	}
	b, err := s.call(ctx, op, m.B, s.abandon)
	x := jvm.Fields{B: b}
	var id int32
	if err == nil {
		id = x.Integer()
		err = x.Err
	}
	if err != nil {
		v.files.release(s)
		return nil, x, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &open{session: s, id: id, ctx: ctx, cancel: cancel}, x, nil
}

func (o *open) call(op byte, fill func(m *jvm.Message)) ([]byte, error) {
	var m jvm.Message
	m.Integer(o.id)
	if fill != nil {
		fill(&m)
	}
	return o.session.call(o.ctx, op, m.B, nil)
}

// end ends it once; abandoned: what was written isn't wanted.
func (o *open) end(abandoned bool) (err error) {
	o.once.Do(func() {
		defer o.session.files.release(o.session)
		defer o.cancel()
		if !abandoned && o.ctx.Err() == nil {
			_, err = o.call(opClose, nil)
			return
		}
		o.session.abandon(new(jvm.Message).Integer(o.id).B)
		err = o.ctx.Err()
	})
	return err
}

// Reader is an open file. ReadAt may be called by several goroutines at once, Read and Seek by one; Close by any, and it ends reads that wait.
type Reader struct {
	*open
	Info Info
	pos  int64
	rest []byte // read ahead, from pos on

	mu     sync.Mutex
	window []byte // what a ReadAt has read last, from start on
	start  int64
}

// Open opens a file. Reads end at the size that it has then.
func (v *FS) Open(ctx context.Context, p Place) (*Reader, error) {
	o, x, err := v.open(ctx, opOpen, about(p))
	if err != nil {
		return nil, err
	}
	info := infoFrom(&x)
	if x.Err != nil {
		_ = o.end(true) // x.Err says more
		return nil, x.Err
	}
	return &Reader{open: o, Info: info}, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, r.over()
	}
	if len(r.rest) == 0 {
		b, err := r.fetch(r.pos, chunk)
		if err != nil {
			return 0, err
		}
		r.rest = b
	}
	if err := r.over(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.pos += int64(n)
	return n, nil
}

// fetch reads up to n bytes at off, at least one.
func (r *Reader) fetch(off int64, n int) ([]byte, error) {
	if err := r.over(); err != nil {
		return nil, err
	}
	if off < 0 {
		return nil, fs.ErrInvalid
	}
	left := r.Info.Size - off
	if left <= 0 {
		return nil, io.EOF
	}
	n = int(min(int64(n), left, chunk))
	b, err := r.call(opRead, func(m *jvm.Message) { m.Number(off).Integer(int32(n)) })
	if err != nil {
		if why := r.over(); why != nil {
			err = why
		}
		return nil, err
	}
	x := jvm.Fields{B: b}
	b = x.Bytes()
	switch {
	case x.Err != nil:
		return nil, x.Err
	case len(b) < n: // it is shorter than it said
		return nil, io.ErrUnexpectedEOF
	}
	return b[:n], nil
}

// leastRead is how much is fetched for a ReadAt at least: who reads an index reads a few bytes at a time.
const leastRead = 64 << 10

// at reads up to n bytes at off, at least one.
func (r *Reader) at(off int64, n int) ([]byte, error) {
	r.mu.Lock()
	within := off - r.start
	if within >= 0 && within < int64(len(r.window)) && r.over() == nil {
		b := r.window[within:]
		r.mu.Unlock()
		return b[:min(n, len(b))], nil
	}
	r.mu.Unlock()
	b, err := r.fetch(off, max(n, leastRead))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.window, r.start = b, off
	return b[:min(n, len(b))], nil
}

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		b, err := r.at(off+int64(n), len(p)-n)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], b)
	}
	return n, r.over()
}

// Seek implements io.Seeker. It may go behind the end.
func (r *Reader) Seek(off int64, whence int) (int64, error) {
	from := r.pos
	to, err := position.Seek(&r.pos, r.Info.Size, off, whence)
	if ahead := to - from; ahead >= 0 && ahead <= int64(len(r.rest)) {
		r.rest = r.rest[ahead:]
	} else {
		r.rest = nil
	}
	return to, err
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	if r.closed.Swap(true) {
		return fs.ErrClosed
	}
	r.cancel()     // a read that waits ends
	go r.end(true) // in the JVM it may wait still
	return nil
}

// Writer is a file that is being written. It isn't safe for use by several goroutines.
type Writer struct {
	*open
	buf []byte
	err error // after which nothing is written
}

// CreateOptions say how a file is created.
type CreateOptions struct {
	Overwrite   bool
	Perm        fs.FileMode
	Replication int   // 0: the file system's own
	BlockSize   int64 // bytes; 0: the file system's own
}

// Create makes a file.
func (v *FS) Create(ctx context.Context, p Place, c CreateOptions) (*Writer, error) {
	o, _, err := v.open(ctx, opCreate, about(p).Flag(c.Overwrite).Integer(int32(Bits(c.Perm))).Integer(int32(c.Replication)).Number(c.BlockSize))
	if err != nil {
		return nil, err
	}
	return &Writer{open: o}, nil
}

// Append opens a file for writing at its end.
func (v *FS) Append(ctx context.Context, p Place) (*Writer, error) {
	o, _, err := v.open(ctx, opAppend, about(p))
	if err != nil {
		return nil, err
	}
	return &Writer{open: o}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (n int, err error) {
	if w.err == nil {
		w.err = w.over()
	}
	for len(p) > 0 && w.err == nil {
		part := p[:min(len(p), chunk-len(w.buf))]
		w.buf = append(w.buf, part...)
		p, n = p[len(part):], n+len(part)
		if len(w.buf) == chunk {
			w.send()
		}
	}
	return n, w.err
}

func (w *Writer) send() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.call(opWrite, func(m *jvm.Message) { m.Bytes(w.buf) })
	}
	w.buf = w.buf[:0]
}

// Flush sends what was written so far. Stores that have files as a whole only, such as S3, keep it until Close.
func (w *Writer) Flush() error {
	w.send()
	if w.err == nil {
		_, w.err = w.call(opFlush, nil)
	}
	return w.err
}

// Close completes the file. After an error, of Close or of a Write before, it is incomplete or isn't there.
func (w *Writer) Close() error {
	if w.closed.Load() {
		return fs.ErrClosed
	}
	if w.err == nil {
		w.err = w.over()
	}
	w.send()
	err := w.end(w.err != nil)
	w.closed.Store(true)
	if w.err == nil {
		w.err = fs.ErrClosed
		return err
	}
	return w.err
}
