// Package ifile reads the indexed files of aggregated logs that Hadoop's LogAggregationIndexedFileController writes if
// yarn.log-aggregation.file-formats names IFile first.
//
// A file begins with 32 bytes that are the same for all files of the application. The logs follow, each compressed
// separately. After them come an index, the index's length in four bytes, and those 32 bytes again. The index is a
// serialized Java object. It lists every upload, container and log, with the log's offset and length. A growing file
// gets an index after every upload. The last one lists all logs.
package ifile

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"heddle/nm/logs/javaio"
)

const (
	idSize    = 32 // bytes that precede the first log and end the file
	tailSize  = 4 + idSize
	maxIndex  = 64 << 20
	maxLogs   = 10_000_000 // limit for one file; with references a small index could list more
	indexName = "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$IndexedLogsMeta"
)

// Log is a log in a file.
type Log struct {
	Container string
	Name      string
	Size      int64 // bytes
	ModTime   int64 // modification time of the original, ms since 1970

	start, stored int64 // offset and length in the file
}

// Reader reads a file. It doesn't trust the contents: any defect gives an error.
type Reader struct {
	Owner string
	ACLs  map[string]string // by name of the ApplicationAccessType
	Logs  []Log             // in the order of the index

	r           io.ReaderAt
	size        int64
	compression string
}

// NewReader reads the index in the first size bytes of r. While a node appends to its file, take size from
// ParseChecksum.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	f := &Reader{r: r, size: size, ACLs: map[string]string{}}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("not an indexed file of logs: %w", err)
	}
	return f, nil
}

// ChecksumSuffix is the suffix of a file beside a node's file. It exists only while the node appends to its file.
const ChecksumSuffix = "-checksum"

// ParseChecksum parses such a file. It returns the name of the node's file, and how many of its bytes are valid.
func ParseChecksum(b []byte) (name string, good int64, err error) {
	if len(b) < 4 {
		return "", 0, errors.New("checksum file: too short")
	}
	n := int64(binary.BigEndian.Uint32(b))
	if int64(len(b)) < 4+n+8 {
		return "", 0, errors.New("checksum file: too short")
	}
	good = int64(binary.BigEndian.Uint64(b[4+n:]))
	if good < 0 {
		return "", 0, errors.New("checksum file: negative length")
	}
	return string(b[4 : 4+n]), good, nil
}

func (f *Reader) open() error {
	if f.size < idSize+tailSize {
		return fmt.Errorf("%d bytes are too few", f.size)
	}
	var head [idSize]byte
	if _, err := f.r.ReadAt(head[:], 0); err != nil {
		return err
	}
	var tail [tailSize]byte
	if _, err := f.r.ReadAt(tail[:], f.size-tailSize); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(head[:], tail[4:]) {
		return errors.New("beginning and end don't match: the file is incomplete, or has another format")
	}
	n := int64(int32(binary.BigEndian.Uint32(tail[:])))
	if n <= 0 || n > maxIndex || n > f.size-idSize-tailSize {
		return fmt.Errorf("index of %d bytes in a file of %d", n, f.size)
	}
	b := make([]byte, n)
	if _, err := f.r.ReadAt(b, f.size-tailSize-n); err != nil {
		return err
	}
	v, err := javaio.Decode(b)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	index, ok := v.(*javaio.Object)
	if !ok || index.Class != indexName {
		return errors.New("the index is an object of another class")
	}
	f.compression, _ = index.Fields["compressName"].(string)
	f.Owner, _ = index.Fields["user"].(string)
	if f.compression != "none" && f.compression != "gz" {
		return fmt.Errorf("unsupported compression %.40q", f.compression)
	}
	return f.read(index)
}

// read extracts the lists from the index.
func (f *Reader) read(index *javaio.Object) error {
	acls, _ := javaio.Pairs(index.Fields["acls"])
	for _, p := range acls {
		kind, ok := p[0].(javaio.Enum)
		acl, ok2 := p[1].(string)
		if ok && ok2 {
			f.ACLs[kind.Name] = acl
		}
	}
	uploads, ok := javaio.List(index.Fields["logMetas"])
	if !ok {
		return errors.New("the index has no list of uploads")
	}
	for _, u := range uploads {
		upload, ok := u.(*javaio.Object)
		if !ok {
			return errors.New("an upload is no object")
		}
		containers, ok := javaio.Pairs(upload.Fields["logMetas"])
		if !ok {
			return errors.New("an upload has no containers")
		}
		for _, c := range containers {
			logs, ok := javaio.List(c[1])
			if !ok {
				return errors.New("a container has no list of logs")
			}
			for _, l := range logs {
				if err := f.add(l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *Reader) add(v any) error {
	o, ok := v.(*javaio.Object)
	if !ok {
		return errors.New("a log is no object")
	}
	if len(f.Logs) == maxLogs {
		return fmt.Errorf("more than %d logs", maxLogs)
	}
	var l Log
	l.Container, _ = o.Fields["containerId"].(string)
	l.Name, _ = o.Fields["fileName"].(string)
	l.Size, _ = o.Fields["fileSize"].(int64)
	l.ModTime, _ = o.Fields["lastModifiedTime"].(int64)
	l.start, _ = o.Fields["startIndex"].(int64)
	l.stored, _ = o.Fields["fileCompressedSize"].(int64)
	if l.Size < 0 || l.start < 0 || l.stored < 0 || l.start > f.size || l.stored > f.size-l.start {
		return fmt.Errorf("log %.100q of container %.100q: %d bytes at %d are not within the file", l.Name, l.Container,
			l.stored, l.start)
	}
	f.Logs = append(f.Logs, l)
	return nil
}

// Open returns a reader of a log. It yields Size bytes or an error.
func (f *Reader) Open(l Log) (io.Reader, error) {
	stored := io.NewSectionReader(f.r, l.start, l.stored)
	in := bufio.NewReaderSize(stored, 64<<10)
	var content io.Reader = in
	if f.compression == "gz" {
		z, err := zlib.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("log %s of container %s: %w", l.Name, l.Container, noEOF(err))
		}
		content, stored = z, nil
	}
	return &exact{content, l.Size, in, stored}, nil
}

// exact returns an error if a log is too short.
type exact struct {
	r      io.Reader
	left   int64
	buf    *bufio.Reader
	stored *io.SectionReader // what buf reads; nil: it is compressed
}

// Skip passes over n bytes, without reading them if the log isn't compressed.
func (e *exact) Skip(n int64) error {
	if n > e.left {
		return io.ErrUnexpectedEOF
	}
	if e.stored == nil || n <= int64(e.buf.Buffered()) {
		_, err := io.CopyN(io.Discard, e, n)
		return noEOF(err)
	}
	if _, err := e.stored.Seek(n-int64(e.buf.Buffered()), io.SeekCurrent); err != nil {
		return err
	}
	e.buf.Reset(e.stored)
	e.left -= n
	return nil
}

func (e *exact) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if e.left > 0 {
		err = noEOF(err)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
