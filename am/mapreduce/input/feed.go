package input

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"heddle/am/mapreduce/lines"
	"heddle/hdfsadapter"
)

// Feed writes the lines of a piece. buf is for its use. read is told of bytes as they are stored;
// nil: it isn't reported.
func (p *Piece) Feed(ctx context.Context, files *hdfsadapter.FS, w io.Writer, buf []byte, read func(n int)) error {
	f, err := p.open(ctx, files)
	if err != nil {
		return err
	}
	defer f.Close()
	if unpack := Codec(p.Path); unpack != nil {
		r, err := unpack(bufio.NewReaderSize(counted{f, read}, lines.Chunk))
		if err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		c := &lines.Counter{W: w}
		if _, err := io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, buf); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		return c.Finish()
	}
	return p.feed(f, counted{f, read}, w, buf, p.Offset, p.Length)
}

// FeedBy writes the lines of a piece that isn't compressed: those that begin in the length bytes from an offset on, as next says, until
// that says no more.
func (p *Piece) FeedBy(ctx context.Context, files *hdfsadapter.FS, w io.Writer, buf []byte, next func() (offset, length int64, more bool)) error {
	f, err := p.open(ctx, files)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		offset, length, more := next()
		if !more {
			return nil
		}
		if err := p.feed(f, f, w, buf, offset, length); err != nil {
			return err
		}
	}
}

// open opens the file of a piece, and checks that it has the piece.
func (p *Piece) open(ctx context.Context, files *hdfsadapter.FS) (hdfsadapter.Reader, error) {
	f, err := files.Open(ctx, p.Path)
	if err != nil {
		return nil, err
	}
	if size := f.Info().Size; size < p.Offset+p.Length {
		f.Close()
		return nil, fmt.Errorf("%s has %d bytes, fewer than when the job was submitted", p.Path, size)
	}
	return f, nil
}

// feed writes the lines of f that begin in a range of it. r reads f.
func (p *Piece) feed(f io.Seeker, r io.Reader, w io.Writer, buf []byte, offset, length int64) error {
	if _, err := f.Seek(max(offset-1, 0), io.SeekStart); err != nil {
		return err
	}
	if _, _, err := lines.Copy(w, r, offset, length, buf); err != nil {
		return fmt.Errorf("%s: %w", p.Path, err)
	}
	return nil
}

// counted tells of what is read.
type counted struct {
	r    io.Reader
	read func(n int)
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if c.read != nil {
		c.read(n)
	}
	return n, err
}
