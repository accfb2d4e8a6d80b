package logs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"heddle/nm/logs/javaio"
	"heddle/nm/logs/tfile"
)

// Keys of the records that are not a container's (AggregatedLogFormat).
const (
	keyVersion = "VERSION"
	keyACL     = "APPLICATION_ACL"
	keyOwner   = "APPLICATION_OWNER"

	formatVersion = 1
)

// ACLs of an application, by ApplicationAccessType: users and groups as in "alice,bob admins".
const (
	ViewApp   = "VIEW_APP"
	ModifyApp = "MODIFY_APP"
)

// FileWriter writes a file of aggregated logs: the TFile records VERSION, APPLICATION_ACL, APPLICATION_OWNER, and one for each
// container, whose value has the name, the size in decimal digits, and the bytes of each of its logs.
type FileWriter struct {
	t     *tfile.Writer
	value io.Writer
}

// piece is the size in which Hadoop copies logs; what it is decides where a value is cut into chunks.
const piece = 65535

// NewFileWriter begins a file with the application's owner and ACLs. Close completes it, but does not close w.
func NewFileWriter(w io.Writer, compression, owner string, acls map[string]string) (*FileWriter, error) {
	t, err := tfile.NewWriter(w, compression)
	if err != nil {
		return nil, err
	}
	f := &FileWriter{t: t}
	if err := f.record(keyVersion, []byte{0, 0, 0, formatVersion}); err != nil {
		return nil, err
	}
	var values [][]byte
	for _, kind := range []string{ViewApp, ModifyApp} {
		acl, ok := acls[kind]
		if !ok {
			continue
		}
		for _, s := range []string{kind, acl} {
			b, err := javaio.AppendUTF(nil, s)
			if err != nil {
				return nil, fmt.Errorf("access control list %s: %w", kind, err)
			}
			values = append(values, b)
		}
	}
	if err := f.record(keyACL, values...); err != nil {
		return nil, err
	}
	user, err := javaio.AppendUTF(nil, owner)
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	return f, f.record(keyOwner, user)
}

func (f *FileWriter) record(key string, values ...[]byte) error {
	if err := f.Begin(key); err != nil {
		return err
	}
	for _, v := range values {
		if _, err := f.value.Write(v); err != nil {
			return err
		}
	}
	return f.End()
}

// Begin starts the logs of a container.
func (f *FileWriter) Begin(container string) error {
	key, err := javaio.AppendUTF(nil, container)
	if err != nil {
		return err
	}
	f.value, err = f.t.Begin(key)
	return err
}

// readError is an error of what is copied rather than of what it is copied to.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// Log adds a log of size bytes. If it turns out to be shorter, or can't be read to its end, line ends stand for what is
// missing, as the size has been written by then.
func (f *FileWriter) Log(name string, size int64, content io.Reader) error {
	head, err := javaio.AppendUTF(nil, name)
	if err != nil {
		return readError{err}
	}
	if _, err := f.value.Write(head); err != nil {
		return err
	}
	length, err := javaio.AppendUTF(nil, strconv.FormatInt(size, 10))
	if err != nil {
		return err
	}
	if _, err := f.value.Write(length); err != nil {
		return err
	}
	buf := make([]byte, min(piece, size))
	var broken error
	for left := size; left > 0; {
		p := buf[:min(int64(len(buf)), left)]
		n := 0
		if broken == nil {
			n, broken = io.ReadFull(content, p)
		}
		for ; n < len(p); n++ {
			p[n] = '\n'
		}
		if _, err := f.value.Write(p); err != nil {
			return err
		}
		left -= int64(len(p))
	}
	if broken != nil {
		return readError{fmt.Errorf("%s: %w", name, broken)}
	}
	return nil
}

// End completes a container.
func (f *FileWriter) End() error { return f.t.End() }

// Close completes the file.
func (f *FileWriter) Close() error { return f.t.Close() }

// FileReader reads a file of aggregated logs. Its content is not trusted.
type FileReader struct {
	t *tfile.Reader
	s *tfile.Scanner

	container string
	in        *bufio.Reader
	log       *io.LimitedReader
	err       error
}

// NewFileReader reads the indexes of a file of size bytes.
func NewFileReader(r io.ReaderAt, size int64) (*FileReader, error) {
	t, err := tfile.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	return &FileReader{t: t, s: t.Scan()}, nil
}

// Owner returns who submitted the application.
func (f *FileReader) Owner() (string, error) {
	owner := ""
	err := f.find(keyOwner, func(in io.Reader) (err error) {
		owner, err = javaio.ReadUTF(in)
		return err
	})
	return owner, err
}

