package input

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"heddle/am/mapreduce/lines"
	"heddle/hdfsadapter"
)

// Feed writes the lines of a piece. buf is for its use. read is told of bytes as they are
// stored; nil: nobody wants to know.
func (p *Piece) Feed(ctx context.Context, files *hdfsadapter.FS, w io.Writer, buf []byte, read func(n int)) error {
	f, err := files.Open(ctx, p.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if size := f.Info().Size; size < p.Offset+p.Length {
		return fmt.Errorf("%s has %d bytes, fewer than when the job was submitted", p.Path, size)
	}
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
	if p.Offset > 0 {
		if _, err := f.Seek(p.Offset-1, io.SeekStart); err != nil {
			return err
		}
	}
	if _, _, err = lines.Copy(w, counted{f, read}, p.Offset, p.Length, buf); err != nil {
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
