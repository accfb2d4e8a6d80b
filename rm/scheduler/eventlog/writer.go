package eventlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Writer writes a log. Records go to the file when the buffer is full, at Flush and at Close. After an error it writes no
// more, and tells of it at Err: a cluster continues when the disk of its log is full. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	buf  *bufio.Writer
	enc  *json.Encoder
	file *os.File // to close
	dir  *dir     // nil: there is one file
	err  error
	fast encoder
}

// Create begins a log in a new file, or continues with one that is there. A line that a crash has torn is ended first.
func Create(name string) (*Writer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	if err := mend(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	w := NewWriter(f)
	w.file = f
	return w, nil
}

// mend cuts off what follows the last whole line.
func mend(f *os.File) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<16)
	for end > 0 {
		from := max(0, end-int64(len(block)))
		part := block[:end-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return f.Truncate(from + int64(i) + 1)
		}
		end = from
	}
	return f.Truncate(0)
}

// Close flushes, and closes the file that Create has opened.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	return err
}

// NewWriter returns a writer of sessions to a file or the like, which it doesn't close.
func NewWriter(to io.Writer) *Writer {
	buf := bufio.NewWriterSize(to, 1<<16)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return &Writer{buf: buf, enc: enc}
}

// Begin begins a session.
func (w *Writer) Begin(h Header) error {
	h.Format = Version
	if w.dir != nil {
		w.mu.Lock()
		if w.err == nil {
			w.err = w.next()
		}
		w.mu.Unlock()
	}
	w.put(&h)
	return w.Flush()
}

// Append writes a record, and doesn't keep it.
func (w *Writer) Append(r *Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	if text, usual := w.fast.line(r); usual {
		_, w.err = w.buf.Write(text)
		return
	}
	kept := *r // encoding/json makes it escape
	w.err = w.enc.Encode(&kept)
}

func (w *Writer) put(v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.enc.Encode(v)
	}
}

// Flush hands what was written to the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("record the scheduler's events: %w", w.err)
	}
	return nil
}

// Err returns what went wrong while writing.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
