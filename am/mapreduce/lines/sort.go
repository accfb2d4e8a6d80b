package lines

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"unsafe"
)

// Segment is the part of a map task's output that is for one reduce task: sorted lines.
type Segment struct {
	Offset, Length int64 // in the file, bytes
	Records        int64
	Sum            uint32 // CRC-32C
}

// File is a file of sorted lines, a segment for each reduce task.
type File struct {
	Path     string
	Segments []Segment
}

var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is a line in a sorter's arena.
type entry struct {
	prefix    uint64 // its first bytes, which decide most comparisons
	off, len  uint32 // without the line feed, which is there
	partition uint32
}

const entrySize = int64(unsafe.Sizeof(entry{}))

// Combine passes sorted lines through a combiner: it reads what feed writes, and hands its own output to take.
type Combine func(ctx context.Context, feed func(io.Writer) error, take func(io.Reader) error) error

// Sorter sorts lines by partition and bytes; lines that don't fit in memory go to files.
type Sorter struct {
	Partitions int
	Key        func(line []byte) []byte
	Limit      int64 // bytes of memory
	Factor     int
	File       func(name string) string // where a file may be written
	Combine    Combine                  // nil: nothing is combined
	Alive      func()                   // called while it works, if it isn't nil
	Sealed     bool                     // the Sum of each segment follows it in the file: four bytes, big-endian

	Counts Counts

	*Memory
	spills   []File
	combined Memory // for what a combiner writes
}

// Counts are how many records a sorter has written to files, and has passed through its combiner.
type Counts struct{ Spilled, CombineInput, CombineOutput int64 }

// Memory is where sorters keep lines. It can be used again by another one when that is done.
type Memory struct {
	Arena   []byte
	Entries []entry
}

// Add takes a line over, with or without line feed.
func (s *Sorter) Add(ctx context.Context, line []byte) error {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	used := int64(len(s.Arena)) + int64(len(s.Entries))*entrySize
	if len(s.Entries) > 0 && used+int64(len(line))+1+entrySize > s.Limit {
		if err := s.spill(ctx); err != nil {
			return err
		}
	}
	if int64(len(s.Arena))+int64(len(line))+1 > math.MaxUint32 {
		return fmt.Errorf("a line of %d bytes is too long", len(line))
	}
	s.Entries = append(s.Entries, entry{
		prefix: prefixOf(line), off: uint32(len(s.Arena)), len: uint32(len(line)),
		partition: uint32(Partition(s.Key(line), s.Partitions)),
	})
	s.Arena = append(append(s.Arena, line...), '\n')
	return nil
}

func prefixOf(line []byte) uint64 {
	if len(line) >= 8 {
		return binary.BigEndian.Uint64(line)
	}
	var p [8]byte
	copy(p[:], line)
	return binary.BigEndian.Uint64(p[:])
}

func (s *Sorter) line(e *entry) []byte { return s.Arena[e.off : e.off+e.len] }

func (s *Sorter) sort() {
	slices.SortFunc(s.Entries, func(a, b entry) int {
		if a.partition != b.partition {
			return cmp.Compare(a.partition, b.partition)
		}
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if a.len <= 8 || b.len <= 8 {
			return cmp.Compare(a.len, b.len) // the shorter one is how the longer one begins
		}
		return bytes.Compare(s.line(&a)[8:], s.line(&b)[8:])
	})
}

// spill sorts what is in memory into a file.
func (s *Sorter) spill(ctx context.Context) error {
	s.sort()
	w, err := s.create(fmt.Sprintf("spill%d", len(s.spills)))
	if err != nil {
		return err
	}
	defer w.abandon()
	rest := s.Entries
	for p := range s.Partitions {
		n := 0
		for n < len(rest) && rest[n].partition == uint32(p) {
			n++
		}
		mine := rest[:n]
		rest = rest[n:]
		feed := func(to io.Writer) error {
			for i := range mine {
				e := &mine[i]
				if _, err := to.Write(s.Arena[e.off : e.off+e.len+1]); err != nil {
					return err
				}
			}
			return nil
		}
		if err := s.writePartition(ctx, w, p, int64(n), feed); err != nil {
			return err
		}
	}
	f, err := w.close()
	if err != nil {
		return err
	}
	s.Counts.Spilled += f.records()
	s.spills = append(s.spills, f)
	s.Arena, s.Entries = s.Arena[:0], s.Entries[:0]
	return nil
}

