package tfile

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"heddle/internal/bounded"
)

// Reader reads a TFile. It doesn't trust the contents: any defect gives an error. It takes no more memory than the
// indexes have bytes, or 64 MB.
type Reader struct {
	r           io.ReaderAt
	size        int64
	compression string
	blocks      []region
	counts      []int64 // records in each block
}

// maxIndex bounds the uncompressed size of an index.
const maxIndex = 64 << 20

// NewReader reads the indexes of a file of size bytes.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	t := &Reader{r: r, size: size}
	if err := t.open(); err != nil {
		return nil, fmt.Errorf("not a TFile: %w", err)
	}
	return t, nil
}

func (t *Reader) open() error {
	head := int64(len(magic))
	if t.size < head+tailSize {
		return fmt.Errorf("%d bytes are too few", t.size)
	}
	var tail [tailSize]byte
	if _, err := t.r.ReadAt(tail[:], t.size-tailSize); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(tail[12:], magic) {
		return errors.New("wrong magic at the end: the file is incomplete, or has another format")
	}
	if v := binary.BigEndian.Uint16(tail[8:]); v != versionMajor {
		return fmt.Errorf("BCFile version %d is not %d", v, versionMajor)
	}
	at := int64(binary.BigEndian.Uint64(tail[:]))
	end := t.size - tailSize
	if at < head || at > end {
		return fmt.Errorf("the meta index would begin at %d", at)
	}
	metas, err := t.readMetaIndex(region{offset: at, size: end - at})
	if err != nil {
		return fmt.Errorf("meta index: %w", err)
	}
	if err := t.readBlockIndex(metas); err != nil {
		return fmt.Errorf("%s: %w", blockIndex, err)
	}
	if err := t.readFileMeta(metas); err != nil {
		return fmt.Errorf("%s: %w", fileMeta, err)
	}
	if err := t.readFileIndex(metas); err != nil {
		return fmt.Errorf("%s: %w", fileIndex, err)
	}
	return nil
}

// load reads all of a block.
func (t *Reader) load(g region, compression string) (*bytes.Reader, error) {
	in, err := t.openBlock(g, compression)
	if err != nil {
		return nil, err
	}
	b, err := bounded.ReadAll(in, maxIndex)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(b), nil
}

// openBlock reads a block, uncompressed.
func (t *Reader) openBlock(g region, compression string) (*blockReader, error) {
	if g.offset < 0 || g.size < 0 || g.offset > t.size || g.size > t.size-g.offset {
		return nil, fmt.Errorf("block of %d bytes at %d is not within the file", g.size, g.offset)
	}
	stored := io.NewSectionReader(t.r, g.offset, g.size)
	switch compression {
	case None:
		return &blockReader{bufio.NewReaderSize(stored, 4<<10), stored}, nil // small: of what is passed over it reads the lengths of chunks
	case GZ:
		plain, err := zlib.NewReader(bufio.NewReaderSize(stored, 64<<10))
		if err != nil {
			return nil, err
		}
		return &blockReader{bufio.NewReaderSize(plain, 32<<10), nil}, nil
	}
	return nil, fmt.Errorf("unsupported compression %q", compression)
}

func (t *Reader) readMetaIndex(g region) (map[string]meta, error) {
	in, err := t.load(g, None)
	if err != nil {
		return nil, err
	}
	n, err := readVLong(in)
	if err != nil {
		return nil, noEOF(err)
	}
	metas := map[string]meta{}
	for i := int64(0); i < n; i++ {
		name, err := readString(in)
		if err != nil {
			return nil, err
		}
		var m meta
		if m.compression, err = readString(in); err != nil {
			return nil, err
		}
		if m.region, err = readRegion(in); err != nil {
			return nil, err
		}
		if len(name) < len(metaPrefix) || name[:len(metaPrefix)] != metaPrefix {
			return nil, fmt.Errorf("%.100q is not the name of a meta block", name)
		}
		metas[name[len(metaPrefix):]] = m
	}
	return metas, nil
}

// metaBlock reads a meta block by name.
func (t *Reader) metaBlock(metas map[string]meta, name string) (*bytes.Reader, error) {
	m, ok := metas[name]
	if !ok {
		return nil, errors.New("missing")
	}
	return t.load(m.region, m.compression)
}

func (t *Reader) readBlockIndex(metas map[string]meta) error {
	in, err := t.metaBlock(metas, blockIndex)
	if err != nil {
		return err
	}
	if t.compression, err = readString(in); err != nil {
		return err
	}
	n, err := readVLong(in)
	if err != nil {
		return noEOF(err)
	}
	if n < 0 {
		return fmt.Errorf("%d blocks", n)
	}
	for i := int64(0); i < n; i++ { // the input ends the loop, whatever n is
		g, err := readRegion(in)
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, g)
	}
	return nil
}

func (t *Reader) readFileMeta(metas map[string]meta) error {
	in, err := t.metaBlock(metas, fileMeta)
	if err != nil {
		return err
	}
	var version [4]byte
	if _, err := io.ReadFull(in, version[:]); err != nil {
		return noEOF(err)
	}
	if v := binary.BigEndian.Uint16(version[:]); v != versionMajor {
		return fmt.Errorf("TFile version %d is not %d", v, versionMajor)
	}
	return nil // the order of the keys doesn't matter for reading all of them
}

