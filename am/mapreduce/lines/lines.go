// Package lines reads, cuts, sorts and merges lines of text: the records of a streaming job. A line is bytes up to a line feed; one without
// is ended. Sorter sorts more lines than fit in memory by partition and bytes, and Merge merges sorted runs. The order is that of the C
// locale. It depends on neither tasks nor networks; its callers are map and reduce tasks.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Chunk is how much is read or written at once, in bytes.
const Chunk = 256 << 10

// maxLine bounds a line, in bytes; a longer one means that the file doesn't consist of lines.
const maxLine = 1 << 30

// Copy writes the lines of r to w that begin in the length bytes from offset on, of a file of which r has all bytes from
// max(offset-1, 0) on. It returns how many lines and bytes those were. A last line without line feed gets one. A file that ends
// before the part does is an error.
func Copy(w io.Writer, r io.Reader, offset, length int64, buf []byte) (lines, written int64, err error) {
	end := offset + length
	pos := max(offset-1, 0)
	skipping := offset > 0 // the line that offset-1 is in belongs to the part before
	terminated := true
	for {
		n, rerr := r.Read(buf)
		b := buf[:n]
		at := pos
		pos += int64(n)
		if skipping && n > 0 {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				b = nil
			} else {
				skipping = false
				b = b[i+1:]
				at += int64(i) + 1
				if at >= end {
					return lines, written, nil
				}
			}
		}
		if len(b) > 0 && !skipping {
			last := false
			// The line with the last byte of the part is the last one that can begin in it.
			if from := max(end-1-at, 0); from < int64(len(b)) {
				if i := bytes.IndexByte(b[from:], '\n'); i >= 0 {
					b, last = b[:from+int64(i)+1], true
				}
			}
			m, err := w.Write(b)
			written += int64(m)
			if err != nil {
				return lines, written, err
			}
			lines += int64(bytes.Count(b, newline))
			terminated = b[len(b)-1] == '\n'
			if last {
				return lines, written, nil
			}
		}
		if rerr != nil {
			if rerr != io.EOF {
				return lines, written, rerr
			}
			if pos < end {
				return lines, written, fmt.Errorf("it ends at byte %d instead of %d or later: %w", pos, end, io.ErrUnexpectedEOF)
			}
			if !terminated {
				lines++
				m, err := w.Write(newline)
				return lines, written + int64(m), err
			}
			return lines, written, nil
		}
	}
}

var newline = []byte{'\n'}

// Reader reads lines of any length.
type Reader struct {
	r    *bufio.Reader
	long []byte
}

func NewReader(r io.Reader, size int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, size)}
}

// Next returns the next line with its line feed, of which a last line without one has none. The bytes are good until the next
// call. At the end it returns io.EOF.
func (l *Reader) Next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		if err == io.EOF && len(line) > 0 {
			err = nil
		}
		return line, err
	}
	l.long = append(l.long[:0], line...)
	for {
		line, err = l.r.ReadSlice('\n')
		l.long = append(l.long, line...)
		if len(l.long) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d MiB", maxLine>>20)
		}
		switch {
		case err == nil, err == io.EOF:
			return l.long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Touching tells that something was written.
type Touching struct {
	W     io.Writer
	Alive func() // nil: it isn't reported
}

func (t Touching) Write(b []byte) (int, error) {
	n, err := t.W.Write(b)
	if t.Alive != nil {
		t.Alive()
	}
	return n, err
}

// Counter counts the lines that pass through it, and ends the last one.
type Counter struct {
	W            io.Writer
	Lines, Bytes int64
	open         bool
}

func (c *Counter) Write(b []byte) (int, error) {
	n, err := c.W.Write(b)
	c.Bytes += int64(n)
	c.Lines += int64(bytes.Count(b[:n], newline))
	if n > 0 {
		c.open = b[n-1] != '\n'
	}
	return n, err
}

// Finish ends the last line if need be.
func (c *Counter) Finish() error {
	if !c.open {
		return nil
	}
	_, err := c.Write(newline)
	return err
}

// Key returns the first fields of a line without line feed; all of it if it has no more.
func Key(line []byte, separator string, fields int) []byte {
	at := 0
	for {
		var i int
		if len(separator) == 1 {
			i = bytes.IndexByte(line[at:], separator[0])
		} else {
			i = bytes.Index(line[at:], []byte(separator))
		}
		if i < 0 {
			return line
		}
		if fields--; fields == 0 {
			return line[:at+i]
		}
		at += i + len(separator)
	}
}

// Partition returns which of n reduce tasks a key goes to, as Hadoop does (HashPartitioner over Text).
func Partition(key []byte, n int) int {
	if n == 1 {
		return 0
	}
	h := int32(1)
	for _, b := range key {
		h = 31*h + int32(int8(b))
	}
	return int(h&0x7fffffff) % n
}