// writePartition writes n sorted lines, combined if there is a combiner.
func (s *Sorter) writePartition(ctx context.Context, w *outputWriter, p int, n int64, feed func(io.Writer) error) error {
	if err := w.begin(p); err != nil {
		return err
	}
	if s.Combine == nil || n == 0 {
		return feed(w)
	}
	s.Counts.CombineInput += n
	// A combiner may write keys that it hasn't read, in another order, and more than it has read.
	out := &Sorter{
		Partitions: 1, Key: func([]byte) []byte { return nil }, Limit: max(s.Limit/4, leastCombined), Factor: s.Factor,
		Alive: s.Alive,
		File:  func(name string) string { return s.File("combined-" + name) }, Memory: &s.combined,
	}
	s.combined.Arena, s.combined.Entries = s.combined.Arena[:0], s.combined.Entries[:0]
	var wrote int64
	err := s.Combine(ctx, func(to io.Writer) error { return feed(Touching{W: to, Alive: s.Alive}) }, func(r io.Reader) error {
		in := NewReader(r, Chunk)
		for {
			line, err := in.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			wrote++
			if err := out.Add(ctx, line); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return fmt.Errorf("combiner: %w", err)
	}
	s.Counts.CombineOutput += wrote
	return out.writeTo(ctx, w)
}

// leastCombined is how much of a combiner's output is kept in memory at least, in bytes.
const leastCombined = 64 << 10

// writeTo writes all lines in order.
func (s *Sorter) writeTo(ctx context.Context, w io.Writer) error {
	if len(s.spills) == 0 {
		s.sort()
		for i := range s.Entries {
			e := &s.Entries[i]
			if _, err := w.Write(s.Arena[e.off : e.off+e.len+1]); err != nil {
				return err
			}
		}
		return nil
	}
	out, err := s.Finish(ctx)
	if err != nil {
		return err
	}
	f, err := os.Open(out.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{f}, make([]byte, Chunk)); err != nil {
		return err
	}
	return os.Remove(out.Path)
}

// Finish returns all lines in one file.
func (s *Sorter) Finish(ctx context.Context) (File, error) {
	if len(s.Entries) > 0 || len(s.spills) == 0 {
		if err := s.spill(ctx); err != nil {
			return File{}, err
		}
	}
	for round := 0; len(s.spills) > 1; round++ {
		n := min(len(s.spills), s.Factor)
		merged, err := s.merge(ctx, fmt.Sprintf("merge%d", round), s.spills[:n])
		if err != nil {
			return File{}, err
		}
		for _, f := range s.spills[:n] {
			if err := os.Remove(f.Path); err != nil {
				return File{}, err
			}
		}
		s.spills = append(slices.Clone(s.spills[n:]), merged)
	}
	return s.spills[0], nil
}

// combineFrom is how many spills make it worth while to combine once more (Hadoop: mapreduce.map.combine.minspills).
const combineFrom = 3

func (s *Sorter) merge(ctx context.Context, name string, files []File) (File, error) {
	w, err := s.create(name)
	if err != nil {
		return File{}, err
	}
	defer w.abandon()
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	for _, f := range files {
		r, err := os.Open(f.Path)
		if err != nil {
			return File{}, err
		}
		opened = append(opened, r)
	}
	combine := s.Combine
	defer func() { s.Combine = combine }()
	if len(files) < combineFrom {
		s.Combine = nil
	}
	for p := range s.Partitions {
		var runs []io.Reader
		var n int64
		for i, f := range files {
			g := f.Segments[p]
			if n += g.Records; g.Length > 0 {
				runs = append(runs, io.NewSectionReader(opened[i], g.Offset, g.Length))
			}
		}
		feed := func(to io.Writer) error { return Merge(to, runs) }
		if err := s.writePartition(ctx, w, p, n, feed); err != nil {
			return File{}, err
		}
	}
	return w.close()
}

// Size returns how many bytes the file has.
func (f *File) Size() (n int64) {
	for _, g := range f.Segments {
		n += g.Length
	}
	return n
}

func (f *File) records() (n int64) {
	for _, g := range f.Segments {
		n += g.Records
	}
	return n
}

// outputWriter writes an outputFile.
type outputWriter struct {
	f        *os.File
	to       io.Writer // f
	buf      []byte
	segments []Segment
	current  int
	offset   int64 // of what is in buf
	sealed   bool  // sums follow segments
	begun    bool  // there is a segment
}

func (s *Sorter) create(name string) (*outputWriter, error) {
	path := s.File(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &outputWriter{
		f: f, to: Touching{W: f, Alive: s.Alive}, buf: make([]byte, 0, Chunk),
		segments: make([]Segment, s.Partitions), sealed: s.Sealed,
	}, nil
}

// begin begins with the segment of a partition. Partitions come in order.
func (w *outputWriter) begin(p int) error {
	err := w.seal()
	w.current, w.begun = p, true
	w.segments[p].Offset = w.offset
	return err
}

// seal ends a segment.
func (w *outputWriter) seal() error {
	if err := w.flush(); err != nil || !w.sealed || !w.begun {
		return err
	}
	sum := binary.BigEndian.AppendUint32(nil, w.segments[w.current].Sum)
	w.offset += int64(len(sum))
	_, err := w.to.Write(sum)
	return err
}

func (w *outputWriter) Write(b []byte) (int, error) {
	if len(w.buf)+len(b) > cap(w.buf) {
		if err := w.flush(); err != nil {
			return 0, err
		}
		if len(b) > cap(w.buf) {
			return len(b), w.put(b)
		}
	}
	w.buf = append(w.buf, b...)
	return len(b), nil
}

func (w *outputWriter) flush() error {
	b := w.buf
	w.buf = w.buf[:0]
	return w.put(b)
}

func (w *outputWriter) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	g := &w.segments[w.current]
	g.Length += int64(len(b))
	g.Sum = crc32.Update(g.Sum, Castagnoli, b)
	g.Records += int64(bytes.Count(b, newline))
	w.offset += int64(len(b))
	_, err := w.to.Write(b)
	return err
}

func (w *outputWriter) close() (File, error) {
	err := w.seal()
	if e := w.f.Close(); err == nil {
		err = e
	}
	f := File{w.f.Name(), w.segments}
	if err != nil {
		os.Remove(f.Path)
	}
	w.f = nil
	return f, err
}

// abandon removes the file unless it was closed.
func (w *outputWriter) abandon() {
	if w.f != nil {
		w.f.Close()
		os.Remove(w.f.Name())
	}
}
