package eventlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Entry is a line of a log: one of Header and Event is set.
type Entry struct {
	Line   int
	Header *Header
	Event  *Event
}

// Reader reads a log.
type Reader struct {
	from *bufio.Reader
	line int
	torn bool
	open bool // a header was read
}

// NewReader returns a reader of a log.
func NewReader(from io.Reader) *Reader {
	return &Reader{from: bufio.NewReaderSize(from, 1<<20)}
}

// Torn reports whether the log ended within a line.
func (r *Reader) Torn() bool { return r.torn }

// maxLine bounds a line: the asks of an application with many nodes are long, but not this long.
const maxLine = 64 << 20

// Next returns the next entry; io.EOF at the end. A last line without its end is left out.
func (r *Reader) Next() (Entry, error) {
	for {
		text, err := r.readLine()
		if errors.Is(err, io.EOF) {
			r.torn = len(text) > 0
			return Entry{}, io.EOF
		}
		r.line++
		if err != nil {
			return Entry{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		e, err := r.decode(text)
		if err != nil {
			return Entry{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		return e, nil
	}
}

func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine:
			continue
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("is longer than %d bytes", maxLine)
		}
		return line, err
	}
}

// decode reads a line as what its first key says it is.
func (r *Reader) decode(text []byte) (Entry, error) {
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte(`{"heddle-events"`)) {
		h, err := ReadHeader(text)
		if err != nil {
			return Entry{}, err
		}
		r.open = true
		return Entry{Line: r.line, Header: h}, nil
	}
	if !r.open {
		return Entry{}, errors.New(`a log begins with a header ("heddle-events"): this is none`)
	}
	e := &Event{}
	err := json.Unmarshal(text, e)
	if err == nil {
		err = e.Resource.Check()
	}
	if errors.As(err, new(invalid)) {
		return Entry{}, fmt.Errorf("%s: %w", e.Op, err)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("an event: %w", err)
	}
	return Entry{Line: r.line, Event: e}, nil
}

// ReadHeader reads the line with which a session begins. It refuses formats that this program doesn't know.
func ReadHeader(text []byte) (*Header, error) {
	h := &Header{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("a session's header: %w", err)
	}
	if h.Format < 1 || h.Format > Version {
		return nil, fmt.Errorf("the log's format is %d, and this program reads formats up to %d: replay it with Heddle %s", h.Format, Version, h.Heddle)
	}
	if err := h.Minimum.Check(); err != nil {
		return nil, fmt.Errorf("the session's smallest container: %w", err)
	}
	return h, nil
}
