package lines

import (
	"bytes"
	"io"
)

// run is one of several sorted inputs of a merge.
type run struct {
	in     *Reader
	line   []byte // with line feed
	prefix uint64
	order  int // of equal lines
}

// advance reports whether there is another line.
func (r *run) advance() (bool, error) {
	line, err := r.in.Next()
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.line = line
	r.prefix = prefixOf(line[:len(line)-1])
	return true, nil
}

func (r *run) less(o *run) bool {
	if r.prefix != o.prefix {
		return r.prefix < o.prefix
	}
	if a, b := len(r.line)-1, len(o.line)-1; a > 8 && b > 8 {
		if c := bytes.Compare(r.line[8:a], o.line[8:b]); c != 0 {
			return c < 0
		}
	} else if a != b {
		return a < b // the shorter one is how the longer one begins
	}
	return r.order < o.order
}

// mergeBuffer is how much of each run is read at once, in bytes.
const mergeBuffer = 64 << 10

// Merge writes the lines of sorted runs, in which every line ends in a line feed, to w in order.
func Merge(w io.Writer, runs []io.Reader) error {
	if len(runs) == 1 {
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{runs[0]}, make([]byte, Chunk))
		return err
	}
	h := make([]*run, 0, len(runs))
	for i, r := range runs {
		x := &run{in: NewReader(r, mergeBuffer), order: i}
		ok, err := x.advance()
		if err != nil {
			return err
		}
		if ok {
			h = append(h, x)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(h, i)
	}
	for len(h) > 0 {
		if _, err := w.Write(h[0].line); err != nil {
			return err
		}
		ok, err := h[0].advance()
		if err != nil {
			return err
		}
		if !ok {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		down(h, 0)
	}
	return nil
}

// down restores the heap below i.
func down(h []*run, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
