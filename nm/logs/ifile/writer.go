package ifile

import (
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"heddle/nm/logs/javaio"
)

// Names of compressions in configurations.
const (
	None = "none"
	GZ   = "gz"
)

const controller = "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController"

// The classes of an index.
var (
	indexClass = &javaio.ClassDesc{Name: indexName, ID: 0x1443de92d, Fields: []javaio.FieldDesc{
		{Kind: 'I', Name: "version"},
		{Kind: 'L', Name: "acls", Type: javaio.MapType},
		{Kind: 'L', Name: "compressName", Type: javaio.StringType},
		{Kind: 'L', Name: "logMetas", Type: javaio.ListType},
		{Kind: 'L', Name: "nodeId", Type: javaio.StringType},
		{Kind: 'L', Name: "user", Type: javaio.StringType},
	}}
	uploadClass = &javaio.ClassDesc{Name: controller + "$IndexedPerAggregationLogMeta", ID: 0xea3455cf, Fields: []javaio.FieldDesc{
		{Kind: 'J', Name: "uploadTimeStamp"},
		{Kind: 'L', Name: "logMetas", Type: javaio.MapType},
		{Kind: 'L', Name: "remoteNodeLogFileName", Type: javaio.StringType},
	}}
	logClass = &javaio.ClassDesc{Name: controller + "$IndexedFileLogMeta", ID: 1, Fields: []javaio.FieldDesc{
		{Kind: 'J', Name: "fileCompressedSize"},
		{Kind: 'J', Name: "fileSize"},
		{Kind: 'J', Name: "lastModifiedTime"},
		{Kind: 'J', Name: "startIndex"},
		{Kind: 'L', Name: "containerId", Type: javaio.StringType},
		{Kind: 'L', Name: "fileName", Type: javaio.StringType},
	}}
	aclClass = javaio.EnumDesc("org.apache.hadoop.yarn.api.records.ApplicationAccessType")
)

// Info is the description in a file.
type Info struct {
	App, Owner  string
	ACLs        map[string]string // by name of the ApplicationAccessType
	Node        string            // host:port
	Name        string            // name of the file
	Uploaded    int64             // ms since 1970
	Compression string            // None or GZ
}

// Writer writes a file. Don't use it after an error from it or from its destination.
type Writer struct {
	info       Info
	w          io.Writer
	at         int64
	containers []container
}

type container struct {
	id   string
	logs []Log
}

// NewWriter begins a file. Close completes it, but does not close w.
func NewWriter(w io.Writer, info Info) (*Writer, error) {
	if info.Compression != None && info.Compression != GZ {
		return nil, fmt.Errorf("unsupported compression %q: want %s or %s", info.Compression, None, GZ)
	}
	f := &Writer{info: info, w: w}
	id := sha256.Sum256([]byte(info.App))
	_, err := f.Write(id[:])
	return f, err
}

// Write writes part of a log.
func (f *Writer) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.at += int64(n)
	return n, err
}

// ReadError is an error of the source, not of the destination. The file continues with what was read.
type ReadError struct{ Err error }

func (e ReadError) Error() string { return e.Err.Error() }
func (e ReadError) Unwrap() error { return e.Err }

// source remembers the error of a reader.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Log adds a log of a container, at most size bytes. modTime is in ms since 1970.
func (f *Writer) Log(id, name string, size, modTime int64, content io.Reader) error {
	start := f.at
	in := &source{r: io.LimitReader(content, size)}
	var n int64
	var err error
	if f.info.Compression == GZ {
		z := zlib.NewWriter(f)
		n, err = io.Copy(z, in)
		if cerr := z.Close(); err == nil || in.err != nil {
			err = cerr
		}
	} else if n, err = io.Copy(f, in); in.err != nil {
		err = nil
	}
	if err != nil {
		return err
	}
	if last := len(f.containers) - 1; last < 0 || f.containers[last].id != id {
		f.containers = append(f.containers, container{id: id})
	}
	c := &f.containers[len(f.containers)-1]
	c.logs = append(c.logs, Log{Container: id, Name: name, Size: n, ModTime: modTime, start: start, stored: f.at - start})
	if in.err != nil {
		return ReadError{fmt.Errorf("%s: %w", name, in.err)}
	}
	return nil
}

// Close writes the index.
func (f *Writer) Close() error {
	index, err := f.index()
	if err != nil {
		return err
	}
	id := sha256.Sum256([]byte(f.info.App))
	tail := append(binary.BigEndian.AppendUint32(nil, uint32(len(index))), id[:]...)
	if _, err := f.Write(index); err != nil {
		return err
	}
	_, err = f.Write(tail)
	return err
}

func (f *Writer) index() ([]byte, error) {
	e := javaio.NewEncoder()
	e.Object(indexClass)
	e.Int(1)
	e.Map(len(f.info.ACLs))
	for _, kind := range slices.Backward(slices.Sorted(maps.Keys(f.info.ACLs))) {
		e.Enum(aclClass, kind)
		e.String(f.info.ACLs[kind])
	}
	e.End()
	e.String(f.info.Compression)
	e.List(1)
	e.Object(uploadClass)
	e.Long(f.info.Uploaded)
	e.Map(len(f.containers))
	for _, c := range f.containers {
		e.String(c.id)
		e.List(len(c.logs))
		for _, l := range c.logs {
			e.Object(logClass)
			e.Long(l.stored)
			e.Long(l.Size)
			e.Long(l.ModTime)
			e.Long(l.start)
			e.String(c.id)
			e.String(l.Name)
		}
		e.End()
	}
	e.End()
	e.String(f.info.Name)
	e.End()
	e.String(f.info.Node)
	e.String(f.info.Owner)
	return e.Bytes()
}