func (t *Reader) readFileIndex(metas map[string]meta) error {
	in, err := t.metaBlock(metas, fileIndex)
	if err != nil {
		return err
	}
	first, err := readString(in)
	if err != nil {
		return err
	}
	if len(first) == 0 {
		if len(t.blocks) > 0 {
			return fmt.Errorf("no first key, but %d blocks", len(t.blocks))
		}
		return nil
	}
	for range t.blocks {
		entry, err := readString(in)
		if err != nil {
			return err
		}
		e := bytes.NewReader([]byte(entry))
		if _, err := readString(e); err != nil {
			return err
		}
		n, err := readVLong(e)
		if err != nil {
			return noEOF(err)
		}
		if n < 0 {
			return fmt.Errorf("%d records in a block", n)
		}
		t.counts = append(t.counts, n)
	}
	return nil
}

func readRegion(in *bytes.Reader) (g region, err error) {
	for _, p := range []*int64{&g.offset, &g.size, &g.raw} {
		if *p, err = readVLong(in); err != nil {
			return region{}, noEOF(err)
		}
	}
	return g, nil
}

func readString(in *bytes.Reader) (string, error) {
	n, err := readVLong(in)
	if err != nil {
		return "", noEOF(err)
	}
	if n < 0 || n > int64(in.Len()) {
		return "", fmt.Errorf("string of %d bytes where %d are left", n, in.Len())
	}
	b := make([]byte, n)
	in.Read(b)
	return string(b), nil
}

// Scanner iterates over the records of a file.
type Scanner struct {
	t     *Reader
	block int   // next block
	left  int64 // records in the open block
	in    *blockReader
	value *valueReader
	key   []byte
	err   error
}

// Scan returns a Scanner before the first record.
func (t *Reader) Scan() *Scanner { return &Scanner{t: t} }

// Next advances to the next record, and skips the unread part of the previous value. It returns false at the end and
// after an error; see Err.
func (s *Scanner) Next() bool {
	if s.err != nil {
		return false
	}
	if s.err = s.next(); s.err != nil {
		s.value = nil
		return false
	}
	return true
}

// Err returns the error that ended the scan, or nil at the end of the file.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Key returns the key of the present record.
func (s *Scanner) Key() []byte { return s.key }

// Value returns a reader of the present record's value. It is valid until Next. Its method Skip passes over bytes without reading them, as far as
// the file isn't compressed.
func (s *Scanner) Value() io.Reader { return s.value }

func (s *Scanner) next() error {
	if s.value != nil {
		if err := s.value.Skip(math.MaxInt64); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.value = nil
	}
	for s.left == 0 {
		if s.block == len(s.t.blocks) {
			return io.EOF
		}
		in, err := s.t.openBlock(s.t.blocks[s.block], s.t.compression)
		if err != nil {
			return fmt.Errorf("block %d: %w", s.block, noEOF(err))
		}
		s.in = in
		s.left = s.t.counts[s.block]
		s.block++
	}
	s.left--
	n, err := readVLong(s.in)
	if err != nil {
		return fmt.Errorf("block %d: %w", s.block-1, noEOF(err))
	}
	if n < 0 || n > maxKey {
		return fmt.Errorf("block %d: key of %d bytes", s.block-1, n)
	}
	s.key = make([]byte, n)
	if _, err := io.ReadFull(s.in, s.key); err != nil {
		return fmt.Errorf("block %d: %w", s.block-1, noEOF(err))
	}
	s.value = &valueReader{in: s.in}
	return nil
}

// blockReader reads a block.
type blockReader struct {
	*bufio.Reader
	stored *io.SectionReader // the block in the file; nil: it is compressed
}

// skip passes over n bytes.
func (b *blockReader) skip(n int64) error {
	if b.stored == nil || n <= int64(b.Buffered()) {
		_, err := io.CopyN(io.Discard, b.Reader, n)
		return err
	}
	at, err := b.stored.Seek(n-int64(b.Buffered()), io.SeekCurrent)
	if err != nil {
		return err
	}
	if at > b.stored.Size() {
		return io.ErrUnexpectedEOF
	}
	b.Reset(b.stored)
	return nil
}

// valueReader joins chunks (Chunk.ChunkDecoder).
type valueReader struct {
	in   *blockReader
	left int64 // unread bytes of this chunk
	last bool  // it is the last one
	err  error
}

// Skip passes over n bytes. It returns io.EOF if the value has fewer left.
func (v *valueReader) Skip(n int64) error {
	for n > 0 {
		if err := v.chunk(); err != nil {
			return err
		}
		some := min(n, v.left)
		if err := v.in.skip(some); err != nil {
			v.err = fmt.Errorf("value: %w", noEOF(err))
			return v.err
		}
		n, v.left = n-some, v.left-some
	}
	return nil
}

// chunk makes sure that there is something left of a chunk.
func (v *valueReader) chunk() error {
	if v.err != nil {
		return v.err
	}
	for v.left == 0 {
		if v.last {
			v.err = io.EOF
			return v.err
		}
		n, err := readVLong(v.in)
		if err != nil {
			v.err = fmt.Errorf("value: %w", noEOF(err))
			return v.err
		}
		if v.last = n >= 0; !v.last {
			n = -n
		}
		if n < 0 { // the smallest number can't be negated
			v.err = errors.New("value: impossible length of a chunk")
			return v.err
		}
		v.left = n
	}
	return nil
}

func (v *valueReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, v.err
	}
	if err := v.chunk(); err != nil {
		return 0, err
	}
	n, err := v.in.Read(p[:min(int64(len(p)), v.left)])
	v.left -= int64(n)
	if err != nil {
		v.err = fmt.Errorf("value: %w", noEOF(err))
	}
	if n > 0 {
		return n, nil
	}
	return 0, v.err
}
