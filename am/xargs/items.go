package xargs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// item is one read from the input.
type item struct {
	text    string
	lineEnd bool // a line of the input ends with it, as -L counts lines
}

// reader splits the input into items.
type reader struct {
	o     *Options
	in    *bufio.Reader
	limit int // bytes of an item
	over  bool
	// warn is called once, if an item holds a NUL that isn't its end.
	warn       func(string)
	warned     bool
	lineBegins bool  // the item is the first of its line
	taken      int64 // bytes of the input
}

// An inputError is a fault of the input. Items before it are good.
type inputError string

func (e inputError) Error() string { return string(e) }

const (
	errTooLong = inputError("argument line too long")
	nulWarning = "WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  Did you mean to use the --null option?"
)

func unmatched(quote byte) error {
	kind := "single"
	if quote == '"' {
		kind = "double"
	}
	return inputError("unmatched " + kind + " quote; by default quotes are special to xargs unless you use the -0 option")
}

// newReader reads items of at most limit bytes.
func newReader(o *Options, in io.Reader, limit int, warn func(string)) *reader {
	return &reader{o: o, in: bufio.NewReaderSize(in, 64<<10), limit: limit, warn: warn, lineBegins: true}
}

// next returns the next item, or io.EOF.
func (r *reader) next() (item, error) {
	if r.over {
		return item{}, io.EOF
	}
	if r.o.Delimited {
		return r.delimited()
	}
	return r.quoted()
}

func (r *reader) byte() (byte, bool, error) {
	c, err := r.in.ReadByte()
	if errors.Is(err, io.EOF) {
		r.over = true
		return 0, true, nil
	}
	r.taken++
	return c, false, err
}

func (r *reader) delimited() (item, error) {
	var buf []byte
	for {
		c, end, err := r.byte()
		switch {
		case err != nil:
			return item{}, err
		case end && len(buf) == 0:
			return item{}, io.EOF
		case end, c == r.o.Delimiter:
			return item{r.clean(buf), !end}, nil
		case len(buf) >= r.limit:
			return item{}, errTooLong
		}
		buf = append(buf, c)
	}
}

// quoted reads an item that blanks or, with -I, the end of the line ends. Quotes and backslashes take their meaning from
// other characters. It follows read_line of GNU xargs, also in what that does with empty items and the end of the input.
func (r *reader) quoted() (item, error) {
	var (
		buf   []byte
		quote byte // the quote that is open
		prev  byte
	)
	const (
		space = iota
		normal
		quoted
		escaped
	)
	state := space
	for {
		c, end, err := r.byte()
		before := prev
		prev = c
		switch {
		case err != nil:
			return item{}, err
		case end && len(buf) == 0:
			return item{}, io.EOF
		case end && state == quoted:
			return item{}, unmatched(quote)
		case end && r.lineBegins && r.endsInput(buf):
			return item{}, io.EOF
		case end:
			return item{text: r.clean(buf)}, nil
		case state == quoted && c == '\n':
			return item{}, unmatched(quote)
		case state == quoted && c == quote:
			state = normal
			continue
		case state == quoted:
		case state == escaped:
			state = normal
		case state == space && isSpace(c):
			// A line that ends in a blank continues in the next one. Blank lines don't count.
			continue
		case c == '\n', r.o.Replace == "" && isBlank(c):
			if r.endsInput(buf) {
				r.over = true
				return item{}, io.EOF
			}
			r.lineBegins = c == '\n'
			return item{text: r.clean(buf), lineEnd: c == '\n' && !isBlank(before)}, nil
		case c == '\\':
			state = escaped
			continue
		case c == '\'' || c == '"':
			state, quote = quoted, c
			continue
		default:
			state = normal
		}
		if c == 0 {
			r.warnOfNUL()
		}
		if len(buf) >= r.limit {
			return item{}, errTooLong
		}
		buf = append(buf, c)
	}
}

func (r *reader) endsInput(buf []byte) bool { return r.o.EOF != "" && string(buf) == r.o.EOF }

// clean makes an argument of an item: nothing after a NUL can be passed on.
func (r *reader) clean(buf []byte) string {
	head, _, cut := bytes.Cut(buf, []byte{0})
	if cut {
		r.warnOfNUL()
	}
	return string(head)
}

func (r *reader) warnOfNUL() {
	if !r.warned {
		r.warned = true
		r.warn(nulWarning)
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool { return isBlank(c) || c >= '\n' && c <= '\r' }
