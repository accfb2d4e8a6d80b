package tfile

import (
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MinBlock is the size from which a data block ends after its present record, as in log aggregation.
const MinBlock = 256 << 10

// chunkSize is the size of the buffer that cuts values into chunks (tfile.io.chunk.size).
const chunkSize = 1 << 20

// Writer writes a TFile of unsorted keys. Don't use it after an error.
type Writer struct {
	out         counter
	compression string

	block   io.WriteCloser // the open data block, nil between blocks
	start   int64          // its offset
	raw     int64          // bytes in it
	records int64          // in it
	lastKey []byte

	value *chunks // the open value

	firstKey []byte
	total    int64
	blocks   []region
	index    []byte // entries of TFile.index
	metas    map[string]meta
	err      error
	buf      []byte // buffer of the chunk encoder
}

// meta is an entry of the meta index.
type meta struct {
	compression string
	region
}

// counter counts what passes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// NewWriter begins a file. Close completes it, but does not close w.
func NewWriter(w io.Writer, compression string) (*Writer, error) {
	if compression != None && compression != GZ {
		return nil, fmt.Errorf("unsupported compression %q: want %s or %s", compression, None, GZ)
	}
	t := &Writer{out: counter{w: w}, compression: compression, metas: map[string]meta{}, buf: make([]byte, 0, chunkSize)}
	_, err := t.out.Write(magic)
	return t, err
}

// nopCloser is an uncompressed block.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (t *Writer) openBlock(compression string) io.WriteCloser {
	if compression == GZ {
		return zlib.NewWriter(&t.out)
	}
	return nopCloser{&t.out}
}

// Begin starts a record. Write its value to the result, and then call End.
func (t *Writer) Begin(key []byte) (io.Writer, error) {
	switch {
	case t.err != nil:
		return nil, t.err
	case t.value != nil:
		return nil, errors.New("the last record is still open")
	case len(key) > maxKey:
		return nil, fmt.Errorf("key of %d bytes is longer than %d", len(key), maxKey)
	}
	if t.block == nil {
		t.block, t.start, t.raw, t.records = t.openBlock(t.compression), t.out.n, 0, 0
	}
	t.lastKey = append(t.lastKey[:0], key...)
	if t.firstKey == nil {
		t.firstKey = append([]byte{}, key...)
	}
	t.value = &chunks{t: t, buf: t.buf[:0]}
	t.write(appendVLong(nil, int64(len(key))), key)
	return t.value, t.err
}

// write writes to the open block.
func (t *Writer) write(parts ...[]byte) {
	for _, p := range parts {
		if t.err == nil {
			var n int
			n, t.err = t.block.Write(p)
			t.raw += int64(n)
		}
	}
}

// chunks is the value of the open record (Chunk.ChunkEncoder).
type chunks struct {
	t   *Writer
	buf []byte
}

// Write buffers p. If it doesn't fit, the buffered bytes and p become one chunk.
func (c *chunks) Write(p []byte) (int, error) {
	if c.t.value != c {
		return 0, errors.New("write to a record that has ended")
	}
	if len(c.buf)+len(p) < chunkSize {
		c.buf = append(c.buf, p...)
		return len(p), nil
	}
	c.t.write(appendVLong(nil, -int64(len(c.buf)+len(p))), c.buf, p)
	c.buf = c.buf[:0]
	return len(p), c.t.err
}

// End completes the record.
func (t *Writer) End() error {
	if t.err != nil {
		return t.err
	}
	if t.value == nil {
		return errors.New("there is no open record")
	}
	t.write(appendVLong(nil, int64(len(t.value.buf))), t.value.buf)
	t.value = nil
	t.records++
	t.total++
	if t.err == nil && t.out.n-t.start >= MinBlock {
		t.finishBlock()
	}
	return t.err
}

// finishBlock ends the open data block.
func (t *Writer) finishBlock() {
	if t.err = t.block.Close(); t.err != nil {
		return
	}
	t.block = nil
	t.blocks = append(t.blocks, region{offset: t.start, size: t.out.n - t.start, raw: t.raw})
	entry := append(appendVLong(nil, int64(len(t.lastKey))), t.lastKey...)
	entry = appendVLong(entry, t.records)
	t.index = append(appendVLong(t.index, int64(len(entry))), entry...)
}

// metaBlock writes a meta block.
func (t *Writer) metaBlock(name, compression string, content []byte) {
	if t.err != nil {
		return
	}
	start := t.out.n
	b := t.openBlock(compression)
	if _, t.err = b.Write(content); t.err != nil {
		return
	}
	if t.err = b.Close(); t.err != nil {
		return
	}
	t.metas[name] = meta{compression, region{offset: start, size: t.out.n - start, raw: int64(len(content))}}
}

// Close writes everything after the data.
func (t *Writer) Close() error {
	if t.err != nil {
		return t.err
	}
	if t.value != nil {
		return errors.New("a record is still open")
	}
	if t.block != nil {
		if t.finishBlock(); t.err != nil {
			return t.err
		}
	}
	version := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, versionMajor), versionMinor)

	t.metaBlock(fileMeta, None, appendString(appendVLong(append([]byte{}, version...), t.total), ""))

	var index []byte
	if t.firstKey == nil {
		index = appendVLong(index, 0)
	} else {
		first := append(appendVLong(nil, int64(len(t.firstKey))), t.firstKey...)
		index = append(append(appendVLong(index, int64(len(first))), first...), t.index...)
	}
	t.metaBlock(fileIndex, t.compression, index)

	blocks := appendVLong(appendString(nil, t.compression), int64(len(t.blocks)))
	for _, r := range t.blocks {
		blocks = r.append(blocks)
	}
	t.metaBlock(blockIndex, t.compression, blocks)
	if t.err != nil {
		return t.err
	}
	at := t.out.n
	tail := appendVLong(nil, int64(len(t.metas)))
	for _, name := range []string{blockIndex, fileIndex, fileMeta} { // in order of names
		m := t.metas[name]
		tail = m.append(appendString(appendString(tail, metaPrefix+name), m.compression))
	}
	tail = binary.BigEndian.AppendUint64(tail, uint64(at))
	tail = append(append(tail, version...), magic...)
	if _, t.err = t.out.Write(tail); t.err != nil {
		return t.err
	}
	t.err = errors.New("the file is closed")
	return nil
}