// ACLs returns the access control lists of the application; those it didn't set are absent.
func (f *FileReader) ACLs() (map[string]string, error) {
	acls := map[string]string{}
	err := f.find(keyACL, func(in io.Reader) error {
		for {
			kind, err := javaio.ReadUTF(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if acls[kind], err = javaio.ReadUTF(in); err != nil {
				return noEOF(err)
			}
		}
	})
	return acls, err
}

// find reads the value of the record of a reserved key, which comes before those of containers.
func (f *FileReader) find(want string, read func(io.Reader) error) error {
	for s := f.t.Scan(); ; {
		if !s.Next() {
			if err := s.Err(); err != nil {
				return err
			}
			return fmt.Errorf("the file has no record %s", want)
		}
		key, err := readKey(s.Key())
		if err != nil {
			return err
		}
		if key == want {
			if err := read(bufio.NewReader(s.Value())); err != nil {
				return fmt.Errorf("record %s: %w", want, noEOF(err))
			}
			return nil
		}
	}
}

func readKey(b []byte) (string, error) {
	key, err := javaio.ReadUTF(&sliceReader{b})
	if err != nil {
		return "", fmt.Errorf("key of a record: %w", noEOF(err))
	}
	return key, nil
}

// sliceReader is a bytes.Reader without the rest.
type sliceReader struct{ b []byte }

func (r *sliceReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

// Next goes to the next container; it returns false at the end and after an error, which Err tells apart.
func (f *FileReader) Next() bool {
	f.log = nil
	for f.err == nil {
		if !f.s.Next() {
			f.err = f.s.Err()
			if f.err == nil {
				f.err = io.EOF
			}
			return false
		}
		if f.container, f.err = readKey(f.s.Key()); f.err != nil {
			return false
		}
		switch f.container {
		case keyVersion, keyACL, keyOwner:
			continue
		}
		f.in = bufio.NewReaderSize(f.s.Value(), 64<<10)
		return true
	}
	return false
}

// Container returns the id of the present container.
func (f *FileReader) Container() string { return f.container }

// NextLog goes to the next log of the present container; ok is false if there is none, or after an error.
func (f *FileReader) NextLog() (name string, size int64, ok bool) {
	if f.err != nil {
		return "", 0, false
	}
	if f.log != nil {
		if err := f.Skip(f.log.N); err != nil {
			f.err = fmt.Errorf("container %s: a log is cut off: %w", f.container, noEOF(err))
			return "", 0, false
		}
	}
	f.log = nil
	name, err := javaio.ReadUTF(f.in)
	if errors.Is(err, io.EOF) {
		return "", 0, false
	}
	if err != nil {
		f.err = fmt.Errorf("container %s: name of a log: %w", f.container, err)
		return "", 0, false
	}
	digits, err := javaio.ReadUTF(f.in)
	if err == nil {
		size, err = strconv.ParseInt(digits, 10, 64)
	}
	if err != nil || size < 0 {
		f.err = fmt.Errorf("container %s: log %q: size %.40q: %w", f.container, name, digits,
			noEOF(errors.Join(err, errNotSize)))
		return "", 0, false
	}
	f.log = &io.LimitedReader{R: f.in, N: size}
	return name, size, true
}

var errNotSize = errors.New("not a size")

// Read reads the present log.
func (f *FileReader) Read(p []byte) (int, error) {
	if f.log == nil {
		return 0, io.EOF
	}
	n, err := f.log.Read(p)
	if errors.Is(err, io.EOF) && f.log.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Skip passes over n bytes of the present log, without reading them if the file isn't compressed.
func (f *FileReader) Skip(n int64) error {
	if f.log == nil || n > f.log.N {
		return io.ErrUnexpectedEOF
	}
	f.log.N -= n
	some, err := f.in.Discard(int(min(n, int64(f.in.Buffered()))))
	if err != nil || int64(some) == n {
		return err
	}
	f.in.Reset(f.s.Value())
	return noEOF(f.s.Value().(skipper).Skip(n - int64(some)))
}

// skipper passes over bytes faster than by reading them.
type skipper interface{ Skip(n int64) error }

// Skip passes over n bytes of a log's content, as Archive.Each gives it. It returns io.ErrUnexpectedEOF if there are fewer.
func Skip(content io.Reader, n int64) error {
	switch c := content.(type) {
	case skipper:
		return c.Skip(n)
	case io.Seeker:
		_, err := c.Seek(n, io.SeekCurrent)
		return err
	}
	_, err := io.CopyN(io.Discard, content, n)
	return noEOF(err)
}

// Err returns what ended the reading, nil if it was the end of the file.
func (f *FileReader) Err() error {
	if errors.Is(f.err, io.EOF) {
		return nil
	}
	return f.err
}

// noEOF makes the end of the input where more was expected an error.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
