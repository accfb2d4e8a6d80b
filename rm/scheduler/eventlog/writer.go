package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"heddle/rm/scheduler/drive"
)

// Writer writes a log. Records go to the file when the buffer is full, at Flush and at Close. After an error it writes no
// more, and Err returns it: a cluster continues when the disk of its log is full. It is safe for concurrent use.
//
// Unless Behind was called, the caller waits for the file.
type Writer struct {
	mu     sync.Mutex
	lines  []byte // what the file hasn't got
	to     io.Writer
	file   *os.File // to close
	dir    *dir     // nil: there is one file
	size   int64    // of the current file of a folder, with what is on its way there
	err    error
	fast   encoder
	behind *behind // nil: the caller waits for the file
}

// chunk is how many bytes go to the file together.
const chunk = 1 << 16

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
	if w.behind != nil {
		w.mu.Lock()
		w.hand()
		w.mu.Unlock()
		return errors.Join(w.behind.close(), w.wrapped())
	}
	return errors.Join(w.Flush(), w.closeFile())
}

func (w *Writer) closeFile() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// NewWriter returns a writer of sessions to a file or the like, which it doesn't close.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Begin begins a session, in a folder in another file.
func (w *Writer) Begin(h Header) error {
	h.Format = Version
	w.mu.Lock()
	switch {
	case w.behind != nil:
		w.behind.begin(w, &h)
	case w.dir != nil && w.err == nil:
		w.hand()
		if w.err == nil {
			w.err, w.size = w.next(), 0
		}
	}
	w.encode(&h)
	w.mu.Unlock()
	if err := w.Flush(); w.behind == nil { // else BehindOptions.Changed tells of it
		return err
	}
	return nil
}

// Append writes an event, and doesn't keep it.
func (w *Writer) Append(e *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.admits() {
		return
	}
	if text, usual := w.fast.line(w.lines, e); usual {
		w.added(text)
		return
	}
	kept := *e // encoding/json makes it escape
	w.encode(&kept)
}

// step writes a call to Step.
func (w *Writer) step(now int64, decisions []drive.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.admits() {
		return
	}
	if text, usual := w.fast.step(w.lines, now, decisions); usual {
		w.added(text)
		return
	}
	w.encode(&Event{Op: Step, Time: now, Decisions: decisionsOf(decisions)})
}

// resumes reports whether the record can continue after a gap.
func (w *Writer) resumes() bool { return w.behind != nil && w.behind.may() }

// opened ends what describes the state at the beginning of a session.
func (w *Writer) opened() {
	if w.behind != nil {
		w.behind.opened()
	}
}

// admits reports whether a record is written. It is called with the lock held, as are the following.
func (w *Writer) admits() bool {
	if w.err != nil {
		return false
	}
	return w.behind == nil || w.behind.admits()
}

// added takes the buffer with another line.
func (w *Writer) added(lines []byte) {
	w.size += int64(len(lines) - len(w.lines))
	w.lines = lines
	if len(lines) >= chunk {
		w.hand()
	}
}

// encode adds a line with encoding/json.
func (w *Writer) encode(v any) {
	if !w.admits() {
		return
	}
	b := bytes.NewBuffer(w.lines)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		w.err = err
		return
	}
	w.added(b.Bytes())
}

// hand gives the lines to the file.
func (w *Writer) hand() {
	if len(w.lines) == 0 || w.err != nil {
		return
	}
	if w.behind != nil {
		w.lines = w.behind.hand(w.lines)
		return
	}
	_, w.err = w.to.Write(w.lines)
	w.lines = w.lines[:0]
}

// Flush hands what was written to the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	w.hand()
	w.mu.Unlock()
	return w.wrapped()
}

func (w *Writer) wrapped() error {
	if err := w.Err(); err != nil {
		return fmt.Errorf("record the scheduler's events: %w", err)
	}
	return nil
}

// Err returns what went wrong while writing. A record that continues after a gap has no error.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.behind != nil {
		return w.behind.failure()
	}
	return w.err
}
