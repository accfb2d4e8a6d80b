package load

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"heddle/internal/bounded"
	"heddle/rm/scheduler/eventlog"
)

// Options say how to read records.
type Options struct {
	// Gaps admits times that no record covers: the cluster is taken for unchanged meanwhile.
	Gaps bool
	// Until is when reading stops, in ms since 1970: what happened later counts as unknown. 0: at the record's end.
	Until int64
}

const (
	// maxGap is how much time, in ms, may pass between two sessions: a change of leaders takes about a second, a restart some more.
	maxGap = 60_000
	// maxOverlap is how long, in ms, the records of two sessions may overlap: the clocks of two machines differ, and a deposed leader learns of it late.
	maxOverlap = 10_000
	// maxFiles bounds a folder.
	maxFiles = 100_000
)

// session is a part of a file: a header, and what follows until the next one.
type session struct {
	file       string
	skip       int64 // bytes of the file before it
	size       int64
	line       int // of its header, from 1
	header     *eventlog.Header
	begin, end int64 // ms
	torn       bool
}

// Open reads a record, or all those of a folder, in the order of time.
func Open(path string, o Options) (*Load, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	var sessions []session
	for _, f := range files {
		some, err := scanFile(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		sessions = append(sessions, some...)
	}
	if len(sessions) == 0 {
		return nil, fmt.Errorf("%s: there is no record in it: start heddle rm with --record", path)
	}
	slices.SortStableFunc(sessions, func(x, y session) int { return cmp.Compare(x.begin, y.begin) })
	if err := follow(sessions, o); err != nil {
		return nil, err
	}
	b := newBuilder()
	b.until = o.Until
	var p spot
	defer p.close()
	for i := range sessions {
		if b.over(sessions[i].begin) {
			break
		}
		if err := b.readSession(&p, &sessions[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", sessions[i].file, err)
		}
	}
	return b.finish()
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	names, err := bounded.Names(path, maxFiles)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var files []string
	for _, n := range names {
		f := filepath.Join(path, n)
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			files = append(files, f)
		}
	}
	return files, nil
}

// follow checks that sessions are of one cluster, one after the other.
func follow(sessions []session, o Options) error {
	for i := 1; i < len(sessions); i++ {
		a, b := &sessions[i-1], &sessions[i]
		switch {
		case b.begin < a.end-maxOverlap:
			return fmt.Errorf("%s, line %d: this session begins at %s, but the one of %s, line %d, lasts until %s: these are records of two clusters, or a file is there twice; give records of one cluster's leaders",
				b.file, b.line, clock(b.begin), a.file, a.line, clock(a.end))
		case b.begin > a.end+maxGap && !o.Gaps:
			if b.header.Gap != nil {
				return fmt.Errorf("%s, line %d: %s: the load of that time is unknown; say --gaps to take the cluster for unchanged meanwhile", b.file, b.line, gapOf(b.header))
			}
			return fmt.Errorf("%s, line %d: nothing is recorded between %s and %s: give the record of the leader of that time as well, or say --gaps if the cluster was down",
				b.file, b.line, clock(a.end), clock(b.begin))
		}
	}
	return nil
}

// gapOf names the gap before a session.
func gapOf(h *eventlog.Header) string {
	return fmt.Sprintf("between %s and %s %d events or more are not on record (%s)", clock(h.Gap.From), clock(h.Time), h.Gap.Events, h.Gap.Why)
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// unpacked opens a file, and unpacks it.
func unpacked(file string) (io.Reader, io.Closer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(f, 1<<20)
	if begin, _ := in.Peek(2); string(begin) == "\x1f\x8b" { // gzip
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return bufio.NewReaderSize(z, 1<<20), f, nil
	}
	return in, f, nil
}

func scanFile(file string) ([]session, error) {
	r, f, err := unpacked(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sessions, err := scan(r)
	for i := range sessions {
		sessions[i].file = file
	}
	return sessions, err
}

var (
	headerMark = []byte(`{"heddle-events"`)
	stepMark   = []byte(`{"op":"step"`)
)

// scan finds the sessions of a log without reading what is in them.
func scan(from io.Reader) (sessions []session, err error) {
	in := bufio.NewReaderSize(from, 1<<20)
	var at int64
	var last []byte // line of a step
	line, whole := 0, true
	var long []byte // a header that is longer than the buffer
	for {
		part, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", line+1, err)
		}
		full := errors.Is(err, bufio.ErrBufferFull)
		end := errors.Is(err, io.EOF)
		if whole {
			line++
		}
		switch {
		case whole && bytes.HasPrefix(part, headerMark) || long != nil:
			if whole {
				if err := endSession(sessions, last, at); err != nil {
					return nil, err
				}
				last = nil
				sessions = append(sessions, session{skip: at, line: line})
			}
			if long = append(long, part...); len(long) > maxHeader {
				return nil, fmt.Errorf("line %d: the header is longer than %d bytes", line, maxHeader)
			}
			if !full && !end {
				if err := sessions[len(sessions)-1].decodeHeader(long); err != nil {
					return nil, fmt.Errorf("line %d: %w", line, err)
				}
				long = nil
			}
		case whole && !full && !end && bytes.HasPrefix(part, stepMark):
			last = append(last[:0], part...)
		case whole && len(sessions) == 0 && len(bytes.TrimSpace(part)) > 0:
			return nil, fmt.Errorf(`line %d: a record begins with a header ("heddle-events"): this is none`, line)
		}
		at += int64(len(part))
		whole = !full
		if end {
			if long != nil { // a header that was cut off
				sessions = sessions[:len(sessions)-1]
			}
			if n := len(sessions); n > 0 {
				sessions[n-1].torn = len(part) > 0
			}
			return sessions, endSession(sessions, last, at)
		}
	}
}

// maxHeader bounds a header, which has the text of an allocation file.
const maxHeader = 64 << 20

func (s *session) decodeHeader(text []byte) error {
	h, err := eventlog.ReadHeader(text)
	s.header = h
	if err == nil {
		s.begin = h.Time
	}
	return err
}

// endSession notes when the last session ended, by its last step.
func endSession(sessions []session, step []byte, at int64) error {
	if len(sessions) == 0 {
		return nil
	}
	s := &sessions[len(sessions)-1]
	s.size, s.end = at-s.skip, s.begin
	if step == nil {
		return nil
	}
	var r struct {
		T int64 `json:"t"`
	}
	if err := json.Unmarshal(step, &r); err != nil {
		return fmt.Errorf("the last step of the session of line %d: %w", s.line, err)
	}
	s.end = max(s.begin, r.T)
	return nil
}

// spot is where a file is read. Sessions of a file mostly follow each other, so that it is read once.
type spot struct {
	file string
	at   int64
	in   io.Reader
	f    io.Closer // nil: no file is open
}

func (p *spot) close() {
	if p.f != nil {
		_ = p.f.Close() // it was only read
	}
	*p = spot{}
}

// to goes to a byte of a file.
func (p *spot) to(file string, at int64) error {
	if p.f == nil || p.file != file || p.at > at {
		p.close()
		in, f, err := unpacked(file)
		if err != nil {
			return err
		}
		*p = spot{file: file, in: in, f: f}
	}
	n, err := io.CopyN(io.Discard, p.in, at-p.at)
	p.at += n
	return err
}

// readSession reads a session of a file.
func (b *builder) readSession(p *spot, s *session) error {
	if err := p.to(s.file, s.skip); err != nil {
		return err
	}
	in := &io.LimitedReader{R: p.in, N: s.size}
	err := b.read(in, s)
	p.at += s.size - in.N
	return err
}

// over reports whether a time is one that isn't read any more.
func (b *builder) over(at int64) bool { return b.until > 0 && at > b.until }

// read reads the entries of a session.
func (b *builder) read(r io.Reader, s *session) error {
	log := eventlog.NewReader(r)
	for {
		e, err := log.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && e.Event != nil && e.Event.Op == eventlog.Step && b.over(e.Event.Time) {
			b.window = nil // it happened after the step before
			return nil
		}
		if err == nil {
			e.Line += s.line - 1
			err = b.enter(&e)
		} else if s.line > 1 {
			err = fmt.Errorf("in the session of line %d: %w", s.line, err)
		}
		if err != nil {
			return err
		}
	}
	b.load.Bytes += s.size
	if s.torn {
		b.load.Torn = append(b.load.Torn, s.file)
	}
	return nil
}
